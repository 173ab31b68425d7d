#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'brings nodes back'
serve '{"PATCH /api/v1/nodes/n1": {"body": {"name": "n1", "state": "up"}}}'
run strata nodes resume n1
gives 0
prints 'node n1 is up'
asked 'p["body"] == {"state": "up"}'
run strata nodes resume n7
gives 3
