#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'lets them go on'
serve '{"POST /api/v1/models/digits/resume": {"body": '"$(model)"'}}'
run strata models resume digits
gives 0
prints 'model digits is at work'
