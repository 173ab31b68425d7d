#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'asks for it and says how the job is now'
serve "{\"PATCH /api/v1/jobs/17\": {\"body\": $(job 'reason="held"' 'reason_text="held by its owner or an operator"')}}"
run strata hold 17
gives 0
prints 'job 17 is held; `strata release 17` lets it start'
asked 'p["body"] == {"hold": True}'

it 'holds an array by one request, and says how many'
serve "{\"PATCH /api/v1/jobs/40\": {\"body\": $(job id=43 array_id=40 array_index=3 jobs=98 left=2 'reason="held"' 'reason_text="held by its owner or an operator"')}}"
run strata hold 40
gives 0
prints 'job 40_3 is held; `strata release 40_3` lets it start
array 40: 98 jobs changed, 2 left as before'
asked 'p["query"] == "elements=all"'

it 'says why not, when the job is in no state for it'
serve '{"PATCH /api/v1/jobs/17": {"status": 409, "body": {"error": {"code": "conflict", "message": "job 17 has ended", "field": null}}}}'
run strata hold 17
gives 6
says 'strata: job 17 has ended'
run strata hold
gives 2
