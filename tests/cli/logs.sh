#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'shows what a job has written, byte for byte'
serve '{"GET /api/v1/jobs/17/output": {"text": "one\ntwo, without an end"}}'
run strata logs 17
gives 0
prints 'one
two, without an end'
asked 'p["query"] == "" and p["path"].endswith("/output")'
run strata logs 17 --error
asked 'p["query"] == "error=1"'

ended="\"GET /api/v1/jobs/17\": {\"body\": $(job 'state="completed"')}"

it 'shows the last lines'
serve '{"GET /api/v1/jobs/17/output": [{"body": {"from": 4, "size": 8}}, {"text": "two\n"}], '"$ended}"
run strata logs --tail 1 17
gives 0
prints two
asked '[q["query"] for q in r if q["path"].endswith("/output")] == ["lines=1", "from=4"]'

it 'shows several under their names, and goes on where one has none'
serve '{"GET /api/v1/jobs/35_1/output": {"text": "one\n"}, "GET /api/v1/jobs/35_3/output": {"text": "three\n"},
	"GET /api/v1/jobs/35_2/output": {"status": 404, "body": {"error": {"code": "not_found", "message": "job 35_2 has not written anything yet", "field": null}}}}'
run strata logs 35_[1-3]
gives 3
prints '==> 35_1 <==
one

==> 35_2 <==

==> 35_3 <==
three'
says 'strata: job 35_2 has not written anything yet'

it 'follows until the job ends'
serve '{"GET /api/v1/jobs/17/output": [{"chunks": ["one\n", "two\n"]}, {"text": ""}], '"$ended}"
run strata logs -f 17
gives 0
prints 'one
two'
asked 'r[1]["query"] == "follow=1" and p["query"] == "from=8&follow=1"'

it 'asks again when the answer ends before the job does'
serve '{"GET /api/v1/jobs/17/output": [{"text": "one\n"}, {"text": "two\n"}, {"text": "three\n"}],
	"GET /api/v1/jobs/17": [{"body": '"$(job)"'}, {"body": '"$(job 'state="running"')"'}, {"body": '"$(job 'state="completed"')"'}]}'
run strata logs -f 17
gives 0
prints 'one
two
three'

it 'goes on where it was when the connection breaks'
serve '{"GET /api/v1/jobs/17/output": [{"chunks": ["one\n", "tw"], "break": true}, {"status": 503, "body": null}, {"chunks": ["o\n"]}, {"text": ""}],
	'"$ended}"
run strata logs -f 17
gives 0
prints 'one
two'
says_some 'broke'
asked '[q["query"] for q in r if q["path"].endswith("/output")][:3] == ["follow=1", "from=6&follow=1", "from=6&follow=1"]'

it 'says that there is nothing yet'
serve '{"GET /api/v1/jobs/17/output": {"text": ""}}'
run strata logs 17
gives 0
prints ''
says_some 'has written nothing yet; `strata logs -f 17` waits for it'

it 'prints no error page as output'
serve '{"GET /api/v1/jobs/17/output": {"status": 403, "body": {"error": {"code": "forbidden", "message": "job 17 is not yours", "field": null}}}}'
run strata logs 17
gives 4
prints ''
says 'strata: job 17 is not yours'
