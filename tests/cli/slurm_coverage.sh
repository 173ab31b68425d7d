#!/bin/sh
. "$(dirname "$0")/lib.sh"

names=$(realpath "$(dirname "$0")/../data/slurm_squeue_names.txt")
effects=$(realpath "$(dirname "$0")/../data/slurm_effects.txt")
options=$(realpath "$(dirname "$0")/../data/slurm_options.txt")

it 'counts what becomes of options'
run strata slurm coverage
gives 0
prints_some 'COMMAND   OPTIONS'
run strata slurm coverage --json
gives 0
prints_json 'all(row["options"] == row["acts"] + row["warns"] + row["refused"] for row in d) and len(d) >= 9'
prints_json '(acts := {row["command"]: row["acts"] for row in d}) and acts["sbatch"] >= 75 and acts["srun"] >= 70 and acts["squeue"] >= 33'
prints_json '(acts := {row["command"]: row["acts"] for row in d}) and acts["sacct"] >= 45 and acts["sinfo"] >= 27'
prints_json 'all(row["acts"] == row["options"] for row in d if row["command"] in ("scancel", "sprio", "sshare"))'

it 'knows the names of squeue -O, with their titles'
strata slurm ls squeue --json >ls.json
python3 - "$names" ls.json >missing <<'EOF'
import json, sys
tables = {table["of"]: {field["name"]: field["title"] for field in table["fields"] if "name" in field}
          for table in json.load(open(sys.argv[2]))["commands"][0]["fields"]}
for line in open(sys.argv[1]):
    if not line.startswith("#"):
        name, title, *step = line.split()
        if tables["steps" if step else "jobs"].get(name.lower()) != title.replace("-", "", title == "-"):
            print(name)
EOF
run cat missing
prints 'ResvPort'

it 'has a row for every option of the commands that are there'
strata slurm ls --json >ls.json
python3 - "$options" ls.json >missing <<'EOF'
import json, sys
ours = {command["name"]: {option["name"] for option in command["options"]} for command in json.load(open(sys.argv[2]))["commands"]}
for line in open(sys.argv[1]):
    name, _, options = line.partition(":")
    if not line.startswith("#"):
        print(*(f"{name} --{option}" for option in options.split() if option not in ours.get(name, ())), sep="\n", end="")
EOF
run cat missing
prints ''

it 'does with every option what the table says'
strata slurm ls --json >ls.json
python3 - ls.json >now <<'EOF'
import json, sys
words = {"acts": "acts", "holds anyway": "acts: so anyway", "none": "warns", "refused": "refused"}
for command in json.load(open(sys.argv[1]))["commands"]:
    for option in command["options"]:
        effect = words[option["effect"]]
        reason = "" if effect == "acts" else f" ({option['help']})"
        print(f"{command['name']} --{option['name']}: {effect}{reason}")
EOF
grep -v '^#' "$effects" >table
run diff table now
prints ''
