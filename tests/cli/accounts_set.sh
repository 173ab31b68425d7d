#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'changes what was named and nothing else'
serve '{"PATCH /api/v1/accounts/ann": {"body": {"name": "ann"}}}'
run strata accounts set ann --weight 2 --parent lab --max-gpus 4 --max-gpu-hours 1.5
gives 0
prints 'ann is changed'
asked 'p["body"] == {"weight": 2, "parent": "lab", "limits": {"gpus": 4, "gpu_hours": 1.5}}'
run strata accounts set ann --allowed-qos fast --raise-priority
asked 'p["body"] == {"allowed_qos": ["fast"], "raise_priority": True}'
run strata accounts set ann --max-jobs 0
asked 'p["body"] == {"limits": {"jobs": 0}}'

it 'asks for something to change'
serve '{}'
run strata accounts set ann
gives 2
says 'strata: nothing is to be set; expected an option, as `strata help accounts set` lists them'
run strata accounts set ann --weight 0
gives 2
asked 'len(r) == 0'
