#!/bin/sh
. "$(dirname "$0")/lib.sh"

options=$(realpath "$(dirname "$0")/../data/slurm_options.txt")

it 'counts what becomes of options'
run strata slurm coverage
gives 0
prints_some 'COMMAND   OPTIONS'
run strata slurm coverage --json
gives 0
prints_json 'all(row["options"] == row["acts"] + row["warns"] + row["refused"] for row in d) and len(d) >= 9'
prints_json '{row["command"]: row["acts"] for row in d}["sacct"] >= 30'

it 'has a row for every option of the commands that are there'
strata slurm ls --json >ls.json
python3 - "$options" ls.json >missing <<'EOF'
import json, sys
ours = {command["name"]: {option["name"] for option in command["options"]} for command in json.load(open(sys.argv[2]))["commands"]}
for line in open(sys.argv[1]):
    name, _, options = line.partition(":")
    if name in ours:
        print(*(f"{name} --{option}" for option in options.split() if option not in ours[name]), sep="\n", end="")
EOF
run cat missing
prints ''
