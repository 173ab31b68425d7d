#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'makes a model the one that is used where none is named'
serve '{"POST /api/v1/models/sdxl/default": {"body": '"$(model 'name="sdxl"' default=true)"'}}'
run strata models default sdxl
gives 0
prints 'model sdxl is used where none is named'
run strata models default nosuch
gives 3
