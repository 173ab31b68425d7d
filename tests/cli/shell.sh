#!/bin/sh
# What is asked of the service; shells that run: tests/api/test_interactive.py.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"
export TMPDIR=$top

serve_failed() {
	serve "{\"POST /api/v1/jobs\": {\"status\": 201, \"body\": {\"id\": 17, \"uuid\": \"0192\", \"ids\": [17]}}, \"GET /api/v1/jobs/17\": {\"body\": $(job \
		"uid=$(id -u)" 'state="failed"' 'reason="start_failed"')}}"
}
body='[x["body"] for x in r if x["method"] == "POST"][-1]'

it 'is a job with the shell of its user'
serve_failed
SHELL=/bin/sh run strata shell --gpus 1 --time 2h
gives 1
asked "$body"'["command"][4:] == ["/bin/sh"] and '"$body"'["name"] == "sh" and '"$body"'["gpus"] == 1'
SHELL=/nosuch/shell run strata shell
asked "$body"'["command"][4:] == ["/bin/sh"]'

it 'takes no command'
serve_failed
run strata shell ls
gives 2
says_some '`strata shell` takes no arguments'
