#!/bin/sh
. "$(dirname "$0")/lib.sh"

model() {
	gunzip -c "$STRATA_TEST_DATA/onnx/$1.onnx.gz" >"$1.onnx"
}

it 'measures a model, with or without a peer'
model resnet_mini
run strata engine bench resnet_mini.onnx --part native --rounds 1
gives 0
prints_some 'NATIVE ms'
prints_some 'resnet_mini.onnx'
STRATA_ONNXRUNTIME=/nowhere/libonnxruntime.so
export STRATA_ONNXRUNTIME
run strata engine bench resnet_mini.onnx --part native,ort --rounds 1 --json
gives 0
prints_json 'd["native"][0]["native_ms"] > 0 and "/nowhere" in d["native"][0]["why"]'
prints_json '"/nowhere" in d["ort"][0]["why"] and "budget" not in d'
unset STRATA_ONNXRUNTIME

it 'measures a budget beside what the stage level predicts'
model gpt2_prefill
run strata engine bench gpt2_prefill.onnx --part budget --share 0.4 --rounds 1 --json
gives 0
prints_json 'd["budget"][0]["read_bytes"] > 0'
prints_json 'd["budget"][0]["budget_bytes"] <= d["budget"][0]["weight_bytes"] * 0.4'
prints_json '0 < d["budget"][0]["bound_ms"] <= d["budget"][0]["predicted_ms"] * 1.001'

it 'measures two devices beside one'
model sd_unet_mini
run strata engine bench sd_unet_mini.onnx --part devices --rounds 1 --json
gives 0
prints_json '"why" in d["devices"][0] or 1 <= d["devices"][0]["balance"] <= 2'

it 'goes on where a model cannot be run, and says why'
model resnet_mini
run strata engine bench nowhere.onnx resnet_mini.onnx --part native --rounds 1 --json
gives 0
prints_json '"nowhere.onnx" in d["native"][0]["why"] and d["native"][1]["native_ms"] > 0'
run strata engine bench --part speed
gives 2
says_some '--part speed is not known; expected native, ort, budget, place or devices'

it 'compares modes of the place level with a device alone'
if [ "$(nproc)" -gt 1 ]; then
	gunzip -c "$STRATA_TEST_DATA/onnx/resnet_mini.onnx.gz" >resnet_mini.onnx
	run strata engine bench resnet_mini.onnx --part place --rounds 1 --json
	gives 0
	prints_json 'all(d["place"][0][k] > 0 for k in ("auto_ms", "basic_ms", "semantic_ms", "advanced_ms", "best_ms", "ratio", "off"))'
else
	skip 'there is one core only'
fi
