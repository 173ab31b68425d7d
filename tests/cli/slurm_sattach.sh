#!/bin/sh
# What it does on a service: slurm_options.py.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"
. "$(dirname "$0")/slurm_service.sh"

it 'says where the tasks of a step are'
serve_slurm
run strata slurm sattach --layout 12.batch
gives 0
prints 'Job step layout:
	1 tasks, 1 nodes (n1)

	Node 0 (n1), 1 task(s): 0 '

it 'fails as Slurm does'
serve_slurm
run strata slurm sattach 12
gives 1
says 'sattach: error: Failed to parse stepid from command line options'
prints 'Usage: sattach [options] <jobid.stepid>'
run strata slurm sattach 12.7
gives 1
says 'sattach: error: Could not get job step info: Invalid job id specified'
