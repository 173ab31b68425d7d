#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

drawn=$(task 'status="denoising"' steps_done=4)
ended=$(task 'status="finished"' steps_done=20)

it 'prints a line for each change'
serve "{\"GET /api/v1/tasks/17\": {\"body\": $ended}, \"GET /api/v1/tasks\": [{\"body\": {\"tasks\": [$(task position=3)]}},
	{\"body\": {\"tasks\": [$drawn]}}, {\"body\": {\"tasks\": []}}]}"
run strata tasks watch --user ann --interval 5ms --times 3
gives 0
prints 'task T17 is pending: number 3 in line
task T17 is denoising: step 4 of 20
task T17 is finished'
asked 'r[0]["query"] == "user=ann&status=pending,encoding,denoising,decoding"'

it 'watches some until they end'
serve "{\"GET /api/v1/tasks/17\": [{\"body\": $drawn}, {\"body\": $ended}], \"GET /api/v1/tasks/18\": {\"body\": $(task id=18 'status="failed"' 'error="no memory"')}}"
run strata tasks watch T17 18
gives 0
prints 'task T17 is finished
task T18 failed: no memory'
run strata tasks watch tractor
gives 2
says_some "'tractor' is no task; expected T17"

it 'draws over itself on a terminal'
serve "{\"GET /api/v1/tasks\": {\"body\": {\"tasks\": [$drawn, $(task id=18)]}}}"
run script -qec 'stty cols 100 rows 20; strata tasks watch --interval 5ms --times 2' /dev/null
gives 0
prints_some "$(printf '\033[H\033[J')"
prints_some '2 tasks at'
prints_some 'T18'

it 'says at once that there is no server'
STRATA_SOCKET=$PWD/none run strata tasks watch
gives 5
