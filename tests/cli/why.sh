#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'says why a job waits, in sentences'
serve '{"GET /api/v1/jobs/17/why": {"body": {"id": 17, "state": "queued", "reason": "priority", "sentences": ["Two jobs are before it.", "It needs 4 GPUs of one node."],
	"expected_start_at": "2000-01-01T14:05:00Z", "expected_node": "n3", "expected_node_count": 3, "promised": true}}}'
run strata why 17
gives 0
prints 'Two jobs are before it.
It needs 4 GPUs of one node.
It starts by 2000-01-01 14:05 on n3 and 2 more; nothing that comes later delays it.'
run strata why 17 --json
prints_json 'd["reason"] == "priority"'

it 'knows no job that is not there'
serve '{}'
run strata why 99
gives 3

it 'says the same of a task'
serve '{"GET /api/v1/tasks/3/why": {"body": {"id": 3, "status": "pending", "reason": "line", "text": "4 tasks are before it", "ahead": 4, "trouble": "no worker: job 7 failed"}}}'
run strata why T3
gives 0
prints '4 tasks are before it
no worker: job 7 failed'
run strata why T3 --json
prints_json 'd["ahead"] == 4'
