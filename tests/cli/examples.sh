#!/bin/sh
# The small programs in examples/, built as a stranger would: public headers and libstrata.so. denoise and train have tests of their own.
. "$(dirname "$0")/lib.sh"

it 'takes turns between users, or does first what came first'
run "$STRATA_BUILD/tests/example_generate" fair
gives 0
prints_some ' 6 s  bert: rain, 0 of 4 steps'
prints_some '4 finished'
run "$STRATA_BUILD/tests/example_generate" fifo
prints_some ' 6 s  anna: a fox, 0 of 4 steps'
prints_some '20 s  bert: rain, 4 of 4 steps'
run "$STRATA_BUILD/tests/example_generate" fiar
gives 1
says_some 'fair'

it 'spreads a model over two devices that it does not fit on alone'
run "$STRATA_BUILD/tests/example_place"
gives 0
prints_some 'layer  0 on gpu'
[ "$(printf '%s\n' "$out" | grep -c 'on gpu0')" -ge 4 ] || problem "$out"
[ "$(printf '%s\n' "$out" | grep -c 'on gpu1')" -ge 4 ] || problem "$out"

it 'says what is due at each hook of a training loop'
run "$STRATA_BUILD/tests/example_hooks" best
gives 0
[ "$(printf '%s\n' "$out" | grep -c 'compute L2')" -eq 4 ] || problem "$out"
prints_some 'on_post_backward'
run "$STRATA_BUILD/tests/example_hooks" bset
gives 1
says_some 'best'

it 'starts a short job before one that has to wait'
run "$STRATA_BUILD/tests/example_cluster"
gives 0
prints 'minute  0: job 1 starts on 1 nodes
minute  0: job 3 starts on 1 nodes
minute 60: job 2 starts on 2 nodes'
