#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'shows them and their time limits'
serve '{"GET /api/v1/partitions": {"body": {"partitions": [{"name": "short", "default": true, "state": "drain", "priority": 0, "time_limit_s": 600, "time_limit_max_s": 3600}]}}}'
run strata partitions
gives 0
prints 'NAME   DEFAULT  STATE  PRIORITY  TIME LIMIT  AT MOST
short  yes      drain         0         10m       1h'

it 'says that there are none'
serve '{"GET /api/v1/partitions": {"body": {"partitions": []}}}'
run strata partitions
gives 0
says_some 'anywhere'
