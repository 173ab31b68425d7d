#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

done='status="finished" images=[{"hash":"aa","bytes":3,"width":28,"height":28}]'

it 'gets the picture of a task'
serve '{"GET /api/v1/tasks/17": {"body": '"$(task $done)"'}, "GET /api/v1/tasks/17/image/0": {"hex": "89504e"}}'
run strata tasks image T17
gives 0
says_some 'T17.png: 28x28'
run strata tasks image 17 -o x.png
gives 0
cmp T17.png x.png || problem 'the files differ'
run strata tasks image 17 -o /no/such/x.png
gives 3

it 'has none before the end, and waits when it is told to'
serve '{"GET /api/v1/tasks/17": [{"body": '"$(task position=3)"'}, {"body": '"$(task)"'}, {"body": '"$(task $done)"'}], "GET /api/v1/tasks/17/image/0": {"hex": "89504e"}}'
run strata tasks image T17
gives 6
says 'strata: task T17 is pending: number 3 in line; --wait waits for it'
run strata tasks image T17 --wait
gives 0

it 'says of one that has no picture why'
serve '{"GET /api/v1/tasks/17": [{"body": '"$(task 'status="failed"' 'error="no"')"'}, {"body": '"$(task 'status="finished"')"'}]}'
run strata tasks image T17
gives 6
says 'strata: task T17 failed: no'
run strata tasks image T17
gives 3
says 'strata: task T17 has no picture'
