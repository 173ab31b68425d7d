#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'keeps workers up'
serve '{"POST /api/v1/models/sdxl/warm": {"body": '"$(model 'name="sdxl"' warm=2)"'}}'
run strata models warm sdxl 2
gives 0
prints 'model sdxl has 2 workers up, with or without tasks'
asked 'p["body"] == {"workers": 2}'
run strata models warm sdxl
gives 0
asked 'p["body"] == {"workers": 1}'
run strata models warm sdxl --json
prints_json 'd["warm"] == 2'

it 'refuses what is no number of workers'
serve '{}'
run strata models warm sdxl many
gives 2
says_some "'many' workers; expected 1 to"
run strata models warm nosuch
gives 3
