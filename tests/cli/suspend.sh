#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'freezes jobs and says how they are now'
serve "{\"PATCH /api/v1/jobs/17\": {\"body\": $(job 'state="running"' 'reason="suspended"')}}"
run strata suspend 17
gives 0
prints_some 'job 17 is suspended'
asked 'p["body"] == {"suspend": True}'
run strata suspend
gives 2
