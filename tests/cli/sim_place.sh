#!/bin/sh
. "$(dirname "$0")/lib.sh"

cluster() {
	printf 'sn,cpu_milli,memory_mib,gpu,model\na,8000,1024,2,T4\nb,8000,1024,4,V100\n' >nodes.csv
	printf 'name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\nhalf,1000,10,1,500,\ntwo,1000,10,2,1000,\nfour,1000,10,4,1000,V100\n' >pods.csv
	printf 'pod\nhalf\nhalf\ntwo\nfour\n' >seq.csv
}

it 'fills a cluster and says how much of it is used'
cluster
run strata sim place nodes.csv pods.csv seq.csv --json
gives 0
prints_json 'd["placed"] == 3 and d["alloc_milli"] == 3000 and d["capacity_milli"] == 6000 and d["alloc_percent"] == 50.0'

it 'does better when it may look at all of them first'
cluster
run strata sim place nodes.csv pods.csv seq.csv --batch --json
gives 0
prints_json 'd["placed"] == 2 and d["alloc_milli"] == 6000'

it 'takes any placement'
cluster
for placement in first_fit most_free spread fgd; do
	run strata sim place nodes.csv pods.csv seq.csv --placement $placement
	gives 0
	prints_some "$placement"
done
run strata sim place nodes.csv pods.csv seq.csv --placement bestfitt
gives 3
says_some "did you mean 'best_fit'?"

it 'names the file that is wrong'
cluster
printf 'pod\nnobody\n' >seq.csv
run strata sim place nodes.csv pods.csv seq.csv
says_some 'nobody'
run strata sim place none.csv pods.csv seq.csv
gives 3
says_some 'none.csv'
