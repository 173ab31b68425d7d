#!/bin/sh
. "$(dirname "$0")/lib.sh"

it 'lists the commands and how to call them'
run strata slurm ls
gives 0
prints_some 'squeue'
says_some 'strata slurm squeue'
run strata slurm ls --json
prints_json 'any(c["name"] == "squeue" for c in d["commands"])'

it 'is each of them when called by its name'
mkdir links && ln -s "$(command -v strata)" links/squeue
run links/squeue --version
gives 0
prints 'slurm-wlm 22.05.8'
run strata slurm squeue --version
prints 'slurm-wlm 22.05.8'

it 'refuses as Slurm does'
mkdir links && ln -s "$(command -v strata)" links/squeue
run links/squeue --nosuch
gives 1
says "squeue: unrecognized option '--nosuch'
Try \"squeue --help\" for more information"

it 'says what there is when there is no such command'
run strata slurm strigger
gives 2
says_some "there is no command 'slurm strigger'"

it 'lists the options of one, and what becomes of them'
run strata slurm ls squeue
gives 0
prints_some '--clusters, -M'
run strata slurm ls sattach
says_some 'without effect'
run strata slurm ls squeue --json
prints_json '[o["effect"] for c in d["commands"] for o in c["options"] if o["name"] in ("all", "clusters", "me")] == ["holds anyway", "acts", "acts"]'
run strata slurm ls nosuch
gives 2
says_some "'nosuch' is no command of Slurm that works here"

it 'has options in order, each name and letter once, each with a word of help'
run strata slurm ls --json
for law in '(n := [o["name"].lower() for o in c["options"]]) == sorted(n)' 'len({o["name"] for o in c["options"]}) == len(c["options"])' \
	'len(l := [o["letter"] for o in c["options"] if "letter" in o]) == len(set(l))' 'all(o["help"][-1] != "." for o in c["options"])' \
	'{"help", "usage", "version"} < {o["name"] for o in c["options"]}'; do
	prints_json "len(d['commands']) == 16 and all($law for c in d['commands'])"
done

it 'warns of options without effect once, and not of those that hold anyway'
mkdir links && ln -s "$(command -v strata)" links/sprio
run links/sprio -a -w
gives 1
says "sprio: invalid option -- 'a'
Try \"sprio --help\" for more information"
mkdir -p links && ln -sf "$(command -v strata)" links/sattach
run links/sattach --input-filter=0 --label --output-filter=0 --input-filter=1
gives 1
says_some 'sattach: warning: no effect here: --input-filter, --label, --output-filter'
run strata slurm sprio --local -w
says ''

it 'offers what may have been meant'
run strata slurm squeue --stpes
gives 1
says "squeue: unrecognized option '--stpes'
Try \"squeue --help\" for more information
strata: did you mean --steps?"
run strata slurm sbatch --ntask-per-nodes=2
gives 255
says_some 'strata: did you mean --ntasks-per-node?'

it 'explains every option'
run strata slurm squeue --help
gives 0
prints_some '-A, --account, --accounts=…'
run strata slurm sattach --help
prints_some 'Accepted without effect here: --error-filter, --input-filter'
run strata slurm srun --help
prints_some 'Usage: srun [OPTION…] PROGRAM [ARGUMENT…]'
prints_some '--pty'
run strata slurm squeue --usage
prints_some '[--me]'
prints_some '[--cluster=…]'
