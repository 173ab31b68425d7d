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

it 'shows a task from its request to the layers of its model, on one clock'
printf '#!/bin/sh\nexec "%s" "$@" --budget 40%%\n' "$(command -v strata)" >worker
chmod 755 worker . ..
kill $server
wait $server
strata serve --state "$PWD/s" --worker-program "$PWD/worker" --node n:count=2:cpus=2:gpus=2 2>log &
server=$!
for _ in $(seq 100); do strata queue >/dev/null 2>&1 && break; sleep 0.1; done
run strata generate 'a two' --steps 3 --seed 5 --trace -o two.png
gives 0
run strata generate 'a two' --steps 3 --seed 5 -o plain.png
gives 0
run strata trace T1 -o t.json
gives 0
run python3 - <<'EOF'
import json
events = json.load(open("t.json"))["traceEvents"]
process = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
lanes = {(e["pid"], e["tid"]): (process[e["pid"]], e["args"]["name"]) for e in events if e["name"] == "thread_name"}
flows = {}  # the lanes that each arrow goes through
for e in events:
    if e["ph"] in "st":
        flows.setdefault(int(str(e["id"]), 0), []).append((e["ts"], lanes[(e["pid"], e["tid"])]))
task = [lane for _, lane in sorted(flows[(1 << 48) + 1])]
assert task[0] == ("strata serve", "tasks") and task[-1] == ("strata serve", "tasks"), task
assert {("strata worker", "batches"), ("strata worker", "pipeline")} <= set(task), task
job = [lane for _, lane in sorted(flows[2])]  # the worker's: after that of the test before
assert job[0][0] == "cluster" and ("strata worker", "batches") in job, job
steps = [sorted(path) for flow, path in flows.items() if flow >> 49]
assert len(steps) >= 5, len(steps)  # encode, three steps, decode
for path in steps:
    assert path[0][1] == ("strata worker", "pipeline"), path
    assert {name for _, (_, name) in path} >= {"pipeline", "cpu"}, path
assert any("computing" in {name for _, (_, name) in path} for path in steps), steps
times = [ts for path in steps for ts, _ in path] + [ts for ts, _ in flows[(1 << 48) + 1]]
assert max(times) - min(times) < 60e6, times  # one clock
assert sum(e["name"] == "row" for e in events) == 3
EOF
gives 0
cmp two.png plain.png || problem 'the picture is another one when it is traced'
run strata trace T2
gives 3
says_some 'task 2 has no timeline; ask for one with its request (`strata generate --trace`)'
run strata trace T3
gives 3
