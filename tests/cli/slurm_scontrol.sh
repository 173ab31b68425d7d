#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'has a version'
run strata slurm scontrol --version
gives 0
prints 'slurm-wlm 22.05.8'
