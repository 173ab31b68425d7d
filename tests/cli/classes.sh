#!/bin/sh
. "$(dirname "$0")/lib.sh"

it 'lists the kinds'
run strata classes
gives 0
prints_some "noise             4  where the random numbers of a picture come from"
run strata classes --json
prints_json '{"kind": "noise", "classes": 4, "summary": "where the random numbers of a picture come from"} in d'

it 'lists the kinds of the simulator too'
run strata classes
prints_some 'workload'
run strata classes workload --json
prints_json '[c["name"] for c in d] == ["gpu", "lublin"]'
run strata classes workload gpu
gives 0
prints_some 'gpus_per_node'

it "lists the engine's kinds, which another program has"
run strata classes
prints_some 'what computes the subgraphs of a model'
run strata classes --json
prints_json '[k["kind"] for k in d][-3:] == ["workload", "backend", "pipeline"]'
run strata classes backend --json
gives 0
prints_json '[c["name"] for c in d] == ["native", "onnxruntime"]'
run strata classes backend onnxruntime
gives 0
prints_some 'prepack'
run strata classes pipeline
gives 0
prints_some 'class_conditional'
run strata classes pipelin
gives 3
says "strata: there is no kind 'pipelin'; did you mean 'pipeline'?"

it 'needs no other program for the kinds of the library'
mkdir alone
cp "$STRATA_BUILD/strata" alone
run alone/strata classes noise
gives 0
run alone/strata classes backend
gives 3
says_some 'strata-full'

it 'lists the classes of a kind'
run strata classes noise
gives 0
prints_some 'torch'
run strata classes noise --json
prints_json '[c["name"] for c in d] == ["brownian", "cuda", "philox", "torch"]'

it 'shows the options of a class, by any of its names'
run strata classes noise NV
gives 0
prints_some 'cuda: torch.randn on a CUDA device'
prints_some 'threads  N     163840'
run strata classes noise cuda --json
prints_json 'd["options"]["properties"]["threads"]["default"] == 163840'

it 'guesses at kinds and classes'
run strata classes noies
gives 3
says "strata: there is no kind 'noies'; did you mean 'noise'?"
run strata classes noise toch
gives 3
says_some "did you mean 'torch'?"

it 'lists what a plug-in adds'
export STRATA_PLUGINS=$STRATA_BUILD/tests/plugin_flat.so
run strata classes noise
gives 0
prints_some 'the same number again and again'
run strata noise flat:value=0.25 --count 2
gives 0
prints '  0.25000000   0.25000000'
export STRATA_PLUGINS=$STRATA_BUILD/tests/plugin_abi.so
run strata classes noise
unset STRATA_PLUGINS
gives 1
says_some 'was built for plug-in interface 5; this is 4: build it again'
