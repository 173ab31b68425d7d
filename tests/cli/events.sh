#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

page='{"body": {"events": [{"sequence": 7, "at": "2000-01-01T14:05:00Z", "job": 17, "kind": "job.scheduled", "about": {"attempt": 1, "node": "n1"}}]}}'

it 'shows what has happened'
serve "{\"GET /api/v1/events\": [$page, {\"body\": {\"events\": []}}]}"
run strata events --after 3 -n 5
gives 0
prints 'NUMBER  TIME              JOB  WHAT           ABOUT
     7  2000-01-01 14:05   17  job.scheduled  attempt: 1; node: n1'
asked 'p["query"] == "format=json&after=3&limit=5"'
run strata events
gives 0
says_some 'nothing has happened yet'

it 'follows, from the last one it has seen'
serve "{\"GET /api/v1/events\": [$page, {\"body\": {\"events\": []}}, {\"status\": 500, \"body\": null}]}"
run strata events -f --interval 5ms
gives 1
prints_some 'job.scheduled'
asked '[q["query"][:21] for q in r] == ["format=json&after=0&l", "format=json&after=7&l", "format=json&after=7&l"]'
