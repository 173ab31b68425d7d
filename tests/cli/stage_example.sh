#!/bin/sh
# The training loop in examples, built as a stranger would: public headers and libstrata.so.
. "$(dirname "$0")/lib.sh"

it 'learns the same with memory for a third of its weights'
run "$STRATA_BUILD/tests/example_train" .
gives 0
prints_some 'the curves are the same'
prints_some '199680 bytes of weights'
prints_some 'budget 66560 bytes'
printf '%s\n' "$out" | python3 -c '
import re, sys
text = sys.stdin.read()
budget, peak, read, written = map(int, re.search(r"budget (\d+) bytes, at most (\d+) in use; (\d+) read, (\d+) written", text).groups())
losses = [float(x) for x in re.findall(r"loss (\S+) in", text)]
assert peak <= budget and written > 199680 and read > 150 * 100000, text
assert losses[-1] < losses[0] / 10 and losses == [float(x) for x in re.findall(r", (\S+) from disk", text)], losses' || problem "$out"

it 'says what it cannot write'
run "$STRATA_BUILD/tests/example_train" none
gives 1
says_some 'none/weights.bin'
