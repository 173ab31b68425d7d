#!/bin/sh
. "$(dirname "$0")/lib.sh"
digits=$STRATA_TEST_DATA/pipelines/digits

it 'goes through reference runs again'
run strata engine replay "$digits/cases.json" --json
gives 0
prints_json 'd[0]["cases"] == 3 and d[0]["passed"] == 3 and 0 < d[0]["worst"] < 1'
run strata engine replay "$digits/cases.json" --budget 33%
gives 0
prints_some '3'

it 'gives 1 when a case fails, and says what was wrong'
cp -r "$digits" d
python3 - <<'P'
import json
cases = json.load(open("d/cases.json"))
cases[1]["seed"] += 1
json.dump(cases, open("d/cases.json", "w"))
P
run strata engine replay d/cases.json
gives 1
says_some 'latents_init'
run strata engine replay d/cases.json --json
gives 1
prints_json 'd[0]["passed"] == 2 and d[0]["worst"] > 1'

it 'names what is wrong with a file'
run strata engine replay none.json
gives 3
says_some 'none.json'
echo '{}' >odd.json
run strata engine replay odd.json
gives 1
says_some 'odd.json: it is not a list of cases'
run strata engine replay odd.json --budget 3GiB
gives 2
says_some 'share'
