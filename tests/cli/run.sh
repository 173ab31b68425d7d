#!/bin/sh
# What is asked of the service, and what is refused before it is; everything else needs one: tests/api/test_interactive.py.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"
export TMPDIR=$top

accepted='"POST /api/v1/jobs": {"status": 201, "body": {"id": 17, "uuid": "0192", "ids": [17]}}'
unstarted=$(job "uid=$(id -u)" 'state="failed"' 'reason="start_failed"' 'reason_text="could not start: no such node"')
body='[x["body"] for x in r if x["method"] == "POST"][-1]'
left() {
	ls -d "$top"/strata-console-* 2>/dev/null
}

it 'submits the command with a console around it'
serve "{$accepted, \"GET /api/v1/jobs/17\": {\"body\": $unstarted}}"
A_VARIABLE='of mine' run strata run --gpus 2 --time 10m -- /usr/bin/python3 train.py --epochs 3
gives 1
prints ''
says 'strata: job 17 failed: could not start: no such node'
asked "$body"'["command"][1] == "console" and '"$body"'["command"][3:] == ["-", "/usr/bin/python3", "train.py", "--epochs", "3"]'
asked "$body"'["name"] == "python3" and '"$body"'["gpus"] == 2 and '"$body"'["time_limit"] == 600 and '"$body"'["requeue"] is False'
asked "$body"'["working_dir"] == "'"$PWD"'" and '"$body"'["environment"]["A_VARIABLE"] == "of mine"'
asked "$body"'["output"] == '"$body"'["command"][2] + "/log"'
[ -z "$(left)" ] || problem "a directory is left: $(left)"

it 'leaves files of the job to the command'
serve "{$accepted, \"GET /api/v1/jobs/17\": {\"body\": $unstarted}}"
run strata run --output out --name mine -- cat
asked "$body"'["command"][3] == "12" and '"$body"'["output"] == "out" and '"$body"'["name"] == "mine"'
run strata run --error err --input in -- cat
asked "$body"'["command"][3] == "02"'

it 'says why it waits, and a signal cancels the job'
serve "{$accepted, \"GET /api/v1/jobs/17\": {\"body\": $(job "uid=$(id -u)" 'expected_start_at="2026-11-15T14:05:00Z"')}, \"DELETE /api/v1/jobs/17\": {\"body\": {}},
	\"GET /api/v1/jobs/17/why\": {\"body\": {\"sentences\": [\"Job 17 is queued.\", \"It asks for 4 GPUs; 1 is free now.\"]}}}"
strata run -- true </dev/null >out 2>said &
client=$!
for _ in $(seq 200); do
	[ -s said ] && break
	sleep 0.05
done
kill -INT $client
wait $client
[ $? = 130 ] || problem 'the exit status is not 130'
err=$(cat said)
says_some 'strata: job 17 waits: it is next; what it needs is not free. It asks for 4 GPUs; 1 is free now. It starts ≈ '
says_some 'Ctrl-C cancels it.
strata: job 17 is cancelled'
asked 'p["method"] == "DELETE"'

it 'is not for jobs of others'
serve "{$accepted, \"GET /api/v1/jobs/17\": {\"body\": $(job uid=4242)}, \"DELETE /api/v1/jobs/17\": {\"body\": {}}}"
run strata run -- true
gives 4
says "strata: job 17 is ann's, and only ann can sit at it"
asked 'p["method"] == "DELETE"'

it 'is for this machine'
run strata run --server https://far.example.org:8765 -- true
gives 1
says_some 'https://far.example.org:8765 is on another machine, and its jobs run there'
says_some '`strata submit` and `strata logs`'

it 'refuses what makes no sense'
serve '{}'
run strata run
gives 2
run strata run --array 1-3 -- true
gives 2
says 'strata: --array: one terminal is for one job; `strata submit` takes arrays'
run strata run --detach-key d -- true
gives 2
says_some "'d' is no control key; expected ctrl-] or another of ctrl-a to ctrl-z, or none"
run strata run --terminal maybe -- true
gives 2
run strata run -- "$(printf '\377')"
gives 2
says_some 'a word of the command is not valid UTF-8'
asked 'r == []'
run env TMPDIR=/nosuch/place strata run -- true
gives 3
says_some 'cannot make a directory in /nosuch/place'
[ -z "$(left)" ] || problem "a directory is left: $(left)"
STRATA_SOCKET=$PWD/none run strata run -- true
gives 5
