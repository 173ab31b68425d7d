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

it 'makes the nodes that go with it'
run strata sim workload --model gpu:gpus=64:gpus_per_node=8:load=1:picky=0.5:cpu_only=0.1 --jobs 2000 -o gpu.swf --nodes-out nodes.csv
gives 0
run head -n 2 nodes.csv
prints 'sn,cpu_milli,memory_mib,gpu,model
gpu-0001,128000,786432,8,A100'
run strata sim cluster gpu.swf --nodes nodes.csv --json
gives 0
prints_json 'd["jobs"] == 2000 and d["impossible"] == 0 and 0.3 < d["utilization"] <= 1'
run strata sim workload --model lublin --jobs 10 -o made.swf --nodes-out nodes.csv
gives 2
says_some 'the jobs of model lublin are for a flat pool; it has no nodes'

it 'guesses at models and options'
run strata sim workload --model lubin
gives 3
says_some "did you mean 'lublin'?"
run strata sim workload --jobs 0
gives 2
says_some '--jobs is 0; expected 1 to'

it 'says where it cannot write'
for option in -o --nodes-out; do
	run strata sim workload --model gpu --jobs 10 "$option" /nowhere/out.svg
	gives 3
	says 'strata: cannot open the directory of /nowhere/out.svg: No such file or directory'
done
