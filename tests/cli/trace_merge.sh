#!/bin/sh
. "$(dirname "$0")/lib.sh"

event='{"name":"step","ph":"i","s":"t","ts":1,"pid":7,"tid":1}'

it 'merges files whose process numbers collide'
printf '[%s]' "$event" >a.json
printf '{"traceEvents":[%s]}' "$event" >b.json
run strata trace merge a.json b.json -o both.json
gives 0
run cat both.json
prints_json 'len(d["traceEvents"]) == 2 and len({e["pid"] for e in d["traceEvents"]}) == 2'

it 'writes to standard output when no file is named'
printf '[%s]' "$event" >a.json
run strata trace merge a.json
gives 0
prints_json 'len(d["traceEvents"]) == 1'

it 'names the file and place of a mistake, and leaves nothing behind'
printf '{"traceEvents":[%s' "$event" >bad.json
run strata trace merge bad.json -o out.json
gives 1
says_some 'bad.json'
[ ! -e out.json ] || problem 'out.json was written'
run strata trace merge none.json
gives 3
says_some 'none.json'

it 'does not destroy what it reads'
printf '[%s]' "$event" >a.json
cp a.json before.json
run strata trace merge a.json -o a.json
cmp -s a.json before.json && problem 'nothing was written'
run cat a.json
prints_json 'len(d["traceEvents"]) == 1'
