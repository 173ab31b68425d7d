# For tests of commands that ask the service: a stand-in for it. Sourced behind lib.sh.
#
#	serve '{"GET /api/v1/queue": {"body": {"jobs": []}}}'	# starts it, at $STRATA_SOCKET
#	asked 'r[0]["path"] == "/api/v1/queue"'			# r: the requests so far
#
# One server at a time; it ends with the next `it`, `serve` or the test.
here=$(cd "$(dirname "$0")" && pwd)
server=
export TZ=UTC0

unserve() {
	[ -z "$server" ] || { kill "$server" && wait "$server"; } 2>/dev/null
	server=
}
trap 'unserve; finish' EXIT

# serve ROUTES [PORT]
serve() {
	unserve
	rm -f socket port requests
	printf '%s' "$1" >routes.json
	: >requests
	python3 "$here/fake_server.py" "${2:-$PWD/socket}" routes.json requests 2>server.log &
	server=$!
	for _ in $(seq 200); do
		[ -e socket ] || [ -e port ] && break
		sleep 0.05
	done
	[ -z "${2:-}" ] || return 0
	export STRATA_SOCKET=$PWD/socket
}

# asked EXPRESSION: holds of r, the list of requests; p is a shorthand for the last one
asked() {
	python3 -c "
import json, sys
r = [json.loads(line) for line in open('requests')]
p = r[-1] if r else None
assert $1, r" 2>"$top/why" || problem "the server was not asked so ($1): $(tail -n 1 "$top/why")"
}

# A job as the server tells of it: job KEY=JSON …, the rest being usual.
job() {
	python3 - "$@" <<'EOF'
import json, sys
job = json.loads('''{"id": 17, "uuid": "0192", "user": "ann", "account": null, "partition": null, "qos": null, "name": "train",
"state": "queued", "reason": "resources", "reason_text": "it is next; what it needs is not free", "priority": "normal", "nice": 0, "tasks": 1,
"nodes": 1, "cpus": 4, "memory_bytes": 8589934592, "gpus": 1, "gpu_type": null, "command": ["python", "train.py"], "working_dir": "/home/ann",
"output": "/home/ann/strata-17.out", "error": "/home/ann/strata-17.out", "submitted_at": "2026-11-15T14:00:00Z", "eligible_at": null,
"scheduled_at": null, "started_at": null, "ended_at": null, "time_limit_s": 7200, "attempt": 0, "preempted": 0, "exit_code": null,
"exit_signal": null, "array_id": null, "array_index": null, "node_names": [], "gpu_ids": {}, "expected_start_at": null, "expected_node": null,
"promised": false, "expected_end_at": null, "position": 3, "dependencies": null, "comment": null}''')
for pair in sys.argv[1:]:
    key, _, value = pair.partition("=")
    job[key] = json.loads(value)
print(json.dumps(job), end="")
EOF
}

# A generation task as the server tells of it: task KEY=JSON …, the rest being usual.
task() {
	python3 - "$@" <<'EOF'
import json, sys
task = json.loads('''{"id": 17, "user": "ann", "account": null, "model": "digits", "status": "pending", "priority": 5, "steps": 20, "steps_done": 0,
"attempts": 0, "created_at": "2000-01-01T14:00:00Z", "started_at": null, "ended_at": null, "deadline": null, "cancelled_by": null, "cost_ns": 0, "seed": 5,
"error": null, "parameters": {"prompt": "a seven", "steps": 20, "seed": 5, "n": 1}, "images": []}''')
for pair in sys.argv[1:]:
    key, _, value = pair.partition("=")
    task[key] = json.loads(value)
print(json.dumps(task), end="")
EOF
}

# A model, the same way.
model() {
	python3 - "$@" <<'EOF'
import json, sys
model = json.loads('''{"name": "digits", "folder": null, "backend": "native", "worker": "strata", "gpus": 0, "cpus": 1.0, "memory_bytes": 536870912,
"workers_min": 0, "workers_max": 1, "batch": 4, "paused": false, "created_at": "2000-01-01T14:00:00Z", "defaults": {"solver": null, "steps": 20},
"pending": 3, "running": 2, "workers": 1, "trouble": null, "policy": "fair"}''')
for pair in sys.argv[1:]:
    key, _, value = pair.partition("=")
    model[key] = json.loads(value)
print(json.dumps(model), end="")
EOF
}
