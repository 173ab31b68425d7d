#!/bin/sh
. "$(dirname "$0")/lib.sh"

model() {
	printf '{"layers":[%s]}' "$(for i in 0 1 2 3 4 5 6 7; do printf '%s{"name":"l%d","bytes":1048576,"compute_us":500}' "${comma-}" $i; comma=,; done)" >model.json
}

it 'plans what stays in memory'
model
run strata stage plan --layers model.json --budget 5MiB --bandwidth 1GB/s --page 64KiB --json
gives 0
prints_json 'd["planner"] == "best" and d["peak_bytes"] <= 5 << 20 and d["ratio"] < 1.15 and d["bytes_per_step"] < 5 << 20'
run strata stage plan --layers model.json --budget 5MiB --bandwidth 1GB/s --page 64KiB --planner stream --json
prints_json 'd["bytes_per_step"] == 8 << 20 and abs(d["step_us"] - 8388.608) < 1'
run strata stage plan --layers model.json --budget 5MiB --bandwidth 1GB/s --page 64KiB --planner on_demand --json
prints_json 'abs(d["step_us"] - 8388.608 - 4000) < 1'

it 'reads nothing when all of it fits'
model
run strata stage plan --layers model.json --budget 8MiB
gives 0
run strata stage plan --layers model.json --budget 16MiB --json
prints_json 'd["bytes_per_step"] == 0 and abs(d["step_us"] - 4000) < 0.01 and d["ratio"] == 1'

it 'shows every entry, in an order of its own'
printf '{"layers":[{"name":"a","bytes":100},{"name":"b","bytes":50}],"order":["a","b","a"]}' >model.json
run strata stage plan --layers model.json --budget 150 --page 50 --schedule --json
gives 0
prints_json '[x["layer_name"] for x in d["schedule"] if x["kind"] == "compute"] == ["a", "b", "a"]'
run strata stage plan --layers model.json --budget 100 --page 50 --schedule
gives 0
prints_some 'release'

it 'says what is needed when it cannot work'
model
run strata stage plan --layers model.json --budget 1MB --page 64KiB
gives 4
says 'strata: the largest layer needs 1048576 bytes; the budget has 1000000'

it 'names what is wrong with a model'
printf '{"layers":[{"name":"a","bytes":100}],"order":["b"]}' >model.json
run strata stage plan --layers model.json --budget 1MiB
gives 2
says_some "there is no layer 'b'"
printf '{"layers":[{"name":"a","bytes":0}]}' >model.json
run strata stage plan --layers model.json --budget 1MiB
gives 2
says_some 'bytes'
run strata stage plan --budget 1MiB
gives 2
says_some 'expected --layers FILE or --model FILE'

# Three layers of 8 KiB, out of order in the file, and a head of 100 bytes.
weights() {
	python3 -c '
import json, struct
sizes = [("head.weight", 100), ("blocks.0.w", 8192), ("blocks.10.w", 8192), ("blocks.2.w", 8192)]
header, at = {"__metadata__": {"format": "pt"}}, 0
for name, size in sizes:
    header[name] = {"dtype": "U8", "shape": [size], "data_offsets": [at, at + size]}
    at += size
text = json.dumps(header).encode()
open("m.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + bytes(at))'
}

it 'takes the layers from the weights'
weights
run strata stage plan --model m.safetensors --budget 64KiB --page 4KiB --compute-ms 2 --schedule --json
gives 0
prints_json '[x["layer_name"] for x in d["schedule"] if x["kind"] == "compute"] == ["head", "blocks.0", "blocks.2", "blocks.10"]'
prints_json 'd["compute_us"] == 8000'
run strata stage plan --model m.safetensors --budget 64KiB --page 4KiB --group 'blocks' --schedule --json
prints_json '[x["layer_name"] for x in d["schedule"] if x["kind"] == "compute"] == ["head", "blocks"]'
run strata stage plan --model m.safetensors --budget 64KiB --group 'a..b'
gives 2
says_some "'a..b' is no pattern"

models=${STRATA_DATA:-$STRATA_SOURCE/../shared}/graphs/onnx
it 'takes them from an ONNX model'
if [ -f "$models/gpt2_prefill.onnx" ]; then
	run strata stage plan --model "$models/gpt2_prefill.onnx" --budget 200KiB --page 4KiB --schedule --json
	gives 0
	prints_json 'len({x["layer_name"] for x in d["schedule"] if x["kind"] == "compute"}) > 2 and d["bytes_per_step"] > 0'
fi

it 'refuses weights that are damaged'
weights
head -c 20000 m.safetensors >cut.safetensors
run strata stage plan --model cut.safetensors --budget 64KiB
gives 1
says_some 'cut.safetensors: the file is cut short'
run strata stage plan --model none.safetensors --budget 64KiB
gives 3
says_some 'none.safetensors'
