#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

accepted='"POST /api/v1/jobs": {"status": 201, "body": {"id": 17, "uuid": "0192", "ids": [17]}}'
waiting="\"GET /api/v1/jobs/17\": {\"body\": $(job 'expected_start_at="2000-01-01T14:05:00Z"' 'expected_node="n3"')}"

it 'submits a command with what flags say, from here'
serve "{$accepted, $waiting}"
A_VARIABLE='of mine' run strata submit --gpus 1 --time 2h --memory 8G -- python train.py --epochs 10
gives 0
prints 'job 17 is queued: it is next; what it needs is not free; starts ≈ 2000-01-01 14:05 on n3'
says 'strata: `strata watch 17` follows it, `strata logs -f 17` shows what it writes'
asked 'r[0]["method"] == "POST" and r[0]["body"]["command"] == ["python", "train.py", "--epochs", "10"]'
asked 'r[0]["body"]["gpus"] == 1 and r[0]["body"]["time_limit"] == 7200 and r[0]["body"]["memory"] == 8 << 30'
asked 'r[0]["body"]["working_dir"] == "'"$PWD"'" and r[0]["body"]["environment"]["A_VARIABLE"] == "of mine"'
asked 'len(r[0]["body"]) == 7' # nothing else is decided here
asked 'len(r[0]["headers"]["idempotency-key"]) == 32'

it 'leaves the flags behind the command to the command'
serve "{$accepted, $waiting}"
run strata submit --quiet echo --gpus 1 --json
gives 0
prints 17
says ''
asked 'r[0]["body"]["command"] == ["echo", "--gpus", "1", "--json"] and "gpus" not in r[0]["body"]'

it 'sends every field there is'
serve "{$accepted, $waiting}"
run strata submit -J me -n 4 -N 2 -c 1.5 --gpus-per-task 1 --gpu-type 'a100|h100' --memory-per-task 1GiB --priority high --nice -5 -A lab -p gpu -q fast \
	-a '1-9%3' -d afterok:3 --cancel-if-never -b '2030-01-01T00:00:00' --hold --no-requeue --preemptible --checkpoint 10m --gang g --gang-size 2 \
	-C nvlink --image reg/a:1 -w 'n[1-2]' -x n9 --exclusive -D sub --env X=1,Y=2 -i in -o out-%j -e err-%j --append --umask 077 --comment why -- true
gives 0
asked '{k: v for k, v in r[0]["body"].items() if k != "environment"} == {"name": "me", "tasks": 4, "nodes": 2, "cpus_per_task": 1.5, "gpus_per_task": 1,
	"gpu_type": "a100|h100", "memory_per_task": 1 << 30, "priority": "high", "nice": -5, "account": "lab", "partition": "gpu", "qos": "fast",
	"array": "1-9%3", "dependencies": "afterok:3", "cancel_if_never": True, "begin": "2030-01-01T00:00:00Z", "hold": True, "requeue": False,
	"preemptible": True, "checkpoint": 600, "gang": "g", "gang_size": 2, "features": "nvlink", "image": "reg/a:1", "node_list": "n[1-2]", "node_exclude": "n9",
	"exclusive": True, "working_dir": "'"$PWD"'/sub", "input": "in", "output": "out-%j", "error": "err-%j", "append": True, "umask": "077", "comment": "why",
	"command": ["true"]}'
asked 'r[0]["body"]["environment"]["X"] == "1" and r[0]["body"]["environment"]["HOME"]'

it 'keeps its token to itself'
serve "{$accepted, $waiting}"
STRATA_TOKEN=strata_secret run strata submit -- true
asked '"STRATA_TOKEN" not in r[0]["body"]["environment"] and "authorization" not in r[0]["headers"]'

it 'reads the #SBATCH lines of a script, and flags win'
serve "{$accepted, $waiting}"
cat >train.sh <<'EOF'
#!/bin/bash
#SBATCH --job-name=train --time=1:00:00
#SBATCH --gres=gpu:a100:2
#SBATCH --hint=nomultithread
echo hello
EOF
run strata submit --time 30m train.sh
gives 0
says_some '--hint of the script has no effect here'
asked 'r[0]["body"]["name"] == "train" and r[0]["body"]["time_limit"] == 1800 and r[0]["body"]["gpus_per_node"] == 2'
asked 'r[0]["body"]["gpu_type"] == "a100" and r[0]["body"]["script"].endswith("echo hello\n") and r[0]["body"]["script_name"] == "train.sh"'
asked '"command" not in r[0]["body"]'
serve "{$accepted, $waiting}"
run strata submit --gpus 1 train.sh
asked 'r[0]["body"]["gpus"] == 1 and "gpus_per_node" not in r[0]["body"]'

it 'sends the umask that it was called with'
serve "{$accepted, $waiting}"
(umask 027 && strata submit --quiet -- true >/dev/null)
asked 'r[0]["body"]["umask"] == "0027"'
serve "{$accepted, $waiting}"
run strata submit --umask 077 -- true
asked 'r[0]["body"]["umask"] == "077"'

it 'sends the arguments of a script with it'
serve "{$accepted, $waiting}"
printf '#!/usr/bin/env -S python3 -u\n' >tool.py
run strata submit ./tool.py --fast 1
gives 0
asked 'r[0]["body"]["script"].startswith("#!/usr/bin/env") and r[0]["body"]["script_name"] == "./tool.py"'
asked 'r[0]["body"]["arguments"] == ["--fast", "1"] and "command" not in r[0]["body"]'

it 'finds mistakes before the server does'
serve "{$accepted}"
run strata submit
gives 2
says_some 'needs an argument; usage: '
run strata submit nofile.sh
gives 3
says "strata: there is no script 'nofile.sh' here"
run strata submit --time tomorrow -- true
gives 2
says_some '--time'
run strata submit --gpsu 1 -- true
gives 2
says_some "did you mean '--gpus'"
printf '#!/bin/sh\n#SBATCH --time=2h\n' >bad.sh
run strata submit bad.sh
gives 2
says_some 'Invalid --time specification'
asked 'len(r) == 0'

it 'passes on what the server refuses, with the field'
serve '{"POST /api/v1/jobs": {"status": 400, "body": {"error": {"code": "invalid", "message": "gpus is 99; no node has more than 8", "field": "gpus"}}}}'
run strata submit --json --gpus 99 -- true
gives 2
prints_json 'd["error"]["field"] == "gpus" and d["error"]["code"] == "invalid"'
asked 'len(r) == 1'

it 'tries again with the same key'
serve '{"POST /api/v1/jobs": [{"drop": true}, {"status": 503, "body": {"error": {"code": "unavailable", "message": "busy", "field": null}}},
	{"status": 200, "body": {"id": 17, "ids": [17]}}], '"$waiting}"
run strata submit --quiet -- true
gives 0
prints 17
asked 'len(r) == 3 and len({q["headers"]["idempotency-key"] for q in r}) == 1'

it 'prints the answer with --json'
serve "{$accepted}"
run strata submit --json -- true
gives 0
prints_json 'd == {"id": 17, "uuid": "0192", "ids": [17]}'
says ''

it 'tells of an array'
serve '{"POST /api/v1/jobs": {"status": 201, "body": {"id": 17, "array_id": 17, "ids": [17, 18, 19]}}, '"$waiting}"
run strata submit --array 1-3 -- true
gives 0
prints_some 'array 17 has 3 jobs'
serve '{"POST /api/v1/jobs": {"status": 201, "body": {"id": 17, "array_id": 17, "ids": [17, 18, 19]}}, "GET /api/v1/jobs/17": {"body": '"$(job array_id=17 array_index=1 'reason="held"')}}"
run strata submit --hold --array 1-3 -- true
gives 0
prints_some 'array 17 has 3 jobs, which are held; `strata release 17` lets them start'
serve '{"POST /api/v1/jobs": {"status": 201, "body": {"id": 17, "array_id": 17, "ids": [17, 18, 19]}}, '"$waiting}"
run strata submit --quiet --array 1-3 -- true
prints 17

it 'waits, tells of changes, and ends as the job did'
serve "{$accepted, \"GET /api/v1/jobs/17\": [
	{\"body\": $(job)}, {\"body\": $(job)}, {\"body\": $(job 'state="running"' 'reason=null' 'node_names=["n1"]' 'time_limit_s=null')},
	{\"status\": 503, \"body\": null}, {\"status\": 503, \"body\": null}, {\"status\": 503, \"body\": null}, {\"status\": 503, \"body\": null},
	{\"body\": $(job 'state="failed"' 'reason="exit_code"' 'reason_text="its exit status was not 0"' exit_code=3)}]}"
run strata submit --wait --interval 10ms -- true
gives 3
prints 'job 17 is queued: it is next; what it needs is not free'
says 'job 17 is queued: it is next; what it needs is not free
job 17 is running on n1
strata: the server answered with status 503; waiting for it
job 17 failed: its exit status was not 0; exit code 3'
serve "{$accepted, \"GET /api/v1/jobs/17\": {\"body\": $(job 'state="failed"' exit_signal=9)}}"
run strata submit --wait --json -- true
gives 137
prints_json 'd["exit_signal"] == 9'
serve "{$accepted, \"GET /api/v1/jobs/17\": {\"body\": $(job 'state="completed"' exit_code=0)}}"
run strata submit --wait --quiet -- true
gives 0
prints 17

it 'wants a unit with a time'
run strata submit --time 2 -- true
gives 2
says 'strata: --time is 2 of what? Say 2s, 2m (minutes) or 2h'
