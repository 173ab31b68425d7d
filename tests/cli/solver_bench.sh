#!/bin/sh
. "$(dirname "$0")/lib.sh"

it 'measures the usual solvers beside a plain loop'
run strata solver bench --budget 0s --json
gives 0
prints_json '[(l["solver"], l["reads"], l["writes"]) for l in d[::2]] == [("ddim", 2, 1), ("euler", 2, 1), ("dpmpp_2m", 3, 2), ("unipc", 5, 3)]'
prints_json 'all(l["step_ns"] > 0 and l["plain_ns"] > 0 and l["ratio"] > 0 for l in d)'

it 'measures any solver, with any element'
run strata solver bench heun --budget 0s --element bf16 --cached
gives 0
prints_some 'heun'
prints_some '4x64x64'
run strata solver bench ddim:thresholding=true --budget 0s --element f16 --isa scalar --cached --json
gives 0
prints_json 'len(d) == 1 and d[0]["plain_ns"] is None'

it 'refuses what it does not know'
run strata solver bench ddimm
gives 3
says_some "did you mean 'ddim'?"
