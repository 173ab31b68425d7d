#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

running=$(job 'state="running"')
completed=$(job 'state="completed"' exit_code=0)
broken=$(job 'state="failed"' exit_code=3)
element() {
	job "$@" array_id=35 'request={"array": "1-4%2"}'
}

it 'waits until a job has ended, and prints nothing'
serve "{\"GET /api/v1/jobs/17\": [{\"body\": $running}, {\"body\": $running}, {\"body\": $completed}]}"
run strata wait 17
gives 0
prints ''
says ''
asked 'len(r) == 3'

it 'ends as the first did that did not end well'
serve "{\"GET /api/v1/jobs/17\": {\"body\": $completed}, \"GET /api/v1/jobs/18\": {\"body\": $(job id=18 'state="failed"' exit_signal=9)},
	\"GET /api/v1/jobs/19\": {\"body\": $broken}}"
run strata wait 17 18 19
gives 137
run strata wait 17 19 18
gives 3
run strata wait -v 19
gives 3
prints 'job 17 failed: it is next; what it needs is not free; exit code 3'
run strata wait --json 17
prints_json 'd["state"] == "completed"'

it 'takes arrays, and elements of them'
serve "{\"GET /api/v1/jobs/35\": {\"body\": $(element id=35 array_index=1)}, \"GET /api/v1/jobs/35_1\": {\"body\": $(element 'state="completed"')},
	\"GET /api/v1/jobs/35_2\": [{\"body\": $(element)}, {\"body\": $(element 'state="failed"' exit_code=2)}], \"GET /api/v1/jobs/35_3\": {\"body\": $(element 'state="completed"')},
	\"GET /api/v1/jobs/35_4\": {\"body\": $(element 'state="failed"' exit_code=4)}}"
run strata wait 35
gives 2
asked '[x["path"].split("/")[-1] for x in r] == ["35", "35_1", "35_2", "35_2", "35_3", "35_4"]'
run strata wait '35_*'
gives 2
run strata wait '35_[3-4]'
gives 4
run strata wait 35_3
gives 0
run strata wait '35_[1,3]' 35_4
gives 4
run strata wait '35_[x]'
gives 2

it 'waits no longer than it is told, and for one where that is enough'
serve "{\"GET /api/v1/jobs/17\": {\"body\": $running}, \"GET /api/v1/jobs/18\": {\"body\": $broken}}"
run strata wait --timeout 200ms 17
gives 124
says ''
run strata wait --any 17 18
gives 3
run strata wait --any --timeout 100ms 17
gives 124

it 'survives a service that is away for a while'
serve "{\"GET /api/v1/jobs/17\": [{\"body\": $running}, {\"drop\": true}, {\"drop\": true}, {\"drop\": true}, {\"drop\": true}, {\"drop\": true}, {\"drop\": true}, {\"body\": $completed}]}"
run strata wait 17
gives 0

it 'needs a job'
serve '{}'
run strata wait
gives 2
run strata wait 99
gives 3
run strata wait tractor
gives 3
STRATA_SOCKET=$PWD/none run strata wait 17
gives 5
