#!/bin/sh
# What it does on a service: slurm_options.py.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"
. "$(dirname "$0")/slurm_service.sh"

it 'names its reports when there is no such'
run strata slurm sreport nosuch x
gives 1
says 'invalid keyword: nosuch'
run strata slurm sreport cluster nosuch
gives 1
says 'Not valid report nosuch
Valid cluster reports are, "AccountUtilizationByUser" "UserUtilizationByAccount" "Utilization"'

it 'adds up what jobs used'
serve_slurm
run strata slurm sreport -n -P -t seconds cluster utilization start=2026-11-15T00:00:00 end=2026-11-15T14:00:11
gives 0
prints 'strata|60|0|0|806516|0|806576'
run strata slurm sreport -n -P -t seconds -T gres/gpu user topusage start=2026-11-15T00:00:00 end=2026-11-15T14:00:11
prints_some 'strata|ann|'
run strata slurm sreport cluster utilization start=nonsense
gives 1
says 'Invalid time specification (pos=0): nonsense'
