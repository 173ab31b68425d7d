#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'deletes what was made'
serve '{"DELETE /api/v1/users/ann": {"body": {"name": "ann"}}}'
run strata users delete ann
gives 0
prints 'ann is deleted'
asked 'p["method"] == "DELETE"'

it 'says what is in the way'
serve '{"DELETE /api/v1/users/ann": {"status": 409, "body": {"error": {"code": "conflict", "message": "ann is used by 2 jobs that have not ended: 3, 4", "field": null}}}}'
run strata users delete ann
gives 6
prints ''
says_some 'is used by 2 jobs'
run strata users delete
gives 2
