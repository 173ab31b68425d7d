#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'lets the tasks of a model wait'
serve '{"POST /api/v1/models/digits/pause": {"body": '"$(model paused=true)"'}}'
run strata models pause digits
gives 0
prints 'model digits is paused: its tasks wait; `strata models resume` goes on'
run strata models pause nosuch
gives 3
