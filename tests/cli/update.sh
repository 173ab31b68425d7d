#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'sends what flags say, and nothing else'
serve "{\"PATCH /api/v1/jobs/17\": {\"body\": $(job)}}"
run strata update 17 --gpus 2 --time 4h --name better --partition long --dependency afterok:3 --memory 8G --nice 5
gives 0
prints_some 'job 17 is queued'
asked 'p["body"] == {"gpus": 2, "time_limit": 14400, "name": "better", "partition": "long", "dependencies": "afterok:3", "memory": 8 << 30, "nice": 5}'
asked 'p["query"] == "elements=all"'

it 'takes a text away'
serve "{\"PATCH /api/v1/jobs/17\": {\"body\": $(job)}}"
run strata update 17 --comment '' --gpu-type ''
gives 0
asked 'p["body"] == {"comment": None, "gpu_type": None}'

it 'changes elements of an array by one request'
serve "{\"PATCH /api/v1/jobs/40\": {\"body\": $(job id=43 array_id=40 array_index=3 jobs=7 left=0)}}"
run strata update 40_[3-9] --gpus 1
gives 0
prints_some 'job 40_3 is queued'
prints_some 'array 40: 7 jobs changed'
asked 'p["query"] == "elements=3-9"'

it 'says the reason that the next pass found'
serve "{\"PATCH /api/v1/jobs/17\": {\"body\": $(job 'reason="priority"' 'reason_text="others are before it"')},
	\"GET /api/v1/jobs/17\": {\"body\": $(job 'reason="resources"' 'reason_text="it is next; what it needs is not free"')}}"
run strata update 17 --time 2h
gives 0
prints_some 'job 17 is queued: it is next; what it needs is not free'

it 'says what is wrong'
serve '{"PATCH /api/v1/jobs/17": {"status": 422, "body": {"error": {"code": "impossible", "message": "no node could take this job then", "field": null}}}}'
run strata update 17 --gpus 99
gives 4
says 'strata: no node could take this job then'
run strata update 17
gives 2
says 'strata: nothing is to change; expected flags of `strata submit`, as in --gpus 2'
run strata update --gpus 2
gives 2

it 'changes how many of an array run at a time'
serve '{"PATCH /api/v1/jobs/35": {"body": {"id": 36, "array_id": 35, "array_index": 2, "array_throttle": 8}}}'
run strata update 35 --throttle 8
gives 0
prints 'array 35: at most 8 run at a time'
asked 'p["body"] == {"array_throttle": 8}'
run strata update 35 --throttle -1
gives 2
