#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'deletes what was made'
serve '{"DELETE /api/v1/qos/urgent": {"body": {"name": "urgent"}}}'
run strata qos delete urgent
gives 0
prints 'urgent is deleted'
asked 'p["method"] == "DELETE"'

it 'says what is in the way'
serve '{"DELETE /api/v1/qos/urgent": {"status": 409, "body": {"error": {"code": "conflict", "message": "urgent is used by 2 jobs that have not ended: 3, 4", "field": null}}}}'
run strata qos delete urgent
gives 6
prints ''
says_some 'is used by 2 jobs'
run strata qos delete
gives 2
