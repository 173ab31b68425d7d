#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'shows a task'
serve '{"GET /api/v1/tasks/17": {"body": '"$(task 'status="failed"' 'error="no memory"' cost_ns=1500000000 attempts=2 steps_done=3)"'}}'
run strata tasks show T17
gives 0
prints_some 'task        T17'
prints_some 'error       no memory'
prints_some 'computed    1.5 s'
prints_some 'parameters  prompt: a seven, steps: 20, seed: 5, n: 1'
run strata tasks show 17 --json
prints_json 'd["attempts"] == 2'

it 'knows no task that is not there, and no word that is none'
serve '{}'
run strata tasks show T99
gives 3
run strata tasks show T9x
gives 2
says_some "'T9x' is no task; expected T17"
