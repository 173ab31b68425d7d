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
run strata slurm sdiag
gives 2
says_some "there is no command 'slurm sdiag'"

