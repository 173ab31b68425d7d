#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

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

# Ann's two tasks, then Bob's short one, which waited for both; and one that was cancelled.
tasks() {
	python3 - "$@" <<'EOF'
import json, sys
def task(id, user, created, ended, cost_s, status="finished", model="digits"):
    return {"id": id, "user": user, "account": None, "model": model, "status": status, "priority": 5, "steps": 10, "cost_ns": int(cost_s * 1e9),
            "created_at": f"2026-01-01T10:00:{created:02}Z", "ended_at": f"2026-01-01T10:00:{ended:02}.5Z", "parameters": {"width": 28, "height": 28, "n": 1}}
print(json.dumps({"tasks": [task(4, "bob", 5, 6, 0, "cancelled"), task(3, "bob", 2, 22, 1), task(2, "ann", 1, 20, 10), task(1, "ann", 0, 10, 10)]
                  + ([task(5, "ann", 1, 2, 1, model="sdxl")] if sys.argv[1:] else []), "next": None}), end="")
EOF
}

it 'replays the tasks of the service beside what became of them'
serve '{"GET /api/v1/tasks": {"body": '"$(tasks)"'}}'
run strata sim pool --history --policy fifo,shortest
gives 0
prints_some 'as it was'
says_some '1 task left out: not drawn to the end'
run strata sim pool --history --policy fifo,shortest,fair --json
gives 0
prints_json '[one["policy"] for one in d] == ["as it was", "fifo", "shortest", "fair"] and {one["tasks"] for one in d} == {3}'
prints_json 'abs(d[0]["mean_resp_s"] - (10.5 + 19.5 + 20.5) / 3) < 1e-3 and abs(d[1]["mean_resp_s"] - (10 + 19 + 19) / 3) < 1e-3'
prints_json 'd[2]["mean_resp_s"] < d[1]["mean_resp_s"] and d[3]["mean_user_wait_s"] <= d[1]["mean_user_wait_s"]'
run strata sim pool --history --since '2026-01-01 10:00:01' --json
gives 0
prints_json 'd[0]["tasks"] == 2'
run strata sim pool --history --since '2027-01-01'
gives 3
says_some 'no task that was drawn to its end since then'

it 'replays one model at a time'
serve '{"GET /api/v1/tasks": {"body": '"$(tasks both)"'}}'
run strata sim pool --history
gives 2
says_some 'expected --model NAME'

it 'takes a trace or the history'
requests
run strata sim pool
gives 2
says_some 'expected a trace or --history'
run strata sim pool requests.csv --history
gives 2
run strata sim pool requests.csv --model x
gives 2
says_some 'go with --history'
run strata sim pool --history --load 0.9
gives 2
says_some '--load and --trace do not go with it'

it 'says where it cannot write'
requests
for option in --plot --trace; do
	run strata sim pool requests.csv --policy fair "$option" /nowhere/out.svg
	gives 3
	says 'strata: cannot open the directory of /nowhere/out.svg: No such file or directory'
done
