#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'shows the nodes and what is in use'
serve '{"GET /api/v1/nodes": {"body": {"nodes": [
	{"name": "n1", "state": "up", "reason": null, "since": null, "cpus": 64, "cpus_free": 12, "memory_bytes": 68719476736, "memory_free_bytes": 34359738368,
	"gpus": 8, "gpus_free": 2.5, "gpu_type": "a100", "gpu_free": [], "features": [], "partitions": [], "jobs": [17, 18]},
	{"name": "n2", "state": "drained", "reason": "new disk", "cpus": 8, "cpus_free": 8, "memory_bytes": 1024, "memory_free_bytes": 1024, "gpus": 0,
	"gpus_free": 0, "gpu_type": null, "jobs": []}]}}}'
run strata nodes
gives 0
prints 'NODE  STATE    GPUS            TYPE   CPUS         MEMORY  JOBS   NOTE
n1    up       ██████░░ 5.5/8  a100  52/64  32 GiB/64 GiB  17 18  -
n2    drained  -               -       0/8      0 B/1 KiB  -      new disk'
run strata nodes --json
prints_json 'd["nodes"][0]["name"] == "n1"'

it 'shows features, partitions and reservations where there are any'
serve '{"GET /api/v1/nodes": {"body": {"nodes": [
	{"name": "n1", "state": "up", "cpus": 8, "cpus_free": 8, "memory_bytes": 1024, "memory_free_bytes": 1024, "gpus": 0, "gpus_free": 0,
	"features": ["ib", "big"], "partitions": ["gpu"], "reservations": ["disks"], "jobs": []}]}}}'
run strata nodes
prints 'NODE  STATE  GPUS  TYPE  CPUS     MEMORY  FEATURES  PARTITIONS  RESERVED  JOBS  NOTE
n1    up     -     -      0/8  0 B/1 KiB  ib big    gpu         disks     -     -'

it 'says that there are none'
serve '{"GET /api/v1/nodes": {"body": {"nodes": []}}}'
run strata nodes
gives 0
says_some 'no nodes yet'

it 'has help for itself and what stands beside it'
run strata help nodes
gives 0
prints_some 'usage: strata nodes'
prints_some 'nodes drain'
run strata complete nodes ''
prints_some 'drain	'
run strata complete node
prints 'nodes	show the machines and what is in use on them'
run strata nodes dran
gives 2
