#!/bin/sh
# What it does on a service: slurm_options.py.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"
. "$(dirname "$0")/slurm_service.sh"

it 'says that nobody answers'
STRATA_SOCKET=$PWD/none run strata slurm sdiag
gives 1
says_some 'slurm_get_statistics error: Unable to contact slurm controller (connect failure)'

it 'does not begin its figures anew'
run strata slurm sdiag -r
gives 1
says_some '--reset is not supported here'
