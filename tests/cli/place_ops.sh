#!/bin/sh
. "$(dirname "$0")/lib.sh"
corpus=$STRATA_SOURCE/tests/fuzz/corpus/onnx
models=$STRATA_SOURCE/tests/data/onnx

it 'lists the operators that are known'
run strata place ops
gives 0
prints_some 'MatMul'
prints_some 'matrix products'
run strata place ops --json
prints_json 'len(d) > 170 and len({(x["domain"], x["kind"]) for x in d}) == len(d)'
prints_json '[x for x in d if x["kind"] == "Conv"][0]["flops"] and [x for x in d if x["kind"] == "Gather"][0]["folds"]'

it 'shows how much of a model is known'
run strata place ops "$corpus/function"
gives 0
prints_some '2 of 3 nodes known (66.7 %)'
run strata place ops "$corpus/function" --json
prints_json 'd["known"] == 2 and [k for k in d["kinds"] if not k["known"]][0]["kind"] == "Strange" and d["flops"] == 16'

it 'takes values for dimensions with a name'
run strata place ops "$corpus/matmul"
gives 0
prints_some '0 of 2 outputs shaped'
prints_some 'not given: batch (--dim NAME=N)'
run strata place ops "$corpus/matmul" --dim batch=5 --json
prints_json 'd["shaped"] == 2 and d["flops"] == 2 * 5 * 4 * 3 and d["weight_bytes"] == 60'
run strata place ops "$corpus/matmul" --dim '*=3' --json
prints_json 'd["shaped"] == 2 and d["flops"] == 2 * 3 * 4 * 3'
run strata place ops "$corpus/matmul" --dim bach=5
gives 2
says_some "the model has no dimension 'bach'"

it 'refuses what is no model'
echo hello >model.onnx
run strata place ops model.onnx
gives 2
run strata place ops nowhere.onnx
gives 3
says_some 'nowhere.onnx'
run strata place ops .
gives 2
says_some 'is not a file'
: >model.onnx
run strata place ops model.onnx
gives 2
says_some 'is empty'

it 'says what a model is for'
for model in sd_unet_mini gpt2_decode_dynamic; do gzip -dc "$models/$model.onnx.gz" >$model.onnx; done
run strata place ops sd_unet_mini.onnx
gives 0
prints_some '517 of 517 outputs shaped (100.0 %), 0 against what the file declares'
prints_some 'diffusion, denoise: a timestep becomes sines and cosines'
run strata place ops gpt2_decode_dynamic.onnx --dim batch=2,sequence=1,past_sequence=16 --json
prints_json 'd["workload"] == "llm" and d["phase"] == "decode" and d["flops"] == 200320 and d["kv_out_bytes"] == 21760'
