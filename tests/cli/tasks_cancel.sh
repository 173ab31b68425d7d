#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'cancels tasks'
serve '{"DELETE /api/v1/tasks/17": {"body": '"$(task 'status="cancelled"')"'}, "DELETE /api/v1/tasks/18": {"status": 409, "body": {"error": {"code": "conflict", "message": "task 18 has ended: it is finished", "field": null}}}}'
run strata tasks cancel T17
gives 0
prints 'task T17 is cancelled'
run strata tasks cancel 18 t17
gives 6
prints 'task T17 is cancelled'
says 'strata: task 18 has ended: it is finished'
