#!/bin/sh
. "$(dirname "$0")/lib.sh"
model=${STRATA_DATA:-$STRATA_SOURCE/../shared}/golden/pipelines/tiny-lm/gpt2

it 'goes on with tokens'
if [ -e "$model/decoder_model.onnx" ]; then
	run strata engine text "$model" 88 --ids -n 12
	gives 0
	prints '189 31 111 86 79 79 79 245 57 245 79 245'
	run strata engine text "$model" '160 168' --ids -n 5 --temperature 1 --seed 3 --json
	gives 0
	prints_json 'len(d["ids"]) == 5 and "text" not in d'
	run strata engine text "$model" '160 168' --ids -n 50 --cache 8KiB
	gives 4
	says_some 'the caches would take'
	run strata engine text "$model" 'a text'
	gives 1
	says_some '--ids'
	run strata engine text "$model" '1 x' --ids
	gives 2
	says_some 'numbers of tokens'
else
	skip 'no golden pipelines'
fi

it 'says what is wrong'
run strata engine text nowhere 'a text'
gives 3
says_some 'nowhere/decoder_model.onnx'
run strata engine text nowhere 'a text' --top-p 2
gives 2
says_some 'top'
