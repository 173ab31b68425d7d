#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'shows every GPU and who has it'
serve '{"GET /api/v1/gpus": {"body": {"gpus": [
	{"node": "n1", "index": 0, "type": "a100", "uuid": null, "memory_bytes": 85899345920, "numa": 0, "free": 0.5, "jobs": [17, 18], "reservations": []},
	{"node": "n1", "index": 1, "type": "a100", "uuid": null, "memory_bytes": 85899345920, "numa": 1, "free": 0, "jobs": [], "reservations": ["theirs-7"]}]}}}'
run strata gpus
gives 0
prints 'NODE  GPU  TYPE  MEMORY  NUMA  FREE  JOBS   RESERVED FOR  UUID
n1      0  a100  80 GiB     0  50 %  17 18  -             -
n1      1  a100  80 GiB     1   0 %  -      theirs-7      -'
run strata gpus --json
prints_json 'len(d["gpus"]) == 2'

it 'says that there are none'
serve '{"GET /api/v1/gpus": {"body": {"gpus": []}}}'
run strata gpus
gives 0
says_some 'no node has GPUs'
