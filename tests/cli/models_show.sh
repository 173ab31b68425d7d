#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'shows a model'
serve '{"GET /api/v1/models/digits": {"body": '"$(model)"'}}'
run strata models show digits
gives 0
prints_some 'memory        512 MiB'
prints_some 'most workers  1'
run strata models show nosuch
gives 3
