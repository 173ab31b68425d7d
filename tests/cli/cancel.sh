#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

routes="{\"GET /api/v1/queue\": {\"body\": {\"jobs\": [$(job), $(job id=18 'name="sweep-1"'), $(job id=19 'name="sweep-2"' 'state="running"')]}},
	\"DELETE /api/v1/jobs/17\": {\"body\": {\"id\": 17, \"state\": \"cancelled\", \"stopping\": false}},
	\"DELETE /api/v1/jobs/18\": {\"body\": {\"id\": 18, \"state\": \"cancelled\"}},
	\"DELETE /api/v1/jobs/19\": {\"status\": 202, \"body\": {\"id\": 19, \"state\": \"running\", \"stopping\": true}}}"

it 'cancels by id and says what it did'
serve "$routes"
run strata cancel 17 19
gives 0
prints 'job 17 is cancelled
job 19 is being stopped'
asked '[q["method"] + q["path"] for q in r] == ["DELETE/api/v1/jobs/17", "DELETE/api/v1/jobs/19"]'

it 'cancels an array or elements of it by one request'
serve '{"DELETE /api/v1/jobs/40": {"status": 202, "body": {"id": 40, "state": "running", "stopping": true, "jobs": 9, "cancelled": 7}},
	"DELETE /api/v1/jobs/50": {"body": {"id": 50, "state": "cancelled", "stopping": false, "jobs": 1, "cancelled": 1}},
	"DELETE /api/v1/jobs/0192-ab": {"body": {"id": 60, "state": "cancelled", "stopping": false}}}'
run strata cancel 40
gives 0
prints 'array 40: 7 jobs are cancelled, 2 are being stopped'
run strata cancel '40_*' 40_3 '40_[3-9,12]' 50_7-9 0192-ab
gives 0
prints_some 'array 50: 1 job is cancelled'
asked '[q["query"] for q in r] == ["elements=all", "elements=all", "elements=3", "elements=3-9,12", "elements=7-9", ""]'

it 'takes no part of a word for an array'
serve '{"DELETE /api/v1/jobs/40": {"body": {"id": 40, "state": "cancelled", "stopping": false, "jobs": 1, "cancelled": 1}}}'
run strata cancel '40x[3]'
gives 3
asked 'not any(q["path"] == "/api/v1/jobs/40" for q in r)'

it 'means with a filter those elements that it leaves'
serve "{\"GET /api/v1/queue\": {\"body\": {\"jobs\": [$(job id=45 array_id=40 array_index=5), $(job id=18), $(job id=43 array_id=40 array_index=3), $(job id=44 array_id=40 array_index=4)]}},
	\"DELETE /api/v1/jobs/18\": {\"body\": {\"id\": 18}}, \"DELETE /api/v1/jobs/40\": {\"body\": {\"id\": 40, \"jobs\": 3, \"cancelled\": 3}}}"
run strata cancel --me
gives 0
prints 'job 18 is cancelled
array 40: 3 jobs are cancelled'
asked '[q["path"][-2:] + q["query"] for q in r[1:]] == ["18elements=all", "40elements=3-5"]'

it 'cancels by user, state and name'
serve "$routes"
run strata cancel --user ann --state queued,running --name 'sweep-*'
gives 0
prints 'job 18 is cancelled
job 19 is being stopped'
asked '"user=ann&state=queued,running&name=sweep-%2A" in r[0]["query"] and len(r) == 3'
run strata cancel --name none
gives 0
prints ''
says_some 'no such job is queued or running'

it 'cancels nothing when nothing is named, and not by id and name at once'
serve "$routes"
run strata cancel
gives 2
says_some 'expected ids of jobs'
run strata cancel 17 --me
gives 2
asked 'len(r) == 0'

it 'goes on after a refusal, and ends with it'
serve "{\"DELETE /api/v1/jobs/17\": {\"status\": 403, \"body\": {\"error\": {\"code\": \"forbidden\", \"message\": \"job 17 is bob's\", \"field\": null}}},
	\"DELETE /api/v1/jobs/18\": {\"body\": {\"id\": 18}}}"
run strata cancel 17 18
gives 4
prints 'job 18 is cancelled'
says "strata: job 17 is bob's"

it 'is not repeated when the connection breaks'
serve '{"DELETE /api/v1/jobs/17": {"drop": true}}'
run strata cancel 17
gives 5
says_some 'broke'
asked 'len(r) == 1'
