#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

page='{"body": {"events": [{"sequence": 7, "at": "2000-01-01T14:05:00Z", "job": 17, "kind": "job.scheduled", "about": {"attempt": 1, "node": "n1"}}]}}'

it 'shows what has happened'
serve "{\"GET /api/v1/events\": [$page, {\"body\": {\"events\": []}}]}"
run strata events --after 3 -n 5
gives 0
prints 'NUMBER  TIME              JOB  WHAT           ABOUT
     7  2000-01-01 14:05   17  job.scheduled  attempt: 1; node: n1'
asked 'p["query"] == "format=json&after=3&limit=5"'
run strata events
gives 0
says_some 'there are no events yet'

event() { printf 'id: %s\\nevent: job.started\\ndata: {\\"sequence\\": %s, \\"at\\": \\"2000-01-01T14:06:00Z\\", \\"job\\": 17, \\"kind\\": \\"job.started\\", \\"about\\": {\\"node\\": \\"n1\\"}}\\n\\n' "$1" "$1"; }

it 'follows as the server sends, and goes on behind the last one it has seen'
serve "{\"GET /api/v1/events\": [$page, {\"chunks\": [\"retry: 1000\\n\\n\", \"$(event 8)$(event 9)\"], \"break\": true}, {\"chunks\": [\": here\\n\\n$(event 9)\", \"$(event 10)\"]},
	{\"status\": 500, \"body\": null}]}"
run strata events -f --interval 5ms
gives 1
prints_some 'job.scheduled'
prints_some '     8  2000-01-01 14:06     17  job.started  node: n1'
[ "$(printf '%s\n' "$out" | grep -c job.started)" = 3 ] || problem "$out"
says_some 'waiting for it'
asked '[q["query"] for q in r] == ["format=json&last=100&limit=100", "after=7", "after=9", "after=10"]'
serve "{\"GET /api/v1/events\": [{\"body\": {\"events\": []}}, {\"chunks\": [\"$(event 8)\"]}, {\"status\": 500, \"body\": null}]}"
run strata events -f --json --interval 5ms
gives 1
[ "$(printf '%s\n' "$out" | head -n 1 | cut -c 1-15)" = '{"sequence":8,"' ] || problem "$out"

it 'follows a real service'
unserve
export STRATA_SOCKET=$PWD/s/strata.sock
strata serve --state "$PWD/s" --node n:cpus=1 2>log &
server=$!
for _ in $(seq 100); do [ -S s/strata.sock ] && break; sleep 0.1; done
strata events -f --json >seen 2>/dev/null &
reader=$!
run strata submit --quiet --wait -D / -o /dev/null true
gives 0
for _ in $(seq 100); do grep -q completed seen && break; sleep 0.1; done
kill "$reader"
run grep -c '"job":1,' seen
gives 0
