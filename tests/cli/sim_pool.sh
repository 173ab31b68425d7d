#!/bin/sh
. "$(dirname "$0")/lib.sh"

# Ann asks for ten long ones, then Bob for a short one.
requests() {
	{
		echo arrival_s,user,model,steps,exec_s,num_frames,deadline_s
		for i in 0 1 2 3 4 5 6 7 8 9; do echo "$i,ann,sdxl,30,30,$((40 - i)),"; done
		echo 12,bob,sdxl,30,3,50,100
	} >requests.csv
}

it 'replays requests and says how they fared'
requests
run strata sim pool requests.csv
gives 0
prints_some 'POLICY'
prints_some 'fifo'
run strata sim pool requests.csv --json
gives 0
prints_json '[sorted(p) for p in d][0][:1] == ["batched"] and d[0]["policy"] == "fifo" and d[0]["tasks"] == 11'
prints_json 'd[0]["makespan_s"] == 303.0 and d[0]["max_wait_s"] == 288.0'
prints_json 'all(k in d[0] for k in "policy mean_resp_s p50_resp_s p99_resp_s max_wait_s mean_user_wait_s p90_user_wait_s makespan_s jain".split())'

it 'puts several policies side by side'
requests
run strata sim pool requests.csv --policy fifo,shortest,round_robin,fair:charge=start,fair --plot out.svg --json
gives 0
prints_json '[p["policy"] for p in d] == ["fifo", "shortest", "round_robin", "fair:charge=start", "fair"]'
prints_json 'd[0]["mean_user_wait_s"] > d[4]["mean_user_wait_s"] and d[1]["mean_resp_s"] < d[0]["mean_resp_s"]'
grep -q '</svg>' out.svg || problem 'no plot'
grep -q 'fair:charge=start' out.svg || problem 'the plot does not name the policies'

it 'takes more workers and another load'
requests
run strata sim pool requests.csv --workers 2 --load 0.5 --json
gives 0
prints_json 'd[0]["makespan_s"] > 303 and d[0]["max_wait_s"] < 100'

it 'draws a timeline'
requests
run strata sim pool requests.csv --policy fair --workers 2 --trace out.json
gives 0
python3 -c 'import json; d = json.load(open("out.json")); assert sum(e["ph"] == "X" for e in d["traceEvents"]) == 11' || problem 'no timeline'
run strata sim pool requests.csv --policy fair,fifo --trace out.json
gives 2
says_some '--trace goes with one policy'

it 'knows steps, preemption, batches and refusals'
requests
run strata sim pool requests.csv --policy shortest --preempt --json
prints_json 'd[0]["preemptions"] >= 1'
run strata sim pool requests.csv --batch-max 4 --batch-cost 0.2 --json
prints_json 'd[0]["batched"] >= 1 and d[0]["makespan_s"] < 303'
run strata sim pool requests.csv --steps-per-pick 0 --json
prints_json 'd[0]["makespan_s"] == 303.0'
run strata sim pool requests.csv --policy deadline --json
prints_json 'd[0]["refused"] == 0 and d[0]["late"] == 0 and d[0]["tasks"] == 11'
sed -i 's/,100$/,20/' requests.csv
run strata sim pool requests.csv --policy deadline
gives 0
says_some 'deadline refused 1 request'

it 'takes a policy from a shared object, which reads the payload'
requests
export STRATA_PLUGINS=$STRATA_BUILD/tests/policy_frames.so
run strata classes policy frames
gives 0
prints_some 'the fewest frames first'
run strata sim pool requests.csv --policy fifo,frames --json
gives 0
prints_json 'd[0]["p99_resp_s"] == 291.0 and d[1]["p99_resp_s"] == 299.0'
run strata sim pool requests.csv --policy frames:attribute=exec_s,shortest:bound=0 --json
prints_json 'd[0]["mean_resp_s"] == d[1]["mean_resp_s"]'
unset STRATA_PLUGINS

it 'says what is wrong'
requests
run strata sim pool requests.csv --policy fairr
gives 3
says_some "did you mean 'fair'?"
run strata sim pool nothing.csv
gives 3
says_some 'nothing.csv'
printf 'arrival_s,user\n1,a\n' >bad.csv
run strata sim pool bad.csv
says_some 'exec_s'
printf 'arrival_s,exec_s\n' >empty.csv
run strata sim pool empty.csv
gives 2
says_some 'no requests'
printf 'arrival_s,exec_s\n1,1\n1,1\n' >once.csv
run strata sim pool once.csv --load 0.5
gives 2
says_some 'all requests come at once'
run strata sim pool requests.csv --policy fair:users=x
says_some 'refused 11 requests'
