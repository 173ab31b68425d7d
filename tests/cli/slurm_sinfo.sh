#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"
. "$(dirname "$0")/slurm_service.sh"

it 'shows partitions and the states of their nodes'
serve_slurm
run strata slurm sinfo
gives 0
says ''
prints 'PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST
gpu*         up 1-00:00:00      1  drain n2
gpu*         up 1-00:00:00      1    mix n1
long         up 7-00:00:00      1    mix n1'

it 'sums up, and lists node by node'
serve_slurm
run strata slurm sinfo -h -s
prints 'gpu*         up 1-00:00:00          1/0/1/2 n[1-2]
long         up 7-00:00:00          1/0/0/1 n1'
run strata slurm sinfo -N -h -p gpu -o '%N %t %T %C %G %f %z'
prints 'n1 mix mixed 4/4/0/8 gpu:a100:4 fast 1:4:2
n2 drain drained 0/0/8/8 (null) (null) 1:4:2'
run strata slurm sinfo -h -N -n n1 -O nodelist:4,gresused:24,statelong:6
prints 'n1  gpu:a100:2(IDX:0-1)     mixed '

it 'says why nodes are out of use'
serve_slurm
run strata slurm sinfo -R
prints 'REASON               USER      TIMESTAMP           NODELIST
new disk             root      2026-11-15T13:00:00 n2'

it 'sorts as asked'
serve_slurm
run strata slurm sinfo -h -S '-P,t' -o '%R %t'
prints 'long mix
gpu mix
gpu drain'

it 'picks by state and partition'
serve_slurm
run strata slurm sinfo -h -t mix -o '%R %N'
prints 'gpu n1
long n1'
run strata slurm sinfo -h -t nope
gives 1
says_some 'sinfo: error: Bad state string: "nope"'

it 'calls the partition of nodes that have none all'
serve '{"GET /api/v1/nodes": {"body": {"nodes": [{"name": "n1", "state": "up", "cpus": 8, "cpus_free": 8, "memory_bytes": 1048576, "memory_free_bytes": 1048576, "gpus": 0,
	"partitions": [], "jobs": []}]}}, "GET /api/v1/topology": {"body": {"nodes": []}}, "GET /api/v1/partitions": {"body": {"partitions": []}}}'
run strata slurm sinfo -h
prints 'all*         up   infinite      1   idle n1'

it 'has JSON'
serve_slurm
run strata slurm sinfo --json
prints_json '[n["state"] for n in d["nodes"]] == ["mixed", "idle"] and d["nodes"][1]["state_flags"] == ["DRAIN"]'
