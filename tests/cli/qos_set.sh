#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'changes what was named and nothing else'
serve '{"PATCH /api/v1/qos/urgent": {"body": {"name": "urgent"}}}'
run strata qos set urgent --priority 100 --usage-factor 2 --max-gpus 8
gives 0
prints 'urgent is changed'
asked 'p["body"] == {"priority": 100, "usage_factor": 2, "limits": {"gpus": 8}}'
run strata qos set urgent --default --open --raise-priority
asked 'p["body"] == {"default": True, "open": True, "raise_priority": True}'
run strata qos set urgent --weight 2
gives 2
