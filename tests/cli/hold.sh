#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'asks for it and says how the job is now'
serve "{\"PATCH /api/v1/jobs/17\": {\"body\": $(job 'reason="held"' 'reason_text="held by its owner or an operator"')}}"
run strata hold 17
gives 0
prints 'job 17 is held; `strata release 17` lets it start'
asked 'p["body"] == {"hold": True}'

it 'says why not, when the job is in no state for it'
serve '{"PATCH /api/v1/jobs/17": {"status": 409, "body": {"error": {"code": "conflict", "message": "job 17 has ended", "field": null}}}}'
run strata hold 17
gives 6
says 'strata: job 17 has ended'
run strata hold
gives 2
