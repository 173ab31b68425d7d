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
