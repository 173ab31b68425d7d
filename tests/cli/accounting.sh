#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'shows who used how much, since when'
serve '{"GET /api/v1/accounting": {"body": {"rows": [{"user": "ann", "account": null, "jobs": 12, "tasks": 340, "task_seconds": 90.5, "gpu_hours": 3.25, "cpu_hours": 7.5}]}}}'
run strata accounting
gives 0
prints 'USER  ACCOUNT  JOBS  TASKS  GPU HOURS  CPU HOURS
ann   -          12    340        3.2        7.5'
asked 'p["query"] == "by=user"'
run strata accounting --by account --since 2026-01-02
prints_some 'ACCOUNT  JOBS'
asked 'p["query"] == "by=account&since=2026-01-02T00:00:00Z"'
run strata accounting --since 7d
asked '__import__("datetime").datetime.utcnow() - __import__("datetime").datetime.strptime(p["query"], "by=user&since=%Y-%m-%dT%H:%M:%SZ") < __import__("datetime").timedelta(days=7, minutes=1)'
run strata accounting --json
prints_json 'd["rows"][0]["jobs"] == 12'

it 'knows what a time is'
run strata accounting --since whenever
gives 2
says_some 'expected a duration such as 7d'
run strata accounting --by moon
gives 2

it 'shows days in their order, partitions and short work in units that can be read'
serve '{"GET /api/v1/accounting": {"body": {"rows": [{"day": "2026-01-03", "jobs": 1, "tasks": 0, "gpu_hours": 0.005, "cpu_hours": 0.25}, {"day": "2026-01-02", "jobs": 2, "tasks": 0, "gpu_hours": 0.01, "cpu_hours": 0.5}]}}}'
TZ=UTC-2 run strata accounting --by day --plot --until 2026-02-01
gives 0
prints 'DAY         JOBS  TASKS  GPU SECONDS  CPU MINUTES  GPUS
2026-01-02     2      0         36.0         30.0  ██████████████████████████████
2026-01-03     1      0         18.0         15.0  ███████████████░░░░░░░░░░░░░░░'
asked 'p["query"].startswith("by=day&until=2026-0") and p["query"].endswith("&zone=7200")'
serve '{"GET /api/v1/accounting": {"body": {"rows": [{"partition": null, "jobs": 1, "tasks": 0, "gpu_hours": 0, "cpu_hours": 0.25}, {"partition": "gpu", "jobs": 2, "tasks": 0, "gpu_hours": 1, "cpu_hours": 2}]}}}'
run strata accounting --by partition
prints 'PARTITION  JOBS  TASKS  GPU HOURS  CPU HOURS
gpu           2      0        1.0        2.0
-             1      0        0.0        0.2'

it 'says that nothing was used'
serve '{"GET /api/v1/accounting": {"body": {"rows": []}}}'
run strata accounting
gives 0
says_some 'nothing was used'

nodes='"GET /api/v1/nodes": {"body": {"nodes": [{"name": "n1", "cpus": 8, "memory_bytes": 17179869184, "gpus": 2, "gpu_type": "a100"}]}}'

it 'writes the history as a log that the simulator reads'
serve "{$nodes, \"GET /api/v1/jobs\": [{\"body\": {\"next\": 17, \"jobs\": [$(job id=18), $(job 'state="completed"' 'node_names=["n1"]' 'started_at="2026-11-15T14:00:05Z"' 'ended_at="2026-11-15T14:01:05Z"')]}},
	{\"body\": {\"next\": null, \"jobs\": [$(job id=3 'user="bob"' 'state="failed"' 'node_names=["n1"]' 'started_at="2026-11-15T14:00:00Z"' 'ended_at="2026-11-15T14:00:30Z"' 'submitted_at="2026-11-15T13:59:00Z"')]}}]}"
run strata accounting --swf -o history.swf --nodes nodes.csv --since 2026-01-01
gives 0
says 'strata: left out: 1 job that did not run to the end
strata: wrote 2 jobs to history.swf; `strata sim cluster history.swf` replays them'
asked 'r[1]["query"] == "limit=1000&since=2026-01-01T00%3A00%3A00Z" or r[1]["query"] == "limit=1000&since=2026-01-01T00:00:00Z"'
asked '"after=17" in r[2]["query"]'
run grep -v '^;' history.swf
prints '3 0 60 30 4 -1 -1 4 7200 -1 0 2 -1 1 2 -1 -1 -1
17 60 5 60 4 -1 -1 4 7200 -1 1 1 -1 1 2 -1 -1 -1'
run strata sim cluster history.swf --json
gives 0
prints_json 'd["jobs"] == 2'
run strata sim cluster history.swf --nodes nodes.csv --order sjf --json
gives 0
prints_json 'd["jobs"] == 2 and d["mean_wait_s"] == 0'
run strata accounting --output x
gives 2
says_some 'go with --swf'
