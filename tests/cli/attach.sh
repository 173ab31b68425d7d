#!/bin/sh
# What is refused, and jobs without a terminal; the others: tests/api/test_interactive.py.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'shows what a job writes that has no terminal'
serve "{\"GET /api/v1/jobs/17\": [{\"body\": $(job 'state="running"')}, {\"body\": $(job 'state="failed"' exit_code=4)}],
	\"GET /api/v1/jobs/17/output\": [{\"text\": \"step 1\\n\"}, {\"text\": \"\"}]}"
run strata attach 17
gives 4
prints 'step 1'
says 'strata: job 17 has no terminal; this is what it writes, and Ctrl-C leaves it running'
asked '"follow=1" in [x for x in r if x["path"].endswith("/output")][0]["query"]'

it 'takes elements of an array'
serve "{\"GET /api/v1/jobs/35_2\": {\"body\": $(job id=37 'state="completed"')}}"
run strata attach 35_2
gives 6
says_some 'job 35_2 has ended; `strata show 35_2` tells how, `strata logs 35_2` shows what it wrote'

it 'is not for terminals of others'
serve "{\"GET /api/v1/jobs/17\": {\"body\": $(job 'state="running"' uid=4242 'command=["strata", "console", "/tmp/somewhere", "-", "sh"]')}}"
run strata attach 17
gives 4
says "strata: job 17 is ann's, and only ann can sit at it"

it 'does not believe a directory that is not its own'
mkdir place
chmod 755 place
serve "{\"GET /api/v1/jobs/17\": {\"body\": $(job 'state="running"' "uid=$(id -u)" 'command=["strata", "console", "'"$PWD/place"'", "-", "sh"]')}}"
run strata attach 17
gives 4
says "strata: $PWD/place is not a directory of this user alone"

it 'needs a job'
serve '{}'
run strata attach
gives 2
run strata attach 99
gives 3
run strata attach 1 2
gives 2
STRATA_SOCKET=$PWD/none run strata attach 17
gives 5
