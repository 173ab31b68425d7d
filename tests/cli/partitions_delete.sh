#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'deletes what was made'
serve '{"DELETE /api/v1/partitions/short": {"body": {"name": "short"}}}'
run strata partitions delete short
gives 0
prints 'short is deleted'
asked 'p["method"] == "DELETE"'

it 'says what is in the way'
serve '{"DELETE /api/v1/partitions/short": {"status": 409, "body": {"error": {"code": "conflict", "message": "short is used by 2 jobs that have not ended: 3, 4", "field": null}}}}'
run strata partitions delete short
gives 6
prints ''
says_some 'is used by 2 jobs'
run strata partitions delete
gives 2
