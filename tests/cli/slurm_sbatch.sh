#!/bin/sh
# What Slurm prints in the same situations is compared in slurm_run.py, with a service; here is what is asked of it.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

nodes='"GET /api/v1/nodes": {"body": {"nodes": [{"name": "n001", "state": "up", "cpus": 64, "cpus_free": 64, "memory_bytes": 536870912000,
	"memory_free_bytes": 536870912000, "gpus": 8, "gpus_free": 8, "gpu_type": "a100", "features": ["nvlink"], "partitions": ["gpu"]}]}}'
accepted='"POST /api/v1/jobs": {"status": 201, "body": {"id": 17, "uuid": "0192", "ids": [17]}}'
impossible='"POST /api/v1/jobs": {"status": 201, "body": {"id": 17, "uuid": "0192", "ids": [17], "warnings": ["no node could take this job now, however empty; it waits. It asks for 99 nodes; at most 1 would be possible."]}}'
waiting="\"GET /api/v1/jobs/17\": {\"body\": $(job)}"

it 'sends script, options and environment, with the output where Slurm has it'
serve "{$nodes, $accepted, $waiting}"
printf '#!/bin/sh\n#SBATCH --ntasks-per-node=2 -N 2 --gpus-per-node=a100:4\necho "$@"\n' >train.sh
A_VARIABLE='of mine' SLURM_JOB_ID=3 run strata slurm sbatch -p gpu train.sh --epochs 3
gives 0
prints 'Submitted batch job 17'
says ''
asked 'r[-1]["body"]["arguments"] == ["--epochs", "3"] and r[-1]["body"]["output"] == "slurm-%j.out" and r[-1]["body"]["name"] == "train.sh"'
asked 'r[-1]["body"]["tasks"] == 4 and r[-1]["body"]["nodes"] == 2 and r[-1]["body"]["gpus_per_node"] == 4 and r[-1]["body"]["partition"] == "gpu"'
asked '{k: v for k, v in r[-1]["body"]["environment"].items() if k[:5] == "SLURM" or k == "A_VARIABLE"} == {"A_VARIABLE": "of mine",
	"SLURM_SUBMIT_DIR": "'"$PWD"'", "SLURM_NTASKS_PER_NODE": "2", "SLURM_GPUS_PER_NODE": "a100:4"}'

it 'sends the umask that it was called with'
serve "{$nodes, $accepted, $waiting}"
(umask 027 && strata slurm sbatch --wrap true >/dev/null)
asked 'r[-1]["body"]["umask"] == "0027"'

it 'prefers the command line to variables, and these to the script'
serve "{$nodes, $accepted, $waiting}"
printf '#!/bin/sh\n#SBATCH --time=10 --job-name=script --comment=script\n' >a.sh
SBATCH_TIMELIMIT=20 SBATCH_JOB_NAME=variable run strata slurm sbatch --job-name=word a.sh
gives 0
asked 'r[-1]["body"]["name"] == "word" and r[-1]["body"]["time_limit"] == 1200 and r[-1]["body"]["comment"] == "script"'

it 'exports what is asked for'
serve "{$nodes, $accepted, $waiting}"
A=1 B=2 run strata slurm sbatch --parsable --export=A,C=3 --wrap true
prints 17
asked '{k: v for k, v in r[-1]["body"]["environment"].items() if k[:5] != "SLURM"} == {"A": "1", "C": "3"}'

it 'says what Slurm is silent about, and nothing with --quiet'
serve "{$nodes, $impossible}"
run strata slurm sbatch -o missing/%j.out --profile=task --wrap true
gives 0
says_some 'sbatch: warning: no effect here: --profile'
says_some 'strata: --output: the directory '"$PWD"'/missing does not exist'
says_some 'strata: no node could take this job now, however empty; it waits. It asks for 99 nodes'
run strata slurm sbatch -Q -o missing/%j.out --profile=task --wrap true
prints ''
says ''

it 'drops a dependency on a job that nobody knows, and holds for one that can never be met'
serve "{$nodes, $accepted, $waiting, \"GET /api/v1/jobs/3\": {\"body\": $(job id=3 'state="failed"')}, \"GET /api/v1/jobs/4\": {\"body\": $(job id=4)}}"
run strata slurm sbatch -d afterok:99:4 --wrap true
gives 0
says_some 'job 99 is not known'
asked 'r[-1]["body"]["dependencies"] == "afterok:4" and "hold" not in r[-1]["body"]'
run strata slurm sbatch -d afterok:3 --wrap true
says_some 'job 3 has failed, so afterok can never be met'
asked 'r[-1]["body"]["hold"] is True and "dependencies" not in r[-1]["body"]'

it 'holds a job that wants more time than there is'
serve "{$nodes, \"POST /api/v1/jobs\": {\"status\": 400, \"body\": {\"error\": {\"code\": \"invalid\", \"message\": \"time_limit 9s is too long: at most 5s\", \"field\": \"time_limit\"}}}}"
run strata slurm sbatch --wrap true
gives 1
says_some 'strata: time_limit 9s is too long: at most 5s: the job is held'
says_some 'Batch job submission failed: Requested time limit is invalid'
asked 'p["body"]["hold"] is True and p["body"]["time_limit"] == "unlimited"'

it 'is refused in the words of Slurm when there is no service'
STRATA_SOCKET=$PWD/none run strata slurm sbatch --wrap true
gives 1
says_some 'sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)'
