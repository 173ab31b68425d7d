#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'shows them, their use and their limits'
serve '{"GET /api/v1/accounts": {"body": {"accounts": [{"name": "ann", "parent": "lab", "weight": 2, "limits": {"jobs": 0, "waiting": 10, "gpus": 4, "gpu_hours": 0},
	"gpu_hours": 1.5, "factor": 0.7, "running": 1, "waiting": 2, "gpus": 1}]}}}'
run strata accounts
gives 0
prints 'NAME  PARENT  WEIGHT  FAIR SHARE  RUNNING  WAITING  GPUS  GPU HOURS  AT MOST
ann   lab          2         0.7        1        2     1        1.5  4 GPUs, 10 waiting'
run strata accounts --json
prints_json 'd["accounts"][0]["weight"] == 2'

it 'says that there are none'
serve '{"GET /api/v1/accounts": {"body": {"accounts": []}}}'
run strata accounts
gives 0
prints ''
says_some 'yet'
