#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'deletes them by name'
serve '{"DELETE /api/v1/reservations/disks": {"body": {"name": "disks"}}}'
run strata reservations delete disks
gives 0
prints 'disks is deleted'
run strata reservations delete nosuch
gives 3
