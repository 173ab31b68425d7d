#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

running=$(job 'state="running"' 'reason=null' 'node_names=["n1"]' 'time_limit_s=null')
ended=$(job 'state="completed"' 'reason=null' 'started_at="2026-11-15T14:00:00Z"' 'ended_at="2026-11-15T14:10:00Z"' exit_code=0)

it 'watches one job until it ends'
serve "{\"GET /api/v1/jobs/17\": [{\"body\": $(job)}, {\"body\": $(job)}, {\"body\": $(job)}, {\"body\": $running}, {\"body\": $ended}]}"
run strata watch 17 --interval 5ms
gives 0
prints 'job 17 is queued: it is next; what it needs is not free
job 17 is running on n1
job 17 completed; it ran for 10m'
says ''
asked 'len(r) == 5'
run strata watch tractor
gives 3

it 'watches several, elements of arrays by their names'
serve "{\"GET /api/v1/jobs/35_1\": {\"body\": $(job id=35 array_id=35 array_index=1 'state="completed"')}, \"GET /api/v1/jobs/35_2\": {\"body\": $(job id=36 array_id=35 array_index=2 'state="failed"' exit_code=3)}}"
run strata watch 35_[1-2] --interval 5ms
gives 0
prints_some 'job 35_1 completed'
prints_some 'job 35_2 failed'

it 'prints a line for each change in the queue'
serve "{\"GET /api/v1/jobs/17\": {\"body\": $ended}, \"GET /api/v1/queue\": [{\"body\": {\"jobs\": [$(job)]}}, {\"body\": {\"jobs\": [$(job)]}},
	{\"body\": {\"jobs\": [$running]}}, {\"status\": 500, \"body\": null}, {\"body\": {\"jobs\": []}}]}"
run strata watch --interval 5ms --times 3
gives 0
prints 'job 17 is queued: it is next; what it needs is not free
job 17 is running on n1'
serve "{\"GET /api/v1/jobs/17\": {\"body\": $ended}, \"GET /api/v1/queue\": [{\"body\": {\"jobs\": [$running]}}, {\"body\": {\"jobs\": []}}]}"
run strata watch --interval 5ms --times 3
prints 'job 17 is running on n1
job 17 completed; it ran for 10m'

it 'draws over itself on a terminal'
serve "{\"GET /api/v1/queue\": {\"body\": {\"jobs\": [$(job), $running]}}}"
run script -qec 'stty cols 100 rows 20; strata watch --interval 5ms --times 2' /dev/null
gives 0
prints_some "$(printf '\033[H\033[J')"
prints_some '2 jobs at'

it 'says at once that there is no server'
STRATA_SOCKET=$PWD/none run strata watch
gives 5
STRATA_SOCKET=$PWD/none run strata watch 17
gives 5
