#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'lets workers go'
serve '{"POST /api/v1/models/sdxl/warm": {"body": '"$(model 'name="sdxl"')"'}}'
run strata models cool sdxl
gives 0
prints 'model sdxl: workers without tasks end'
asked 'p["body"] == {"workers": 0}'
run strata models cool nosuch
gives 3
