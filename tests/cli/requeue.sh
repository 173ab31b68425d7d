#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'asks for it and says how the job is now'
serve "{\"PATCH /api/v1/jobs/17\": {\"body\": $(job )}}"
run strata requeue 17
gives 0
prints 'job 17 is queued: it is next; what it needs is not free'
asked 'p["body"] == {"requeue": True}'

it 'submits one that has ended again'
serve '{"PATCH /api/v1/jobs/17": {"status": 409, "body": {"error": {"code": "stale", "message": "job 17 is completed", "field": null}}},
	"POST /api/v1/jobs/17/resubmit": {"status": 201, "body": {"id": 42, "ids": [42]}}}'
run strata requeue 17
gives 0
prints 'job 17 has ended; it was submitted again as job 42'

it 'says why not, when the job is in no state for it'
serve '{"PATCH /api/v1/jobs/17": {"status": 409, "body": {"error": {"code": "conflict", "message": "job 17 has ended", "field": null}}}}'
run strata requeue 17
gives 6
says 'strata: job 17 has ended'
run strata requeue
gives 2
