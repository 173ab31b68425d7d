#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'removes models'
serve '{"DELETE /api/v1/models/sdxl": {"body": {"name": "sdxl"}}, "DELETE /api/v1/models/digits": {"status": 409, "body": {"error": {"code": "conflict", "message": "model digits has 2 tasks", "field": null}}}}'
run strata models remove sdxl
gives 0
prints 'model sdxl is removed; its folder is as it was'
run strata models remove digits
gives 6
says 'strata: model digits has 2 tasks'
