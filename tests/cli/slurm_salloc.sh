#!/bin/sh
# What is asked of the service, and what is refused; allocations that run: tests/api/test_interactive.py.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"
export TMPDIR=$top

nodes='"GET /api/v1/nodes": {"body": {"nodes": [{"name": "n001", "state": "up", "cpus": 64, "cpus_free": 64, "memory_bytes": 536870912000,
	"memory_free_bytes": 536870912000, "gpus": 8, "gpus_free": 8, "gpu_type": "a100", "features": ["nvlink"], "partitions": ["gpu"]}]}}'
accepted='"POST /api/v1/jobs": {"status": 201, "body": {"id": 17, "uuid": "0192", "ids": [17]}}'
cancelled="\"GET /api/v1/jobs/17\": {\"body\": $(job "uid=$(id -u)" 'state="cancelled"' 'reason=null' 'reason_text=null')}"
body='[x["body"] for x in r if x["method"] == "POST"][-1]'

it 'sends the options, and a shell or a command'
serve "{$nodes, $accepted, $cancelled}"
SHELL=/bin/sh run strata slurm salloc -p gpu -n2 --gpus-per-node=a100:1 -t 10
gives 1
says 'salloc: Job allocation 17 has been revoked.
strata: job 17 was cancelled'
asked "$body"'["command"][4:] == ["/bin/sh"] and '"$body"'["name"] == "interactive" and '"$body"'["tasks"] == 2 and '"$body"'["time_limit"] == 600'
run strata slurm salloc -J mine sh -c 'echo $SLURM_JOB_ID'
asked "$body"'["command"][4:] == ["sh", "-c", "echo $SLURM_JOB_ID"] and '"$body"'["name"] == "mine"'
run strata slurm salloc -Q true
says ''

it 'reads its own variables, which the options win over'
serve "{$nodes, $accepted, $cancelled}"
SALLOC_TIMELIMIT=20 SALLOC_ACCOUNT=lab SBATCH_PARTITION=no run strata slurm salloc -A other true
asked "$body"'["time_limit"] == 1200 and '"$body"'["account"] == "other" and "partition" not in '"$body"

it 'allocates only'
serve "{$nodes, $accepted, \"GET /api/v1/jobs/17\": [{\"body\": $(job)}, {\"body\": $(job)}, {\"body\": $(job 'state="running"')}]}"
run strata slurm salloc --no-shell -N1
gives 0
says 'salloc: Granted job allocation 17'
asked "$body"'["command"] == ["sleep", "infinity"] and '"$body"'["output"] == "/dev/null"'

it 'refuses as Slurm does'
serve "{$nodes, \"POST /api/v1/jobs\": {\"status\": 404, \"body\": {\"error\": {\"code\": \"not_found\", \"message\": \"there is no partition 'nope'\", \"field\": \"partition\"}}}}"
run strata slurm salloc -p nope true
gives 1
says "salloc: error: invalid partition specified: nope
salloc: error: Job submit/allocate failed: Invalid partition name specified
strata: there is no partition 'nope'"
run strata slurm salloc --nosuch
gives 255
says "salloc: unrecognized option '--nosuch'
Try \"salloc --help\" for more information"
run strata slurm salloc --help
gives 0
prints_some '--no-shell'
[ -z "$(ls -d "$top"/strata-console-* 2>/dev/null)" ] || problem 'a directory is left'
