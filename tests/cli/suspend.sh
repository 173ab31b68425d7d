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

it 'does not say that it runs on'
serve "{\"PATCH /api/v1/jobs/17\": {\"body\": $(job 'state="running"' reason=null)}}"
run strata suspend 17
prints 'job 17 is being suspended'
