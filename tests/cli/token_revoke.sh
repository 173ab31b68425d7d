#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'makes tokens invalid'
serve '{"DELETE /api/v1/tokens/3": {"status": 200, "body": null}}'
run strata token revoke 3
gives 0
prints 'token 3 is revoked'
asked 'p["method"] == "DELETE"'
run strata token revoke 4
gives 3
