#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

nodes='"GET /api/v1/nodes": {"body": {"nodes": [
	{"name": "n1", "state": "up", "cpus": 8, "cpus_free": 2, "memory_bytes": 17179869184, "memory_free_bytes": 8589934592, "gpus": 4, "gpus_free": 0.5, "gpu_type": "a100", "jobs": [3]},
	{"name": "n2", "state": "drained", "cpus": 8, "cpus_free": 8, "memory_bytes": 17179869184, "memory_free_bytes": 17179869184, "gpus": 0, "gpus_free": 0, "gpu_type": null, "jobs": []}]}}'
running=$(job id=3 'state="running"' 'reason=null' 'node_names=["n1"]')
routes="{$nodes, \"GET /api/v1/queue\": {\"body\": {\"at\": \"2026-11-15T14:00:00Z\", \"jobs\": [$running, $(job 'expected_start_at="2000-01-01T14:05:00Z"')], \"counts\": {\"queued\": 1}}}}"

it 'shows nodes, what runs and what waits, once where nobody looks'
serve "$routes"
run strata top
gives 0
prints_some '2 nodes, 1 running, 1 waiting'
prints_some 'GPUs █████████░ 3.5/4   CPUs ████░░░░░░ 6/16   GiB ███░░░░░░░ 8/32'
prints_some 'NODE  STATE    GPUS              CPUS            MEMORY, GIB'
prints_some 'n1    up       █████████░ 3.5/4  ████████░░ 6/8  █████░░░░░ 8/16'
prints_some 'n2    drained  -                 ░░░░░░░░░░ 0/8'
prints_some 'running'
prints_some '≈ 2000-01-01 14:05'
asked 'len(r) == 4'
run strata top --json
prints_json 'set(d) == {"at", "nodes", "jobs", "counts", "tasks", "problems"} and len(d["jobs"]) == 2 and d["tasks"] is None'

it 'shows what running jobs use, in columns for what is known'
used=$(job id=3 'state="running"' 'reason=null' 'node_names=["n1"]' cpus_used=1.5 memory_used_bytes=3221225472)
gpu=$(job id=4 'state="running"' 'reason=null' 'node_names=["n1"]' gpus_used=0.875 gpu_memory_used_bytes=1073741824)
serve "{$nodes, \"GET /api/v1/queue\": {\"body\": {\"jobs\": [$used, $(job)]}}}"
run strata top
gives 0
prints_some 'CPU USE  MEMORY'
prints_some ' 1.50   3 GiB'
prints_not 'GPU USE'
asked '"collapse=1&used=1" in [x["query"] for x in r]'
serve "{$nodes, \"GET /api/v1/queue\": {\"body\": {\"jobs\": [$used, $gpu]}}}"
run strata top
prints_some 'CPU USE  MEMORY  GPU USE  GPU MEMORY'
prints_some '0.88       1 GiB'

it 'shows generation tasks that wait or are being drawn'
serve "{$nodes, \"GET /api/v1/queue\": {\"body\": {\"jobs\": [$running]}}, \"GET /api/v1/tasks\": {\"body\": {\"tasks\": [$(task 'status="denoising"' steps_done=4), $(task id=18 position=1)]}}}"
run strata top
gives 0
prints_some '2 nodes, 1 running, 0 waiting, 2 generation tasks'
prints_some 'T17  ann   digits  denoising   4/20'
prints_some 'T18  ann   digits  pending     0/20'
asked 'p["query"] == "status=pending,encoding,denoising,decoding"'
run strata top --json
prints_json '[t["id"] for t in d["tasks"]] == [17, 18]'

it 'says what is wrong, the gravest by its name'
serve "{$nodes, \"GET /api/v1/queue\": {\"body\": {\"jobs\": []}}, \"GET /api/v1/problems\": {\"body\": {\"count\": 2, \"problems\": [{\"grave\": true, \"title\": \"c2 is down\"}, {\"grave\": false, \"title\": \"n2 is drained\"}]}}}"
run strata top
gives 0
prints_some '2 nodes, 0 running, 0 waiting, 2 problems: c2 is down'

it 'is drawn over on a terminal, and fits it'
many=$(for i in $(seq 100 140); do printf ', '; job id=$i; done)
serve "{$nodes, \"GET /api/v1/queue\": {\"body\": {\"at\": null, \"jobs\": [$running$many], \"counts\": {}}}}"
run script -qec 'stty cols 120 rows 24; strata top --interval 20ms --times 2' /dev/null
gives 0
prints_some "$(printf '\033[H\033[J')"
prints_some '… and'
run script -qec 'stty cols 120 rows 24; strata top --once' /dev/null
[ "$(printf '%s\n' "$out" | wc -l)" -le 24 ] || problem "$(printf '%s\n' "$out" | wc -l) lines on 24 rows"

it 'ends with q, and puts the terminal right'
serve "$routes"
{ sleep 0.5; printf q; sleep 2; } | timeout 20 script -qec 'stty cols 100 rows 24; strata top --interval 60s; stty -a | grep -c " echo "' /dev/null >"$top/out" 2>&1
out=$(cat "$top/out")
[ "$(printf '%s' "$out" | tail -n 1 | tr -d '\r')" = 1 ] || problem "no echo any more: $(printf '%s' "$out" | tail -n 2)"

it 'says that there is no server'
run strata top --socket "$PWD/none"
gives 5
