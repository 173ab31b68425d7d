#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"
. "$(dirname "$0")/slurm_service.sh"

it 'shows what waits and what runs'
serve_slurm
run strata slurm squeue -h -o '%.14i %.9P %.8j %.8u %.2t %.6D %R'
gives 0
says ''
prints '            17       gpu    train      ann PD      1 (Resources)
  20_[1,4,7%2]       gpu    sweep      ann PD      1 (Priority)
            12       gpu    train      ann  R      1 n1'
asked 'p["path"] == "/api/v1/partitions"'
run strata slurm squeue
prints_some '             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)'

it 'cuts at the width and aligns to the left without a dot'
serve_slurm
run strata slurm squeue -h -j 12 -o '<%3j|%8j|%.8j>%b %C %m %l'
prints '<tra|train   |   train>gres:gpu:a100:2 4 8G 2:00:00'
run strata slurm squeue -j 12 -O 'jobid:5,name:.7,state:4!'
prints 'JOBID   NAMESTAT!
12     trainRUNN!'

it 'lists the elements of an array one by one'
serve_slurm
run strata slurm squeue -h -r -n sweep -o '%i %F %K'
prints '20_1 20 1
20_4 20 4
20_7 20 7'

it 'picks and sorts'
serve_slurm
run strata slurm squeue -h -t R -o %i
prints 12
run strata slurm squeue -h -S -i -o %i
prints '20_[1,4,7%2]
17
12'
run strata slurm squeue -h -w n1 -o %i
prints 12
run strata slurm squeue -h -A lab -p gpu -o %i -j 17
prints 17
run strata slurm squeue -h -p long -o %i
prints ''

it 'reads its variables'
serve_slurm
SQUEUE_FORMAT=%i SQUEUE_STATES=R run strata slurm squeue
prints 'JOBID
12'

it 'fails as Slurm does'
serve_slurm
run strata slurm squeue -j 99
gives 1
prints ''
says 'slurm_load_jobs error: Invalid job id specified'
run strata slurm squeue -h -j 12,99 -o %i
gives 0
prints 12
run strata slurm squeue -t NOPE
gives 1
says_some 'squeue: error: Invalid job state specified: NOPE'
run strata slurm squeue -O nope
gives 1
says 'squeue: error: Invalid job format specification: nope'
run strata slurm squeue words
gives 1
says_some 'squeue: error: Unrecognized option: words'

it 'says that nobody answers, and who that would be'
STRATA_SOCKET=$PWD/none run strata slurm squeue
gives 1
says "slurm_load_jobs error: Unable to contact slurm controller (connect failure)
strata: no server at $PWD/none; start one with \`strata serve\`"

it 'tells how a job ended, for a while'
serve_slurm "$ended"
run strata slurm squeue -h -t all -j 11,99 -o '%i %t %T %r %R'
prints '11 F FAILED NonZeroExitCode (NonZeroExitCode)'
asked 'any("ended=1" in x["query"] for x in r)'
run strata slurm squeue -h -j 11,99
gives 0
prints ''
run strata slurm squeue -j 11 # a while is five minutes
gives 1
says 'slurm_load_jobs error: Invalid job id specified'

it 'tells who holds a job'
serve_slurm "$(job id=30 'reason="held"' 'request={"hold": true}'), $(job id=31 'reason="held"' 'request={"hold": true, "held_by": "operator"}')"
run strata slurm squeue -h -j 30,31 -o '%i %r %Q'
prints '30 JobHeldUser 0
31 JobHeldAdmin 0'

it 'has JSON with the names that Slurm has'
serve_slurm
run strata slurm squeue --json -j 12
gives 0
prints_json 'd["jobs"][0]["job_state"] == "RUNNING" and d["jobs"][0]["nodes"] == "n1" and d["meta"]["Slurm"]["release"] == "22.05.8"'
