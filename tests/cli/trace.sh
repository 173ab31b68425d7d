#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

at() { date -u -d "$1" +%Y-%m-%dT%H:%M:%SZ; }
ran="$(job 'state="completed"' "submitted_at=\"$(at '-20 min')\"" "started_at=\"$(at '-15 min')\"" "ended_at=\"$(at '-5 min')\"")"
runs="$(job id=3 'state="running"' 'node_names=["n1"]' "submitted_at=\"$(at '-3 days')\"" "started_at=\"$(at '-2 days')\"")"
routes="{\"GET /api/v1/jobs\": {\"body\": {\"jobs\": [$ran], \"next\": null}}, \"GET /api/v1/queue\": {\"body\": {\"jobs\": [$runs]}},
	\"GET /api/v1/events\": {\"body\": {\"events\": [{\"sequence\": 1, \"at\": \"$(at '-15 min')\", \"job\": 17, \"kind\": \"job.scheduled\", \"about\": {\"gpu_ids\": {\"n1\": [0, 1]}}}]}},
	\"GET /api/v1/passes\": {\"body\": {\"passes\": [{\"at\": \"$(at '-15 min')\", \"took_s\": 0.25, \"started\": 1, \"stopped\": 0, \"waiting\": 0}]}}}"

it 'writes what the service did, for Perfetto'
serve "$routes"
run strata trace --since 1h -o t.json
gives 0
says 'strata: wrote 2 jobs to t.json; ui.perfetto.dev shows it'
out=$(cat t.json)
prints_json '[e["name"] for e in d["traceEvents"] if e["ph"] == "X"].count("17 train") == 3'
prints_json 'any(e["name"] == "3 train" and e["dur"] > 86400e6 for e in d["traceEvents"] if e["ph"] == "X")'
prints_json '[(e["dur"], e["args"]["started"]) for e in d["traceEvents"] if e["name"] == "pass"] == [(250000, 1)]'
prints_json '"n1" in [e["args"]["name"] for e in d["traceEvents"] if e["name"] == "process_name"]'

it 'prints it, for a pipe'
serve "$routes"
run strata trace --since 10m
gives 0
prints_json '"pass" not in [e["name"] for e in d["traceEvents"]]'

it 'leaves no half file behind'
serve '{"GET /api/v1/jobs": {"body": {"jobs": [], "next": null}}, "GET /api/v1/queue": {"body": {"jobs": []}}, "GET /api/v1/events": {"body": {"events": []}}}'
run strata trace -o t.json
gives 3
[ ! -e t.json ] || problem 't.json is there'
run strata trace --since whenever
gives 2

it 'shows a real service, however many events there were before'
unserve
export STRATA_SOCKET=$PWD/s/strata.sock
strata serve --state "$PWD/s" --node n:count=2:cpus=2:gpus=2 2>log &
server=$!
for _ in $(seq 100); do [ -S s/strata.sock ] && break; sleep 0.1; done
run strata submit --quiet --wait -D / -o /dev/null --gpus 4 true
gives 0
run strata trace
gives 0
prints_json '[e["name"] for e in d["traceEvents"] if e["ph"] == "X"].count("1 true") == 5' # submitted, and on four GPUs
prints_json '{"commit", "pass", "start", "started", "ended"} <= {e["name"] for e in d["traceEvents"]}'
prints_json 'len([e for e in d["traceEvents"] if e["ph"] == "s" and int(str(e["id"]), 0) == 1]) == 1'
prints_json 'any(e["ts"] % 1000000 for e in d["traceEvents"] if e["name"] == "1 true")' # exact, not to the second
