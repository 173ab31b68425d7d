#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'changes what was named and nothing else'
serve '{"PATCH /api/v1/users/ann": {"body": {"name": "ann"}}}'
run strata users set ann --weight 2 --account lab --max-gpus 4 --max-gpu-hours 1.5
gives 0
prints 'ann is changed'
asked 'p["body"] == {"weight": 2, "account": "lab", "limits": {"gpus": 4, "gpu_hours": 1.5}}'
run strata users set ann --max-jobs 0
asked 'p["body"] == {"limits": {"jobs": 0}}'

run strata users set ann --account '' --allowed-accounts lab,physics --qos slow --allowed-qos fast --raise-priority
asked 'p["body"] == {"account": "", "allowed_accounts": ["lab", "physics"], "qos": "slow", "allowed_qos": ["fast"], "raise_priority": True}'
run strata users set ann --no-raise-priority
asked 'p["body"] == {"raise_priority": False}'

it 'asks for something to change'
serve '{}'
run strata users set ann
gives 2
says 'strata: nothing is to be set; expected an option, as `strata help users set` lists them'
run strata users set ann --weight 0
gives 2
asked 'len(r) == 0'
