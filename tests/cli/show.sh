#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'shows what is known of a job and leaves out the rest'
serve "{\"GET /api/v1/jobs/17\": {\"body\": $(job 'gpu_ids={"n1": [0, 1]}')}}"
run strata show 17
gives 0
prints_some 'job 17 is queued: it is next'
prints_some 'memory      8 GiB'
prints_some 'time limit  2h'
prints_some 'command     python train.py'
prints_some 'gpu ids     n1: 0 1'
prints_some 'submitted   '
prints_not 'account'
prints_not 'ended'

it 'shows several, and goes on where one is missing'
serve "{\"GET /api/v1/jobs/17\": {\"body\": $(job)}, \"GET /api/v1/jobs/19\": {\"body\": $(job id=19)},
	\"GET /api/v1/jobs/18\": {\"status\": 404, \"body\": {\"error\": {\"code\": \"not_found\", \"message\": \"there is no job 18\", \"field\": null}}}}"
run strata show 17 18 19
gives 3
prints_some 'job 17 is'
prints_some 'job 19 is'
says 'strata: there is no job 18'
run strata show 18 --json
gives 3
prints_json 'd["error"]["code"] == "not_found"'
run strata show 17 19 --json
gives 0
prints_json '[j["id"] for j in d] == [17, 19]'
run strata show 17 --json
prints_json 'd["id"] == 17 and d["account"] is None'

it 'cannot be led to another path'
serve '{}'
run strata show ../nodes
gives 3
asked 'p["path"] == "/api/v1/jobs/..%2Fnodes"'
