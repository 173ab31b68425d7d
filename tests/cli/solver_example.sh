#!/bin/sh
# The program in docs/examples, built as a stranger would: public headers and libstrata.so.
. "$(dirname "$0")/lib.sh"

it 'denoises two normal distributions to what they are'
run "$STRATA_BUILD/tests/example_denoise"
gives 0
prints_some '20 calls of the model'
prints_some 'deviation from -1 or 1: 0.20'

it 'takes any solver that draws no noise'
run "$STRATA_BUILD/tests/example_denoise" heun:use_karras_sigmas=true
gives 0
prints_some '39 calls of the model'
run "$STRATA_BUILD/tests/example_denoise" huen
gives 1
says_some 'heun'
