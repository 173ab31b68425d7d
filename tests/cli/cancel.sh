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

it 'cancels by user, state and name'
serve "$routes"
run strata cancel --user ann --state queued,running --name 'sweep-*'
gives 0
prints 'job 18 is cancelled
job 19 is being stopped'
asked 'r[0]["query"] == "user=ann&state=queued,running" and len(r) == 3'
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
