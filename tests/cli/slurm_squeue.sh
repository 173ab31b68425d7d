#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'has a version'
run strata slurm squeue --version
gives 0
