#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

ran="$(job id=18 'name="train"' 'state="completed"' 'submitted_at="2000-01-01T14:00:00Z"' 'started_at="2000-01-01T14:00:00Z"' 'ended_at="2000-01-01T15:00:00Z"' exit_code=0 cpus=4 cpu_user_ms=7000000 cpu_system_ms=200000 memory_bytes=1073741824 memory_peak_bytes=536870912 gpus=2)"
died="$(job id=17 'name="eval"' 'state="failed"' 'submitted_at="2000-01-01T13:00:00Z"' 'started_at="2000-01-01T13:00:00Z"' 'ended_at="2000-01-01T15:30:00Z"' exit_signal=9 gpus=0)"

it 'shows what has ended, with how busy it was'
serve '{"GET /api/v1/jobs": {"body": {"jobs": ['"$ran, $died"'], "next": null}}}'
run strata jobs
gives 0
prints 'ID  NAME   USER  STATE      STARTED           ELAPSED  GPUS   CPU            PEAK      EXIT
18  train  ann   completed  2000-01-01 14:00       1h     2  50 %  512 MiB (50 %)         0
17  eval   ann   failed     2000-01-01 13:00   2h 30m     0     -               -  signal 9'
asked 'p["query"] == "limit=25"'

it 'asks for what is wanted'
serve '{"GET /api/v1/jobs": {"body": {"jobs": [], "next": null}}}'
run strata jobs --user ann --account lab --partition gpu --state failed,cancelled --name 'train*' --since 2000-01-01T00:00:00Z --until 2000-01-02T00:00:00Z --limit 7
gives 0
asked 'p["query"] == "limit=7&user=ann&account=lab&partition=gpu&state=failed,cancelled&name=train%2A&since=2000-01-01T00:00:00Z&until=2000-01-02T00:00:00Z"'
says_some 'there is no such job; `strata jobs` shows the newest of all'

it 'sorts, turns round and chooses columns'
serve '{"GET /api/v1/jobs": {"body": {"jobs": ['"$ran, $died"'], "next": null}}}'
run strata jobs --sort elapsed --format id,elapsed
gives 0
prints 'ID  ELAPSED
17   2h 30m
18       1h'
asked 'p["query"] == "limit=1000"'
run strata jobs --sort elapsed --limit 1 --format id
gives 0
prints 'ID
17'
says_some 'these are the first 1 of 2; --limit 0 shows all'
run strata jobs --sort gpus --reverse --format ID
gives 0
prints 'ID
17
18'
run strata jobs --format id,elapsd
gives 2
says_some "--format has 'elapsd', which is no column; did you mean ELAPSED?"
run strata jobs --format ,
gives 2
run strata jobs --me --user ann
gives 2
says_some '--me and --user do not go together'
run strata jobs --json
gives 0
prints_json '[j["id"] for j in d["jobs"]] == [18, 17]'

it 'goes on page by page, as far as is wanted'
serve '{"GET /api/v1/jobs": [{"body": {"jobs": ['"$ran"'], "next": 18}}, {"body": {"jobs": ['"$died"'], "next": null}}]}'
run strata jobs --limit 0 --format id
gives 0
prints 'ID
18
17'
asked 'p["query"] == "limit=1000&after=18"'
serve '{"GET /api/v1/jobs": {"body": {"jobs": ['"$ran, $died"'], "next": 17}}}'
run strata jobs --limit 2 --format id
gives 0
says_some 'these are the newest 2; --limit 0 shows all'
