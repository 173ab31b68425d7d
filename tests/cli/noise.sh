#!/bin/sh
. "$(dirname "$0")/lib.sh"

it 'draws what torch draws'
run strata noise torch --seed 42 --count 4
gives 0
prints '  0.33669037   0.12880941   0.23446237   0.23033303'
run strata noise --seed 42 -n4
prints '  0.33669037   0.12880941   0.23446237   0.23033303'

it 'draws what a GPU draws'
run strata noise cuda -s 0 -n 4 --json
gives 0
prints_json 'max(abs(a - b) for a, b in zip(d["calls"][0], [-0.924662411, -0.425343931, -2.6438458, 0.145183861])) < 1e-6'

it 'draws tensors one after the other'
run strata noise torch --seed 0 --count 3 --calls 2
prints '  1.54099607  -0.29342890  -2.17878938
  0.56843126  -1.08452237  -1.39859545'

it 'takes options behind the name'
run strata noise cuda:threads=0 -n1
gives 0
run strata noise cuda:thread=0 -n1
gives 2
says_some "did you mean 'threads'?"
