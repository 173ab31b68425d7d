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

it 'shows where it was put, how good that is and how it ended'
serve "{\"GET /api/v1/jobs/17\": {\"body\": $(job 'state="completed"' exit_code=0 'gpu_domains={"n1": [0, 1]}' placement_score=120 'request={"mail": "ann@lab.org", "notify": "begin", "image": "reg/a:1"}')}}"
run strata show 17
gives 0
prints_some 'gpu domains      n1: 0 1'
prints_some 'placement score  120 of 150'
prints_some 'exit code        0'
prints_some 'image            reg/a:1'
prints_some 'mail             ann@lab.org'
prints_some 'notify           begin'

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

it 'shows an array as one thing, and its elements by name'
element() { job "id=$1" array_id=35 "array_index=$2" 'name="sweep"' "state=\"$3\""; }
serve "{\"GET /api/v1/jobs/35\": {\"body\": $(element 35 1 completed)}, \"GET /api/v1/jobs/35_1\": {\"body\": $(element 35 1 completed)},
	\"GET /api/v1/jobs/35_2\": {\"body\": $(element 36 2 running)},
	\"GET /api/v1/jobs\": {\"body\": {\"jobs\": [$(element 37 3 queued), $(element 36 2 running), $(element 35 1 completed)], \"next\": null}}}"
run strata show 35
gives 0
prints_some 'array 35 (sweep) has 3 jobs: 1 queued, 1 running, 1 completed'
prints_some '35_1  sweep'
asked 'p["query"] == "array=35&limit=1000"'
run strata show 35_[1-2]
gives 0
prints_some 'job 35_1 completed'
prints_some 'job 35_2 is running'
run strata show 35 --json
gives 3 # the third cannot be asked for one by one here
prints_json '[j["id"] for j in d] == [35, 36]'

it 'cannot be led to another path'
serve '{}'
run strata show ../nodes
gives 3
asked 'p["path"] == "/api/v1/jobs/..%2Fnodes"'
