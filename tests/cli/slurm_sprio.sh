#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"
. "$(dirname "$0")/slurm_service.sh"

it 'shows what the priority is made of, of jobs whose turn could come'
serve_slurm "$(job id=30 'reason="held"' 'partition="gpu"' 'request={}')"
run strata slurm sprio
gives 0
says ''
prints '          JOBID PARTITION   PRIORITY       SITE        AGE  FAIRSHARE    JOBSIZE
             17 gpu             7500          0          0       7500          0
             20 gpu             7500          0          0       7500          0'
run strata slurm sprio -h -j 17 -o '%i %u %Y'
prints '17 ann 7500'
run strata slurm sprio -h -j 12
prints 'Unable to find jobs matching user/id(s) specified'
