#!/bin/sh
# Within a job: the variables that the job would have are set here. Jobs of its own, on a service: slurm_run.py.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

routes="{\"GET /api/v1/jobs/7\": {\"body\": $(job id=7 'gpu_ids={"n001": [0, 1], "n002": [2, 3]}')},
	\"GET /api/v1/topology\": {\"body\": {\"nodes\": [{\"name\": \"n001\", \"gpus\": [{\"index\": 0}, {\"index\": 1}]},
	{\"name\": \"n002\", \"gpus\": [{\"index\": 8}, {\"index\": 9}, {\"index\": 10}, {\"index\": 11}]}]}},
	\"POST /api/v1/jobs/7/steps\": {\"status\": 201, \"body\": {\"id\": 7, \"number\": 5}}, \"PATCH /api/v1/jobs/7/steps/5\": {\"body\": {}}}"
export SLURM_JOB_ID=7 SLURM_JOB_NODELIST='n[001-002]' SLURM_NNODES=2 SLURM_NTASKS=4 SLURM_TASKS_PER_NODE='2(x2)' SLURM_JOB_CPUS_PER_NODE='8(x2)'
unset SLURM_NTASKS_PER_NODE SLURM_GPUS_PER_TASK 2>/dev/null
sorted() {
	out=$(printf '%s\n' "$out" | sort)
}

it 'runs the tasks of a step, node by node'
serve "$routes"
run strata slurm srun --label sh -c 'echo $SLURM_PROCID $SLURM_LOCALID $SLURM_NODEID $SLURMD_NODENAME $SLURM_NTASKS $SLURM_STEP_ID $CUDA_VISIBLE_DEVICES'
gives 0
says ''
sorted
prints '0: 0 0 0 n001 4 5 0,1
1: 1 1 0 n001 4 5 0,1
2: 2 0 1 n002 4 5 10,11
3: 3 1 1 n002 4 5 10,11'
asked 'p["path"] == "/api/v1/jobs/7/steps/5" and p["body"].items() >= {"exit_code": 0, "exit_signal": 0, "cancelled": False}.items() and p["body"]["memory_peak_bytes"] > 0'
asked '[x["body"] for x in r if x["method"] == "POST"][0]["tasks"] == 4'

it 'gives each task its GPUs'
serve "$routes"
run strata slurm srun -l --gpus-per-task=1 sh -c 'echo $CUDA_VISIBLE_DEVICES'
sorted
prints '0: 0
1: 1
2: 10
3: 11'

it 'takes a part of the job'
serve "$routes"
run strata slurm srun -N1 -n2 -w n002 sh -c 'echo $SLURMD_NODENAME $SLURM_STEP_NODELIST $SLURM_STEP_TASKS_PER_NODE $SLURM_NNODES'
gives 0
prints 'n002 n002 2 1
n002 n002 2 1'
run strata slurm srun -n1 sh -c 'echo $SLURM_NTASKS'
prints 1
says "srun: warning: can't run 1 processes on 2 nodes, setting nnodes to 1"

it 'tells of ends as Slurm does, and ends with the highest code'
serve "$routes"
run strata slurm srun sh -c 'exit $((SLURM_PROCID / 2 * 3))'
gives 3
says 'srun: error: n002: tasks 2-3: Exited with exit code 3'
asked 'p["body"]["exit_code"] == 3'
run strata slurm srun -N1 -n1 sh -c 'kill -9 $$'
gives 137
says 'srun: error: n001: task 0: Killed'
asked 'p["body"].items() >= {"exit_code": 0, "exit_signal": 9, "cancelled": True}.items() and p["body"]["memory_peak_bytes"] > 0'
run strata slurm srun -N1 -n1 nosuchcmd
gives 2
says 'slurmstepd: error: execve(): nosuchcmd: No such file or directory
srun: error: n001: task 0: Exited with exit code 2'
run strata slurm srun -K sh -c '[ $SLURM_PROCID = 1 ] && exit 5; exec sleep 60'
gives 5
says_some 'srun: Terminating StepId=7.5'

it 'writes where it is told, in the directory and environment it is told'
serve "$routes"
mkdir sub
A=1 B=2 run strata slurm srun -o 'out-%j.%s-%t' --chdir=sub --export=A,C=3 sh -c 'echo ${PWD##*/} $A$B$C'
gives 0
prints ''
[ "$(cat out-7.5-0 out-7.5-3)" = 'sub 13
sub 13' ] || problem "the files have: $(cat out-*)"

it 'refuses as Slurm does'
serve "$routes"
run strata slurm srun -n 100 true
gives 1
says 'srun: error: Unable to create step for job 7: More processors requested than permitted'
run strata slurm srun -w n009 true
gives 1
says 'srun: error: Unable to create step for job 7: Requested node configuration is not available'
run strata slurm srun --nosuch true
gives 255
says "srun: unrecognized option '--nosuch'
Try \"srun --help\" for more information"
run strata slurm srun
gives 1
says 'srun: fatal: No command given to execute.'
run strata slurm srun --multi-prog all.conf
gives 1
says 'srun: error: Could not open multi_prog config file all.conf'

it 'warns of options without effect, once'
serve "$routes"
run strata slurm srun -N1 -n1 --mpi=none --mpi=pmix --resv-ports -K true
gives 0
says 'srun: warning: no effect here: --mpi, --resv-ports'
run strata slurm srun -N1 -n1 -Q --mpi=pmix true
says ''

it 'gives steps side by side GPUs of their own'
serve "$routes"
: >"$top/token"
export STRATA_TOKEN_FILE=$top/token
steps=
for i in 1 2 3 4; do
	strata slurm srun --exact -N1 -n1 --gpus=1 sh -c 'echo $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES; sleep 2' >>all 2>>said &
	steps="$steps $!"
done
wait $steps
run sort all
prints 'n001 0
n001 1
n002 10
n002 11'
run cat said
prints ''

it 'lets a step wait for what another one has'
serve "$routes"
strata slurm srun -n1 -N1 sh -c 'touch begun; sleep 1; echo first >>order' &
step=$!
while [ ! -e begun ]; do sleep 0.05; done
run strata slurm srun -n1 -N1 -w n001 sh -c 'echo second >>order'
gives 0
says_some 'srun: Job 7 step creation temporarily disabled, retrying (Requested nodes are busy)'
says_some 'strata: another step has these CPUs or GPUs; --exact takes only what is asked for, --overlap shares'
wait $step
run cat order
prints 'first
second'

it 'does not wait with --overlap, nor where there is room'
serve "$routes"
strata slurm srun --exact -n2 -N2 -c4 sh -c 'touch begun; sleep 3' &
step=$!
while [ ! -e begun ]; do sleep 0.05; done
run strata slurm srun --overlap -n1 -N1 true
says ''
run strata slurm srun --exact -n2 -N2 -c4 true
says ''
run strata slurm srun --exact -n2 -N2 -c5 true
says_some 'temporarily disabled'
wait $step

it 'waits for nobody who was killed'
serve "$routes"
strata slurm srun -n1 -N1 -w n001 sh -c 'echo $$ >task; exec sleep 60' 2>said &
step=$!
while [ ! -s task ]; do sleep 0.05; done
kill -9 $step
wait $step 2>said
run strata slurm srun -N2 -n2 true
gives 0
says ''
kill "$(cat task)"
unset STRATA_TOKEN_FILE

it 'refuses a step that its job could never hold'
serve "$routes"
run strata slurm srun -N1 -n1 --gpus=3 true
gives 1
says 'srun: error: Unable to create step for job 7: Requested node configuration is not available'
