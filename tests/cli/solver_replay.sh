#!/bin/sh
. "$(dirname "$0")/lib.sh"
data=$STRATA_TEST_DATA/solver

it 'goes through kept trajectories again'
run strata solver replay "$data/cases.json" "$data/samplers.json" --json
gives 0
prints_json '[(f["cases"], f["passed"]) for f in d] == [(79, 79), (21, 21)] and all(0 < f["worst"] < 1 for f in d)'
run strata solver replay "$data/cases.json"
gives 0
prints_some '79'

it 'gives 1 when a case fails, and says why when asked'
python3 - "$data" <<'P'
import json, shutil, sys
shutil.copy(sys.argv[1] + "/bank.json", "bank.json")
file = json.load(open(sys.argv[1] + "/cases.json"))
file["cases"] = file["cases"][:3]
file["cases"][1]["samples"][-1][0] += 0.01
file["news"] = "unknown keys are passed over"
json.dump(file, open("cases.json", "w"))
P
run strata solver replay cases.json --failed --json
gives 1
prints_json 'd[0]["cases"] == 3 and d[0]["passed"] == 2 and d[0]["worst"] > 1'
says_some 'case 2'

it 'names what is wrong with a file'
run strata solver replay none.json
gives 3
says_some 'none.json'
printf '{"format": "solver-golden-1", "cases": []}' >alone.json
run strata solver replay alone.json
gives 3
says_some 'bank.json'
cp "$data/bank.json" .
printf '{"format": "something", "cases": []}' >other.json
run strata solver replay other.json
says_some 'solver-golden-1'
printf 'nothing' >broken.json
run strata solver replay broken.json
says_some 'broken.json'
printf '{"format": "solver-golden-1", "cases": []}' >alone.json
run strata solver replay alone.json --json
gives 0
prints_json 'd[0]["cases"] == 0'
