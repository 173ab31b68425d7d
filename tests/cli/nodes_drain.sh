#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'takes nodes out of use, with a reason'
serve '{"PATCH /api/v1/nodes/n1": {"body": {"name": "n1"}}, "PATCH /api/v1/nodes/n2": {"body": {"name": "n2"}}}'
run strata nodes drain n1 n2 --reason 'new disk'
gives 0
prints 'node n1 is drained
node n2 is drained'
asked 'p["body"] == {"state": "drained", "reason": "new disk"}'
run strata nodes drain n1 --down
asked 'p["body"] == {"state": "down"}'
run strata nodes drain n1 --json
prints_json 'd == {"name": "n1"}'

it 'is for operators'
serve '{"PATCH /api/v1/nodes/n1": {"status": 403, "body": {"error": {"code": "forbidden", "message": "only an operator may", "field": null}}}}'
run strata nodes drain n1
gives 4
prints ''
says 'strata: only an operator may'
