#!/bin/sh
. "$(dirname "$0")/lib.sh"

it 'draws eight solvers, and prints their numbers'
run strata solver plot out.svg --json
gives 0
prints_json 'len(d) == 8 and all(p["error"] > 0 for s in d for p in s["points"])'
prints_json 'all(s["points"][-1]["error"] < s["points"][0]["error"] / 10 for s in d)'
prints_json 'all(p["calls"] <= 100 for s in d for p in s["points"])'
[ "$(head -c 4 out.svg)" = '<svg' ] || problem 'no SVG'
grep -q 'DPM++ 2M' out.svg || problem 'no legend'

it 'gives the same bytes again'
run strata solver plot a.svg euler heun
gives 0
run strata solver plot b.svg euler heun
gives 0
cmp a.svg b.svg || problem 'two runs differ'

it 'refuses solvers that draw noise, and files that cannot be written'
run strata solver plot out.svg euler_ancestral
gives 2
says_some 'draws noise'
run strata solver plot out.png euler
gives 2
says_some 'out.png would be an SVG picture by another name; say out.svg'
[ ! -e out.png ] || problem 'it was written'
run strata solver plot none/out.svg euler
says_some 'none/out.svg'
