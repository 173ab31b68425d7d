#!/bin/sh
# What it does on a service: slurm_options.py.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"
. "$(dirname "$0")/slurm_service.sh"

it 'says how much was used of what was asked for'
serve_slurm
run strata slurm seff 11
gives 0
prints_some 'State: FAILED (exit code 7)
Cores: 4
CPU Utilized: 00:00:00
CPU Efficiency: 0.00% of 00:00:20 core-walltime
Job Wall-clock time: 00:00:05'
run strata slurm seff 17
prints_some 'Efficiency not available for jobs in the PENDING state.'
run strata slurm seff -d 11
prints_some '# user 0 ms'

it 'wants a job that there is'
serve_slurm
run strata slurm seff
gives 1
prints_some 'Usage: seff'
