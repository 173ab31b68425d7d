#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'deletes what was made'
serve '{"DELETE /api/v1/accounts/lab": {"body": {"name": "lab"}}}'
run strata accounts delete lab
gives 0
prints 'lab is deleted'
asked 'p["method"] == "DELETE"'

it 'says what is in the way'
serve '{"DELETE /api/v1/accounts/lab": {"status": 409, "body": {"error": {"code": "conflict", "message": "lab is used by 2 jobs that have not ended: 3, 4", "field": null}}}}'
run strata accounts delete lab
gives 6
prints ''
says_some 'is used by 2 jobs'
run strata accounts delete
gives 2
