#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

queue="\"GET /api/v1/queue\": {\"body\": {\"jobs\": [$(job id=3 'state="running"' 'user="root"' 'partition="gpu"' 'node_names=["n001"]'),
	$(job id=40 array_id=40 array_index=1 'name="arr"'), $(job id=41 array_id=40 array_index=4 'name="arr"'), $(job id=42 array_id=40 array_index=7 'name="arr"'),
	$(job id=50 'state="running"' 'reason="suspended"' 'account="lab"')]}}"
gone='{"status": 202, "body": {"stopping": true}}'
routes="{$queue, \"DELETE /api/v1/jobs/3\": $gone, \"DELETE /api/v1/jobs/40\": $gone,
	\"DELETE /api/v1/jobs/50\": {\"status\": 403, \"body\": {\"error\": {\"code\": \"forbidden\", \"message\": \"not yours\", \"field\": null}}},
	\"PATCH /api/v1/jobs/3\": {\"body\": $(job id=3)}}"
cancelled() {
	asked "[x['path'][13:] + '?' + x['query'] for x in r if x['method'] == 'DELETE'] == $1"
}

it 'cancels jobs, arrays and elements of them'
serve "$routes"
run strata slurm scancel 3 40_4
gives 0
prints ''
says ''
cancelled '["3?elements=all", "40?elements=4"]'
asked 'len(r) == 2'
serve "$routes"
run strata slurm scancel '40_[1,5-9]'
cancelled '["40?elements=1,5-9"]'
serve "$routes"
run strata slurm scancel 40
cancelled '["40?elements=all"]'
asked 'len(r) == 1'

it 'is silent about jobs that are not there, unless asked to speak'
serve "$routes"
run strata slurm scancel 999
gives 0
says ''
run strata slurm scancel -v 999 3
gives 0
says_some 'scancel: Terminating job 3'
says_some 'scancel: error: Kill job error on job id 999: Invalid job id specified'

it 'takes what filters leave'
serve "$routes"
run strata slurm scancel -n arr
cancelled '["40?elements=1,4,7"]'
serve "$routes"
run strata slurm scancel -t running -p gpu
cancelled '["3?elements=all"]'
serve "$routes"
run strata slurm scancel -w 'n[001-002]'
cancelled '["3?elements=all"]'
serve "$routes"
run strata slurm scancel --state=S -A lab
gives 1
says 'scancel: error: Kill job error on job id 50: Access/permission denied'

it 'sends signals to steps, to the script or to both'
serve "$routes"
run strata slurm scancel -s USR1 3
asked 'p["method"] == "PATCH" and p["body"] == {"signal": "USR1", "signal_to": "steps"}'
run strata slurm scancel -b --signal=10 3
asked 'p["body"] == {"signal": "10", "signal_to": "batch"}'
run strata slurm scancel -f -s TERM 3
asked 'p["body"] == {"signal": "TERM", "signal_to": "all"}'
run strata slurm scancel -s KILL 3
asked 'p["method"] == "DELETE"'

it 'asks first, when told to'
serve "$routes"
out=$(printf 'n\ny\n' | strata slurm scancel -i 3 40_1)
code=$? err=
gives 0
prints 'Cancel job_id=3 name=train partition=gpu [y/n]? Cancel job_id=40_1 name=arr partition=(null) [y/n]? '
cancelled '["40?elements=1"]'

it 'cancels only what labels and reservations leave'
serve "$routes"
for filter in --reservation=maintenance '-R maintenance' --wckey=thesis; do
	run strata slurm scancel $filter 3
	gives 0
	asked 'all(x["method"] == "GET" for x in r)'
done

it 'refuses as Slurm does'
serve "$routes"
run strata slurm scancel
gives 1
says 'scancel: error: No job identification provided'
run strata slurm scancel abc
gives 1
says 'scancel: error: Invalid job id abc'
run strata slurm scancel -t NOPE
gives 1
says 'Invalid job state specified: NOPE
Valid job states are PENDING, RUNNING, and SUSPENDED'
run strata slurm scancel -s NOPE 3
gives 1
says 'Unknown job signal: NOPE'
run strata slurm scancel --nosuch
gives 1
says "scancel: unrecognized option '--nosuch'
Try \"scancel --help\" for more information"
