#!/bin/sh
. "$(dirname "$0")/lib.sh"

it 'takes a schedule as people write it'
printf 'fetch L1\ncompute L1\nrelease L1   # done with it\n\nfetch L2\ncompute L2\nrelease L2\n' >mine.txt
run strata stage verify mine.txt
gives 0
prints 'valid: 6 entries, 2 visits of 2 layers, peak 1 B of 4 B, 2 B read a step'
printf '[{"kind":"fetch","layer_name":"L1"},{"kind":"prefetch","layer_name":"L2"},{"kind":"compute","layer_name":"L1"},{"kind":"release","layer_name":"L1"},{"kind":"compute","layer_name":"L2"},{"kind":"release","layer_name":"L2"}]' >mine.json
run strata stage verify mine.json --json
gives 0
prints_json 'd["valid"] and d["entries"] == 6 and d["peak_bytes"] == 2'

it 'knows forward and backward by the mirror'
printf 'fetch a\ncompute a\nfetch b\ncompute b\ncompute b\nrelease b\ncompute a\nrelease a\n' >mine.txt
run strata stage verify mine.txt --json
prints_json 'd["visits"] == 4 and d["backward_visits"] == 2'

it 'names the entry that breaks a rule'
printf 'fetch L1\ncompute L1\nrelease L1\ncompute L2\n' >mine.txt
run strata stage verify mine.txt
gives 2
says 'strata: entry 3 (compute of L2): pages of the layer are missing'
printf 'fetch L1\ncompute L1\nfetch L2\ncompute L2\nrelease L1\nrelease L2\n' >mine.txt
run strata stage verify mine.txt --budget 1
gives 2
says 'strata: entry 2 (fetch of L2): there is no frame left for it'
printf 'fetch L1\ncompute L1\nrelease L1\nrelease L1\n' >mine.txt
run strata stage verify mine.txt
gives 2
says 'strata: entry 3 releases L1, which is not there'

it 'reads what a plan prints'
printf '{"layers":[{"name":"a","bytes":100},{"name":"b","bytes":50},{"name":"c","bytes":70}]}' >model.json
run strata stage plan --layers model.json --budget 150 --page 10 --schedule --json
gives 0
printf %s "$out" >plan.json
run strata stage verify plan.json --json
gives 0
prints_json 'd["valid"] and d["layers"] == 3 and d["budget_bytes"] == 150 and d["peak_bytes"] <= 150'
run strata stage verify plan.json --budget 100
gives 2
says 'strata: the step begins with more than the budget'

it 'says where a text makes no sense'
printf 'fetch L1\nwait L1\n' >mine.txt
run strata stage verify mine.txt
gives 2
says "strata: line 2: 'wait' is no kind; expected fetch, prefetch, compute or release"
printf 'fetch L1\ncompute L9\n' >mine.txt
printf '{"layers":[{"name":"L1","bytes":100}]}' >model.json
run strata stage verify mine.txt --layers model.json
gives 2
says "strata: line 2: there is no layer 'L9'"
printf 'fetch L1\n' >mine.txt
run strata stage verify mine.txt
gives 2
says_some 'the schedule computes nothing'
