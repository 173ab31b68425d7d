#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'shows what a job could continue from'
serve '{"GET /api/v1/jobs/17/checkpoints": {"body": {"checkpoints": [{"path": "/c/1", "size_bytes": 1073741824, "time": "2000-01-01T14:05:00Z", "step": 100}]}},
	"DELETE /api/v1/jobs/17/checkpoints": {"body": null}}'
run strata checkpoints 17
gives 0
prints 'STEP  TIME               SIZE  PATH
 100  2000-01-01 14:05  1 GiB  /c/1'
run strata checkpoints 17 --forget
gives 0
prints 'the checkpoints of job 17 are forgotten'
asked 'p["method"] == "DELETE"'

it 'shows which are copied'
serve '{"GET /api/v1/jobs/17/checkpoints": {"body": {"checkpoints": [{"path": "/c/2", "size_bytes": 7, "time": "2000-01-01T14:05:00Z", "step": 2, "copied": false, "not_copied": null},
	{"path": "/c/1", "size_bytes": 7, "time": "2000-01-01T14:05:00Z", "step": 1, "copied": true, "not_copied": null}]}}}'
run strata checkpoints 17
gives 0
prints 'STEP  TIME              SIZE  COPIED   PATH
   2  2000-01-01 14:05   7 B  not yet  /c/2
   1  2000-01-01 14:05   7 B  yes      /c/1'

it 'says that there are none'
serve '{"GET /api/v1/jobs/17/checkpoints": {"body": {"checkpoints": []}}}'
run strata checkpoints 17
gives 0
says_some 'no checkpoints; `strata submit --checkpoint'
