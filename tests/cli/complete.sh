#!/bin/sh
. "$(dirname "$0")/lib.sh"

it 'offers commands, but not the hidden ones'
run strata complete ''
gives 0
prints_some 'noise	'
prints_not 'manual'
run strata complete ver
prints 'version	show the version, and with --json how it was built'

it 'offers the flags of the command and the global ones'
run strata complete noise --
prints_some '--seed	the seed'
prints_some '--json	'

it 'offers what an operand may be'
run strata complete noise t
prints 'torch	torch.randn on the CPU'
run strata complete classes backe
gives 0
prints_some 'backend'
run strata complete classes noi
prints_some 'noise'

it 'offers nothing for the value of a number'
run strata complete noise --seed ''
prints ''

it "offers Slurm's commands and their options"
run strata complete slurm sq
prints 'squeue	show jobs that wait and run'
run strata complete slurm squeue --sta
prints '--start	when waiting jobs are expected to start
--state	jobs in these states: PD,R, all
--states	jobs in these states: PD,R, all'
run strata complete slurm ls sp
prints "sprio	show what makes jobs' priorities"

. "$(dirname "$0")/service.sh"

it 'offers jobs, nodes and names of the service'
serve "{\"GET /api/v1/queue\": {\"body\": {\"jobs\": [$(job), $(job id=21 array_id=20 array_index=2 elements=3 index_step=1 'name="sweep"')]}},
	\"GET /api/v1/nodes\": {\"body\": {\"nodes\": [{\"name\": \"n1\", \"state\": \"up\"}, {\"name\": \"n2\", \"state\": \"drained\"}]}},
	\"GET /api/v1/partitions\": {\"body\": {\"partitions\": [{\"name\": \"gpu\", \"state\": \"up\"}]}}}"
run strata complete cancel ''
gives 0
prints '17	train, queued
20_[2-4]	sweep, queued'
run strata complete show 17 20
prints '20_[2-4]	sweep, queued'
run strata complete nodes drain ''
prints 'n1	up
n2	drained'
run strata complete submit --partition ''
prints 'gpu	up'
run strata complete submit -p g
prints 'gpu	up'

it 'offers nothing, quietly, where no service answers'
STRATA_SOCKET=$PWD/none run strata complete cancel ''
gives 0
prints ''
says ''
