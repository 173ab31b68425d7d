#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'changes what was named and nothing else'
serve '{"PATCH /api/v1/partitions/short": {"body": {"name": "short"}}}'
run strata partitions set short --default --time-limit 10m
gives 0
prints 'short is changed'
asked 'p["body"] == {"default": True, "time_limit": 600}'
run strata partitions set short --state drain --allowed-users ann,bob --allowed-accounts lab --allowed-qos ''
asked 'p["body"] == {"state": "drain", "allowed_users": ["ann", "bob"], "allowed_accounts": ["lab"], "allowed_qos": []}'
run strata partitions set short --state open
gives 2
says_some 'expected one of up, down, drain or inactive'
