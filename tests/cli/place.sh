#!/bin/sh
. "$(dirname "$0")/lib.sh"

model() {
	cat >model.json <<'JSON'
{"name":"towers","ops":[
 {"name":"text","kind":"Gemm","flops":4e9,"bytes":2e7,"weight_bytes":"300MiB"},
 {"name":"image","kind":"Conv","flops":9e9,"bytes":5e7,"weight_bytes":"500MiB"},
 {"name":"attend","kind":"Attention","flops":2e9,"bytes":1e8,"weight_bytes":"100MiB","kv_bytes":"200MiB","kv_device":1},
 {"name":"join","kind":"MatMul","flops":1e8,"bytes":1e6}],
 "edges":[{"from":"text","to":"attend","bytes":1000000},{"from":"image","to":"join","bytes":1000000},
  {"from":"attend","to":"join","bytes":100000}]}
JSON
	cat >devices.json <<'JSON'
{"devices":[{"name":"gpu0","flops_per_s":1e13,"bytes_per_s":5e11,"capacity":"1GiB"},
 {"name":"gpu1","flops_per_s":1e13,"bytes_per_s":5e11,"capacity":"1GiB"},
 {"name":"cpu0","kind":"cpu","flops_per_s":5e11,"bytes_per_s":5e10}],"link_bytes_per_s":1.2e10,"link_latency_ns":10000}
JSON
}

it 'splits what does not fit one device, and says why'
model
run strata place model.json --devices devices.json
gives 0
prints_some 'predicted: a request takes 910 us'
prints_some '1 op runs where its KV cache is'
prints_some 'portfolio'
run strata place model.json --devices devices.json --json
gives 0
prints_json 'd["alternatives"][0]["strategy"] == "single" and d["value"] <= d["alternatives"][0]["value"]'
prints_json '{o["name"]: o["device"] for o in d["ops"]}["attend"] == "gpu1"'
prints_json 'all(x["weight_bytes"] + x["kv_bytes"] <= x["capacity_bytes"] for x in d["devices"] if x["capacity_bytes"])'

it 'honours pins, objectives, modes, profiles and switches'
model
run strata place model.json --devices devices.json --pin 'te*=cpu0' --forbid 'image=gpu0' --objective throughput --json
gives 0
prints_json '{o["name"]: o["device"] for o in d["ops"]}["text"] == "cpu0" and {o["name"]: o["device"] for o in d["ops"]}["image"] != "gpu0"'
prints_json 'd["objective"] == "throughput" and "advanced_optimization" in d["features"]'
run strata place model.json --devices devices.json --mode basic --json
prints_json 'd["features"] == ["cost_estimation"] and d["profile"] == "basic_inference"'
run strata place model.json --devices devices.json --profile llm_serving --disable memory_optimization --json
prints_json 'd["features"] == ["cost_estimation", "semantic_optimization"]'
run strata place model.json --devices devices.json --strategy round_robin,heft --json
prints_json '[a["strategy"] for a in d["alternatives"]] == ["single", "round_robin", "heft"]'
run strata place model.json --devices devices.json --budget 20ms --json
gives 0

it 'reads ONNX, and takes dimensions that are not given for 1'
model
onnx=$STRATA_SOURCE/tests/fuzz/corpus/onnx/matmul
run strata place "$onnx" --devices devices.json
gives 0
says 'strata: dimensions without a value count as 1: batch; give them with --dim'
prints_some '2 ops'
run strata place "$onnx" --devices devices.json --dim batch=8
gives 0
says ''

it 'finds the machine itself'
model
run strata place model.json --json
gives 0
prints_json 'len(d["devices"]) >= 1'

it 'takes a cost model of the user'
model
STRATA_PLUGINS=$STRATA_BUILD/tests/cost_linear.so run strata place model.json --devices devices.json --cost custom:start_ns=1000000 --json
gives 0
prints_json 'd["latency_ns"] > 2e6'
run strata place model.json --devices devices.json --cost 'table:times=Gemm=1ms,Conv=2ms,Attention=1ms,MatMul=1ms' --json
gives 0
prints_json 'd["latency_ns"] >= 3e6'

it 'draws'
model
run strata place model.json --devices devices.json --plot p.svg --dot g.dot
gives 0
grep -q '<svg' p.svg || problem 'no picture'
grep -q 'cluster_1' g.dot || problem 'no graph'

it 'says what was observed'
model
printf '{"strata_experience":1,"devices":{"cpu0":{"Gemm":{"slow":1,"fast":1,"count":3}},"gpu0":{"Gemm":{"slow":1,"fast":1,"count":3}},"gpu1":{"Gemm":{"slow":1,"fast":1,"count":3}}}}' >learned.json
run strata place model.json --devices devices.json --experience learned.json --json
gives 0
prints_json '{one["kind"]: one["factor"] for one in d["observed"]}["Conv"] is None'
prints_json '[(one["factor"], one["seen"]) for one in d["observed"] if one["kind"] == "Gemm"] == [(2.0, 3)]'
run strata place model.json --devices devices.json --experience learned.json
gives 0
prints_some 'OBSERVED / PREDICTED'
run strata place model.json --devices devices.json --experience devices.json
gives 1
says_some 'devices.json is not a file of experience'

it 'says what is wrong'
model
run strata place model.json --devices devices.json --pin 'text=gpu9'
gives 3
says_some 'no device "gpu9"'
run strata place model.json --devices devices.json --enable semantic
gives 3
says_some 'no feature "semantic"'
run strata place model.json --devices devices.json --profile llm
gives 3
printf '{"devices":[{"name":"a","flops_per_s":1e9,"bytes_per_s":1e9,"capacity":"600MiB"}]}' >small.json
run strata place model.json --devices small.json
says_some 'it does not fit: weights and KV state need 1.07 GiB and all devices have 600 MiB'
[ "$code" != 0 ] || problem 'it is said to fit'

it 'names the file that is wrong'
echo junk >junk.onnx
run strata place junk.onnx
gives 2
says_some 'junk.onnx: '
printf '{"devices":[{"name":"a","flops_per_s":1,"bytes_per_s":1}]}' >devices.json
echo '{}' >junk.json
run strata place junk.json --devices devices.json
gives 2
says_some 'junk.json: '
printf '{"ops":[{"name":"a"}]}' >model.json
run strata place model.json --devices junk.json
gives 2
says_some 'junk.json: '

it 'says where it cannot write'
model
for option in --plot --dot; do
	run strata place model.json --devices devices.json "$option" /nowhere/out.svg
	gives 3
	says 'strata: cannot open the directory of /nowhere/out.svg: No such file or directory'
done
