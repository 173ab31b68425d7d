#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'shows what runs and what waits'
serve '{"GET /api/v1/queue": {"body": {"at": "2026-11-15T14:00:00Z", "counts": {}, "jobs": [
	'"$(job id=12 'state="running"' 'reason=null' 'reason_text=null' 'node_names=["n1"]' 'started_at="2000-01-01T00:00:00Z"' gpus=4)"',
	'"$(job 'expected_start_at="2000-01-01T14:05:00Z"' 'expected_node="n3"')"',
	'"$(job id=18 'name="sweep"' array_id=16 array_index=3 elements=5 index_step=2 'reason="held"' 'reason_text="held by its owner or an operator"')"',
	'"$(job id=19 'expected_start_at="2000-01-01T14:06:00Z"' promised=true)"']}}}'
run strata queue
gives 0
says ''
prints_some 'ID  NAME   USER  STATE    NODES OR WHY                           GPUS'
prints_some '        12  train  ann   running  n1                                        4'
prints_some '0 s left'
prints_some '17  train  ann   queued   it is next; what it needs is not free     1'
prints_some '≈ 2000-01-01 14:05'
prints_some 'by 2000-01-01 14:06'
prints_some '16_[3-11:2]  sweep  ann   held     held by its owner'
asked 'len(r) == 1 and p["method"] == "GET" and p["query"].startswith("collapse=1&fields=id,name,")'

it 'prints what the server says with --json'
serve '{"GET /api/v1/queue": {"body": {"jobs": [], "counts": {"queued": 0}, "new": true}}}'
run strata queue --json
gives 0
prints_json 'd == {"jobs": [], "counts": {"queued": 0}, "new": True}'
asked 'p["query"] == ""'

it 'asks for a part of it'
serve '{"GET /api/v1/queue": {"body": {"jobs": []}}}'
run strata queue --user 'ann b' --state queued,running --limit 5
gives 0
prints ''
says_some '`strata queue` shows all'
asked 'p["query"].startswith("user=ann%20b&state=queued,running&limit=5&collapse=1&fields=")'
run strata queue --me
asked 'p["query"].startswith("user='"$(id -un)"'&collapse=1&fields=")'
run strata queue --elements
asked 'p["query"].startswith("fields=")'

it 'says kindly that there is nothing'
serve '{"GET /api/v1/queue": {"body": {"jobs": []}}}'
run strata queue
gives 0
prints ''
says 'strata: nothing is queued or running; `strata submit -- COMMAND` adds a job'

it 'fits the terminal, in colour'
serve '{"GET /api/v1/queue": {"body": {"jobs": ['"$(job 'name="a-name-that-is-much-longer-than-anybody-needs-it-to-be"')"']}}}'
run script -qec 'stty cols 80; strata queue' /dev/null
gives 0
prints_some "$(printf '\033[33mqueued')"
prints_some '…'
printf '%s\n' "$out" | sed 's/\x1b\[[0-9]*m//g' | tr -d '\r' | awk 'length($0) > 82 { exit 1 }' || problem "wider than the terminal: $out"

it 'shows local time'
serve '{"GET /api/v1/queue": {"body": {"jobs": ['"$(job 'expected_start_at="2000-01-01T14:05:00Z"')"']}}}'
TZ=XXX-5:30 run strata queue
prints_some '≈ 2000-01-01 19:35'

it 'says how to start a server where there is none'
STRATA_SOCKET=$PWD/none run strata queue
gives 5
prints ''
says "strata: no server at $PWD/none; start one with \`strata serve\`"
STRATA_SOCKET=$PWD/none run strata queue --json
gives 5
prints_json 'd["error"]["code"] == "unavailable"'
unset STRATA_SOCKET
XDG_RUNTIME_DIR=$PWD/run run strata queue
says_some 'start one with `strata serve`'

it 'takes the socket by flag, variable, file, in this order'
serve '{"GET /api/v1/queue": {"body": {"jobs": []}}}'
good=$STRATA_SOCKET
STRATA_SOCKET=$PWD/none run strata queue --socket "$good"
gives 0
run strata queue --server http://127.0.0.1:1 # a flag beats the variable
gives 5
unset STRATA_SOCKET
run strata queue --server http://127.0.0.1:1
gives 5
says_some 'no server at http://127.0.0.1:1'
printf 'socket = %s\n' "$good" >strata.ini
run strata queue --config strata.ini
gives 0
mkdir -p run/strata && ln -s "$good" run/strata/strata.sock
[ -e /run/strata/strata.sock ] || { XDG_RUNTIME_DIR=$PWD/run run strata queue; gives 0; }

it 'uses a token over TCP, from a file that nobody else may read'
unset STRATA_SOCKET
serve '{"GET /api/v1/queue": {"body": {"jobs": []}}}' 0
url=http://127.0.0.1:$(cat port)
STRATA_TOKEN=strata_secret run strata queue --server "$url/"
gives 0
asked 'p["headers"]["authorization"] == "Bearer strata_secret" and p["path"] == "/api/v1/queue"'
mkdir -p home/.config/strata && echo strata_filed >home/.config/strata/token
chmod 640 home/.config/strata/token
STRATA_SERVER=$url run strata queue
gives 4
says_some 'others can read the token'
asked 'len(r) == 1'
chmod 600 home/.config/strata/token
STRATA_SERVER=$url run strata queue
gives 0
asked 'p["headers"]["authorization"] == "Bearer strata_filed"'
run strata queue --server tractor
gives 2
says_some 'expected http://'

it 'turns refusals into exit codes'
for pair in unauthorized:401:4 forbidden:403:4 not_found:404:3 invalid:400:2 conflict:409:6 quota:429:4 internal:500:1 unavailable:503:5; do
	IFS=: read -r code_name status exit_code <<-END
		$pair
	END
	serve '{"GET /api/v1/queue": {"status": '"$status"', "body": {"error": {"code": "'"$code_name"'", "message": "so it is", "field": null}}}}'
	run strata queue
	gives "$exit_code"
	says 'strata: so it is'
done
asked 'len(r) == 4' # the last one, unavailable, was tried again

it 'tries again when the server was busy or hung up'
serve '{"GET /api/v1/queue": [{"drop": true}, {"status": 503, "body": null}, {"body": {"jobs": []}}]}'
run strata queue
gives 0
asked 'len(r) == 3'

it 'does not take anything for an answer'
serve '{"GET /api/v1/queue": {"text": "<html>hello</html>"}}'
run strata queue
gives 1
says_some 'not JSON'

it 'shows what others called their jobs without doing what it says'
serve '{"GET /api/v1/queue": {"body": {"at": "2026-11-15T14:00:00Z", "counts": {}, "jobs": ['"$(job 'name="a\u001b[2J\u0007\nb\u202e"' 'user="\u009bx"')"']}}}'
run strata queue
gives 0
prints_some '17  a\x1b[2J\a\nb\u202e  \u009bx  queued'
run strata queue --json
prints_json 'd["jobs"][0]["name"] == "a\x1b[2J\x07\nb\u202e" and d["jobs"][0]["user"] == "\x9bx"'
printf '%s' "$out" | LC_ALL=C grep -q '[^ -~]' && problem 'the JSON has characters that cannot be seen'
run strata queue --user "$(printf 'a\033[2J')"
gives 2
says_some 'user has \x1b at byte 2'
