#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"
unset STRATA_TOKEN STRATA_TOKEN_FILE
digits=$STRATA_TEST_DATA/pipelines/digits

token() {
	echo strata_job_7.1.abc >token
	chmod 600 token
	export STRATA_TOKEN_FILE=$PWD/token
}

it 'draws a task of the service and hands over the picture that strata engine image draws'
serve '{"GET /api/v1/models/digits": {"body": {"name": "digits", "folder": "'"$digits"'", "backend": "native"}},
	"POST /api/v1/worker/pick": [{"body": {"steps": 3, "tasks": [{"id": 17, "steps_done": 0, "seed": 5, "parameters": {"prompt": "a seven", "steps": 4}}], "drop": [], "stop": false}},
		{"body": {"steps": 3, "tasks": [{"id": 17, "steps_done": 3, "seed": 5, "parameters": {"prompt": "a seven", "steps": 4}}], "drop": [], "stop": false}},
		{"body": {"steps": 0, "tasks": [], "drop": [], "stop": true}}],
	"POST /api/v1/worker/done": {"body": {}},
	"PUT /api/v1/worker/image": {"status": 201, "body": {"hash": "abcd", "bytes": 1}}}'
token
run strata worker --model digits
gives 0
asked '[(q["method"], q["path"].split("/")[-1]) for q in r] == [("GET", "digits"), ("POST", "pick"), ("POST", "done"), ("POST", "pick"), ("PUT", "image"), ("POST", "done"), ("POST", "pick")]'
asked 'all(q["headers"]["authorization"] == "Bearer strata_job_7.1.abc" for q in r)'
asked 'r[1]["body"]["holding"] == [] and r[3]["body"]["holding"] == [17]'
asked '[(w["id"], w["kind"], w["steps"]) for w in r[2]["body"]["rows"]] == [(17, "steps", 3)]'
asked '[(w["id"], w["kind"], w["steps"], w["images"], w["width"]) for w in r[5]["body"]["rows"]] == [(17, "finished", 1, ["abcd"], 16)]'
strata engine image "$digits" 'a seven' --seed 5 --steps 4 -o want.png 2>/dev/null
asked 'r[4]["body"] == open("want.png", "rb").read().hex()'

it 'takes a folder, a backend and a budget in place of what the service says'
serve '{"POST /api/v1/worker/pick": {"body": {"steps": 0, "tasks": [], "drop": [], "stop": true}}}'
token
run strata worker --model mine --folder "$digits" --backend native --budget 40% --devices cpu:0
gives 0
asked 'len(r) == 1'

it 'fails a task that cannot be, and says so'
serve '{"POST /api/v1/worker/pick": [{"body": {"steps": 1, "tasks": [{"id": 3, "seed": 5, "parameters": {"prompt": "7", "scheduler": "eulr"}}]}},
		{"body": {"tasks": [], "stop": true}}],
	"POST /api/v1/worker/done": {"body": {}}}'
token
run strata worker --model mine --folder "$digits" --backend native
gives 0
says_some 'task 3 failed:'
asked 'r[1]["body"]["rows"][0]["kind"] == "failed" and "did you mean" in r[1]["body"]["rows"][0]["error"]'

it 'gives back what it holds on SIGTERM'
serve '{"POST /api/v1/worker/pick": {"body": {"steps": 1, "tasks": [{"id": 3, "seed": 5, "parameters": {"prompt": "7", "steps": 10000}}]}},
	"POST /api/v1/worker/done": {"body": {}}}'
token
strata worker --model mine --folder "$digits" --backend native 2>said &
worker=$!
for _ in $(seq 200); do
	[ "$(wc -l <requests)" -ge 4 ] && break
	sleep 0.05
done
kill -TERM $worker
wait $worker
code=$? out= err=
gives 0
asked 'p["path"].endswith("/done") and [w["kind"] for w in p["body"]["rows"]] == ["back"]'

it 'is a job: without its token it does nothing'
serve '{}'
unset STRATA_TOKEN_FILE
run strata worker --model digits
gives 4
says_some 'STRATA_TOKEN_FILE'
asked 'r == []'

it 'says what the service refuses'
serve '{"POST /api/v1/worker/pick": {"status": 403, "body": {"error": {"code": "forbidden", "message": "job 7 is no worker", "field": null}}}}'
token
run strata worker --model mine --folder "$digits" --backend native
gives 4
says_some 'job 7 is no worker'

it 'knows no model that is not there'
serve '{}'
token
run strata worker --model nosuch
gives 3
run strata worker
gives 2
says_some 'model'
