#!/bin/sh
# What it does on a service: slurm_options.py.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"
. "$(dirname "$0")/slurm_service.sh"

it 'lists its columns, and wants jobs'
run strata slurm sstat -e
gives 0
prints_some 'MaxRSS'
run strata slurm sstat
gives 1
says "sstat: error: You didn't give me any jobs to stat."
run strata slurm sstat -o nope 12
gives 1
says 'sstat: error: Invalid field requested: "nope"'

it 'shows the script of a job, and its steps that run'
serve_slurm
run strata slurm sstat -a -n -P -o jobid,ntasks -j 12
gives 0
prints '12.batch|1'
run strata slurm sstat -n -o jobid 17
prints ''
says "sstat: error: couldn't get steps for job 17"
