#!/bin/sh
# The program in examples, built as a stranger would: public headers and libstrata.so.
. "$(dirname "$0")/lib.sh"

it 'denoises two normal distributions to what they are'
run "$STRATA_BUILD/tests/example_denoise"
gives 0
prints_some '20 calls of the model'
prints_some 'deviation from -1 or 1: 0.20'

it 'takes any solver'
run "$STRATA_BUILD/tests/example_denoise" heun:use_karras_sigmas=true
gives 0
prints_some '39 calls of the model'
run "$STRATA_BUILD/tests/example_denoise" huen
gives 1
says_some 'heun'

sde=dpmpp_2m:algorithm_type=sde-dpmsolver++:use_karras_sigmas=true
it 'draws noise from the source and the seed that were asked for'
run "$STRATA_BUILD/tests/example_denoise" "$sde" torch 42
gives 0
prints_some 'deviation from -1 or 1: 0.2'
torch=$out
run "$STRATA_BUILD/tests/example_denoise" "$sde" torch 42
[ "$torch" = "$out" ] || problem 'the same seed, other numbers'
run "$STRATA_BUILD/tests/example_denoise" "$sde" torhc
gives 1
says_some 'torch'
