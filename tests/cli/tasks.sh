#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'shows tasks'
serve '{"GET /api/v1/tasks": [{"body": {"tasks": ['"$(task id=18 position=4 position_error=2)"', '"$(task position=3)"', '"$(task id=16 'status="finished"' steps_done=20 'started_at="2000-01-01T14:00:00Z"' 'ended_at="2000-01-01T14:00:09Z"')"', '"$(task id=15 'user="bob"' 'status="denoising"' steps_done=4 parameters=null)"'], "next": null}},
	{"body": {"tasks": [], "next": null}}]}'
run strata tasks
gives 0
prints 'ID   USER  MODEL   STATUS     STEPS  CREATED           LINE/TIME   PROMPT
T18  ann   digits  pending     0/20  2000-01-01 14:00  ≈ number 4  a seven
T17  ann   digits  pending     0/20  2000-01-01 14:00  number 3    a seven
T16  ann   digits  finished   20/20  2000-01-01 14:00  9 s         a seven
T15  bob   digits  denoising   4/20  2000-01-01 14:00  -           -'
run strata tasks --user ann --status pending,denoising --model digits --limit 5
gives 0
says_some 'strata generate'
asked 'p["query"] == "user=ann&status=pending,denoising&model=digits&limit=5"'
run strata tasks --me --json
prints_json 'd["tasks"] == []'

it 'shows the tasks that are named'
serve '{"GET /api/v1/tasks/17": {"body": '"$(task)"'}}'
run strata tasks T17 --json
gives 0
prints_json 'd["id"] == 17'
