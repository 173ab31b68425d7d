#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"
TZ=UTC
export TZ

it 'keeps whole nodes'
serve '{"PUT /api/v1/reservations/disks": {"body": {"name": "disks", "from": "2030-03-01T22:00:00Z", "to": "2030-03-02T00:00:00Z"}}}'
run strata reservations set disks --nodes 'n1,n[3-4]' --from 2030-03-01T22:00 --for 2h --reason 'new disks'
gives 0
prints 'reservation disks: from 2030-03-01 22:00 to 2030-03-02 00:00'
asked 'p["body"] == {"nodes": ["n1,n[3-4]"], "from": "2030-03-01T22:00:00Z", "duration": 7200, "reason": "new disks", "repeat": "no", "users": [], "accounts": []}'

it 'keeps single GPUs for some, again and again'
serve '{"PUT /api/v1/reservations/disks": {"body": {"name": "disks", "from": "2030-03-01T22:00:00Z", "to": "2030-03-02T00:00:00Z"}}}'
run strata reservations set disks --gpus n1:0,1,n2:3 --to 2030-03-02 --users ann,bob --accounts lab --repeat daily
gives 0
asked 'p["body"]["gpus"] == [{"node": "n1", "gpu_ids": [0, 1]}, {"node": "n2", "gpu_ids": [3]}] and p["body"]["users"] == ["ann", "bob"] and p["body"]["repeat"] == "daily"'

it 'says what is wrong with a value'
run strata reservations set disks --gpus 1
gives 2
says "strata: --gpus '1' is not a node and a number; expected n1:0,1"
run strata reservations set disks --gpus n1:x
gives 2
run strata reservations set disks --nodes n1 --from sometime --for 2h
gives 2
says "strata: --from 'sometime' is not a time; expected 22:00, tomorrow, now+2hours or 2026-12-24T08:00"
run strata reservations set disks --nodes n1 --for 2
gives 2
run strata reservations set disks --repeat hourly
gives 2
says_some 'expected one of no, daily or weekly'
run strata reservations set
gives 2
