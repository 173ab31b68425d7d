#!/bin/sh
. "$(dirname "$0")/lib.sh"

it 'makes a trace that the simulator reads'
run strata sim workload --model lublin:load=0.7 --jobs 500 --seed 3 -o made.swf
gives 0
run strata sim cluster made.swf --json
gives 0
prints_json 'd["jobs"] == 500 and 0.2 < d["utilization"] <= 1'

it 'gives the same trace for the same seed'
strata sim workload --jobs 200 --seed 9 >one.swf
strata sim workload --jobs 200 --seed 9 >two.swf
strata sim workload --jobs 200 --seed 10 >three.swf
cmp -s one.swf two.swf || problem 'the same seed gave another trace'
cmp -s one.swf three.swf && problem 'another seed gave the same trace'

it 'makes a GPU cluster'"'"'s trace'
run strata sim workload --model gpu --jobs 100 -o gpu.swf
gives 0

it 'guesses at models and options'
run strata sim workload --model lubin
gives 3
says_some "did you mean 'lublin'?"
run strata sim workload --jobs 0
gives 2
says_some '--jobs is 0; expected 1 to'
