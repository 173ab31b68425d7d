#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'changes what was named and nothing else'
serve '{"PATCH /api/v1/partitions/short": {"body": {"name": "short"}}}'
run strata partitions set short --default --time-limit 10m
gives 0
prints 'short is changed'
asked 'p["body"] == {"default": True, "time_limit": 600}'
