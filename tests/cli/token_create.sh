#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'prints the token and nothing else'
serve '{"POST /api/v1/tokens": {"status": 201, "body": {"id": 3, "token": "strata_abc"}}}'
run strata token create --expires-in 1d --comment laptop
gives 0
prints 'strata_abc'
says_some 'not shown again'
asked 'p["body"] == {"expires_in": 86400, "comment": "laptop"} and "idempotency-key" not in p["headers"]'
run strata token create --user ann --role operator --json
prints_json 'd["id"] == 3'
asked 'p["body"] == {"user": "ann", "role": "operator"}'
