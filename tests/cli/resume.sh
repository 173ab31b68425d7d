#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'lets frozen jobs go on'
serve "{\"PATCH /api/v1/jobs/17\": {\"body\": $(job 'state="running"' 'reason=null')}}"
run strata resume 17
gives 0
prints_some 'job 17 is running'
asked 'p["body"] == {"suspend": False}'
run strata resume
gives 2
