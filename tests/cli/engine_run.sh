#!/bin/sh
. "$(dirname "$0")/lib.sh"

model() {
	gunzip -c "$STRATA_TEST_DATA/onnx/$1.onnx.gz" >"$1.onnx"
}

it 'runs a model and shows its subgraphs'
model gpt2_prefill
run strata engine run gpt2_prefill.onnx --repeat 2 --devices cpu:0
gives 0
prints_some 'DEVICE'
prints_some 'cpu:0'
prints_some 'median of 2'
prints_some 'at the most'
prints_some 'all tensors together up to'
run sh -c 'strata engine run gpt2_prefill.onnx --repeat 1 --devices cpu:0 | head -n 1'
prints_some 'activations: '

it 'has the same result with a budget, to the bit'
model gpt2_prefill
run strata engine run gpt2_prefill.onnx --repeat 2 --output plain --json
gives 0
prints_json '0 < d["planned_bytes"] < d["tensor_bytes"]'
prints_json 'len(d["subgraphs"]) == 1 and d["read_bytes"] == 0 and 0 < d["least_ms"] <= d["median_ms"]'
prints_json 'd["kept_bytes"] == d["weight_bytes"] and d["subgraphs"][0]["calls"] == 2'
run strata engine run gpt2_prefill.onnx --repeat 2 --budget 40% --output small --json
gives 0
prints_json 'len(d["subgraphs"]) > 2 and d["read_bytes"] > 0'
prints_json 'd["kept_bytes"] + d["frame_bytes"] <= d["weight_bytes"] * 0.4'
run sh -c 'for f in plain/*; do cmp "$f" "small/${f#plain/}" || exit 1; done; ls plain'
gives 0
prints_some 'logits.npy'

it 'takes inputs from files and names those that do not fit'
model resnet_mini
python3 -c '
import struct
header = b"{\"descr\": \"<f4\", \"fortran_order\": False, \"shape\": (1, 3, 2, 2), }"
header += b" " * (-(len(header) + 11) % 64) + b"\n"
open("x.npy", "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(48))'
run strata engine run resnet_mini.onnx --input nothing=x.npy
gives 2
says_some "the model has no input 'nothing'"

it 'names a dimension that no input has'
model gpt2_decode_dynamic
run strata engine run gpt2_decode_dynamic.onnx --dim btach=2
gives 2
says_some "the model has no dimension 'btach' that could be set"
run strata engine run gpt2_decode_dynamic.onnx --dim batch=2 --repeat 1
gives 0

it 'shares two devices out'
model sd_unet_mini
run strata engine run sd_unet_mini.onnx --devices cpu:0,cpu:0 --objective throughput --repeat 1 --json
gives 0
prints_json 'len(d["subgraphs"]) >= 2 and d["strategy"] != "single"'

it 'says what a GPU needs'
model gpt2_decode
run strata engine run gpt2_decode.onnx --devices cuda:0
gives 1
says_some 'cuda:0: the backend native computes on processors; GPUs need the backend onnxruntime'

it 'learns, and keeps what it learned'
model gpt2_decode
run strata engine run gpt2_decode.onnx --repeat 4 --experience learned --devices cpu:0
gives 0
run cat learned
prints_some '"MatMul"'
printf '{' >learned
run strata engine run gpt2_decode.onnx --repeat 1 --experience learned
gives 1
says_some 'learned is not a file of experience; delete it to begin anew'

it 'keeps what it learned in the home of who runs it'
model gpt2_decode
run strata engine run gpt2_decode.onnx --repeat 4 --devices cpu:0
gives 0
run cat "$HOME/.local/state/strata/experience.json"
prints_some '"MatMul@decode"'
rm -r "$HOME/.local/state"
run strata engine run gpt2_decode.onnx --repeat 4 --experience none
gives 0
run test -e "$HOME/.local/state/strata"
gives 1

it 'runs although its own file is damaged, says so and begins anew'
model gpt2_decode
mkdir -p "$HOME/.local/state/strata"
echo '{' >"$HOME/.local/state/strata/experience.json"
run strata engine run gpt2_decode.onnx --repeat 2 --devices cpu:0
gives 0
says_some 'is not a file of experience'

it 'traces layers, subgraphs and devices on one clock'
model gpt2_prefill
run strata engine run gpt2_prefill.onnx --repeat 2 --budget 40% --trace t.json
gives 0
run python3 -c '
import json
events = json.load(open("t.json"))["traceEvents"]
print(len([e for e in events if e.get("ph") == "X"]) > 10)'
prints_some 'True'

it 'says what is wrong'
model gpt2_prefill
run strata engine run gpt2_prefill.onnx --budget 20000
gives 4
says_some 'the largest layer needs'
run strata engine run gpt2_prefill.onnx --budget 0%
gives 2
says_some 'expected more than 0%'
run strata engine run gpt2_prefill.onnx --backend nativ
gives 3
says_some 'native'
head -c 5000 gpt2_prefill.onnx >cut.onnx
run strata engine run cut.onnx
gives 2
says_some 'cut.onnx'
run strata engine run gpt2_prefill.onnx --devices gpu
gives 2
says_some "'gpu' is not a device"

it 'says where it cannot write'
model gpt2_prefill
for option in --trace; do
	run strata engine run gpt2_prefill.onnx --repeat 1 "$option" /nowhere/out.svg
	gives 3
	says 'strata: cannot open the directory of /nowhere/out.svg: No such file or directory'
done
