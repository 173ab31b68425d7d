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

it 'lines up what the service and a stage did, and says that a simulator has a clock of its own'
python3 -c '
import json, struct
header = {f"blocks.{i}.w": {"dtype": "F32", "shape": [64, 64], "data_offsets": [i << 14, (i + 1) << 14]} for i in range(4)}
text = json.dumps(header).encode()
open("m.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + bytes(4 << 14))'
export STRATA_SOCKET=$PWD/s/strata.sock
strata serve --state "$PWD/s" --node n:cpus=2 2>log &
server=$!
for _ in $(seq 100); do [ -S s/strata.sock ] && break; sleep 0.1; done
run strata submit --quiet --wait -D "$PWD" -o /dev/null strata stage run m.safetensors --budget 40KiB --page 4KiB --compute-ms 1 --rounds 1 --trace stage.json
gives 0
run strata trace -o service.json
gives 0
kill $server
wait $server
run strata trace merge service.json stage.json -o all.json
gives 0
says ''
run cat all.json
prints_json 'd["otherData"]["clock"] == "realtime"'
# the stage lies within its job, of which the service tells times to the second
prints_json '(lambda job, stage: stage and all(job["ts"] <= e["ts"] and e["ts"] + e["dur"] <= job["ts"] + job["dur"] + 1e6 for e in stage))(
	next(e for e in d["traceEvents"] if e["ph"] == "X" and e["pid"] == 2), [e for e in d["traceEvents"] if e["name"].startswith("blocks.")])'
run strata sim workload --jobs 20 -o w.swf
run strata sim cluster w.swf --trace sim.json
gives 0
run strata trace merge stage.json sim.json -o odd.json
gives 0
says_some 'the files name different clocks'

it 'says where it cannot write'
printf '[%s]' "$event" >a.json
for option in -o; do
	run strata trace merge a.json "$option" /nowhere/out.svg
	gives 3
	says 'strata: cannot open the directory of /nowhere/out.svg: No such file or directory'
done
