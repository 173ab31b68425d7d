#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'shows them and their limits'
serve '{"GET /api/v1/qos": {"body": {"qos": [{"name": "urgent", "priority": 100, "usage_factor": 2, "limits": {"gpus": 8}}]}}}'
run strata qos
gives 0
prints 'NAME    PRIORITY  USAGE COUNTS  AT MOST
urgent       100             2  8 GPUs'
run strata qos --json
prints_json 'd["qos"][0]["priority"] == 100'
