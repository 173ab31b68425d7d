#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'shows what is reserved, for whom and when'
serve '{"GET /api/v1/reservations": {"body": {"reservations": [
	{"name": "disks", "user": "op", "reason": "new disks", "from": "2026-03-01T22:00:00Z", "to": "2026-03-02T00:00:00Z", "repeat": "no", "active": false,
	"nodes": ["n1", "n2"], "gpus": [], "users": [], "accounts": []},
	{"name": "course", "user": "op", "reason": null, "from": "2026-03-01T08:00:00Z", "to": "2026-03-01T18:00:00Z", "repeat": "weekly", "active": false,
	"nodes": [], "gpus": [{"node": "n3", "gpu_ids": [0, 1]}], "users": ["ann"], "accounts": ["lab"]},
	{"job_id": "theirs", "user": "op", "since": "2026-03-01T08:00:00Z", "until": null, "pieces": [{"node": "n4", "gpu_ids": [2]}]}]}}}'
TZ=UTC
export TZ
run strata reservations
gives 0
prints 'NAME    FROM              TO                REPEAT  NODES    FOR               REASON
disks   2026-03-01 22:00  2026-03-02 00:00  no      n1, n2   -                 new disks
course  2026-03-01 08:00  2026-03-01 18:00  weekly  n3:0,1   ann, account lab  -
theirs  2026-03-01 08:00  -                 -       n4:2     others\' work     -'
run strata reservations --json
prints_json 'd["reservations"][0]["name"] == "disks"'

it 'says that there are none'
serve '{"GET /api/v1/reservations": {"body": {"reservations": []}}}'
run strata reservations
gives 0
says_some 'nothing is reserved'
