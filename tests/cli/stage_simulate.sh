#!/bin/sh
. "$(dirname "$0")/lib.sh"

it 'shows which hook ran which entry'
printf 'fetch L1\ncompute L1\nrelease L1\nprefetch L2\ncompute L2\nrelease L2\n' >mine.txt
run strata stage simulate mine.txt --steps 1 --log
gives 0
prints '       0.000 ms  on_pre_forward(L1): fetch L1
       0.000 ms  on_pre_forward(L1): compute L1
       0.000 ms  on_post_forward(L1): release L1
       0.000 ms  on_post_forward(L1): prefetch L2
       0.000 ms  on_pre_forward(L2): compute L2
       0.000 ms  on_post_forward(L2): release L2
first step 0.000 ms, then 0.000 ms each, 0.000 ms of it waiting; 2 B read a step, peak 1 B'

it 'calls backward hooks for backward visits'
printf 'fetch a\ncompute a\nfetch b\ncompute b\ncompute b\nrelease b\ncompute a\nrelease a\n' >mine.txt
run strata stage simulate mine.txt --steps 1 --log --json
gives 0
prints_json '[e["hook"] for e in d["log"] if e["kind"] == "compute"] == ["on_pre_forward"] * 2 + ["on_pre_backward"] * 2'

it 'takes the time that the plan promised'
printf '{"layers":[%s]}' "$(for i in 0 1 2 3 4 5 6 7; do printf '%s{"name":"l%d","bytes":%d,"compute_us":%d}' "${comma-}" $i $((65536 * (i % 3 + 1))) $((100 * (i % 4))); comma=,; done)" >model.json
for planner in on_demand stream conservative aggressive spread best; do
	run strata stage plan --layers model.json --budget 512KiB --page 16KiB --planner $planner --schedule --json
	gives 0
	printf %s "$out" >plan.json
	run strata stage simulate plan.json --json
	gives 0
	prints_json 'abs(d["step_us"] - json.load(open("plan.json"))["step_us"]) < 0.01 and d["bytes_per_step"] == json.load(open("plan.json"))["bytes_per_step"] and d["peak_bytes"] <= 512 << 10'
done
