#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'shows the models'
serve '{"GET /api/v1/models": [{"body": {"models": ['"$(model)"', '"$(model 'name="sdxl"' 'folder="/srv/sdxl"' paused=true)"', '"$(model 'name="sd3"' 'folder="/srv/sd3"' 'trouble="no worker: job 7 failed"')"']}}, {"body": {"models": []}}]}'
run strata models
gives 0
prints 'NAME    BACKEND  WORKERS   PENDING  RUNNING  STATE                    FOLDER
digits  native   1 of 0-1        3        2  ready                    built in
sdxl    native   1 of 0-1        3        2  paused                   /srv/sdxl
sd3     native   1 of 0-1        3        2  no worker: job 7 failed  /srv/sd3'
run strata models
gives 0
says_some 'strata models add NAME DIR'
run strata models --json
prints_json 'd["models"] == []'
