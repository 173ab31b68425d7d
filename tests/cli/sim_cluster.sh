#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

# job submit wait run procs cpu mem req_procs req_time …
trace() {
	cat >small.swf <<'SWF'
; MaxProcs: 8
1 0 -1 50 6 -1 -1 6 100 -1 1 1 -1 -1 -1 -1 -1 -1
2 1 -1 10 8 -1 -1 8 10 -1 1 2 -1 -1 -1 -1 -1 -1
3 2 -1 20 2 -1 -1 2 90 -1 1 1 -1 -1 -1 -1 -1 -1
4 3 -1 5 1 -1 -1 1 500 -1 1 2 -1 -1 -1 -1 -1 -1
SWF
}

it 'replays a trace and measures it'
trace
run strata sim cluster small.swf --json
gives 0
prints_json 'd["jobs"] == 4 and d["max_wait_s"] == 57.0 and d["makespan_s"] == 65.0 and d["mean_wait_s"] == 26.5'
prints_json 'set(d) >= {"jobs", "mean_wait_s", "avg_bsld", "max_wait_s", "makespan_s", "utilization", "wall_ms"}'

it 'writes when each job starts'
trace
run strata sim cluster small.swf --starts out.csv
gives 0
run cat out.csv
prints 'job_id,start
1,0
2,50
3,2
4,60'

it 'reads compressed traces and standard input'
trace
gzip -c small.swf >small.swf.gz
run strata sim cluster small.swf.gz --json
prints_json 'd["jobs"] == 4'
strata sim cluster - --json <small.swf >"$top/out" 2>"$top/err"
out=$(cat "$top/out")
prints_json 'd["jobs"] == 4'

it 'reads what sacct prints'
cat >history.txt <<'SACCT'
JobIDRaw|User|Submit|Start|End|Timelimit|State|AllocCPUS|AllocNodes|AllocTRES
1|ann|2026-11-15T18:00:00|2026-11-15T18:00:00|2026-11-15T18:00:50|00:01:40|COMPLETED|6|1|cpu=6,gres/gpu=2,mem=1G,node=1
1.batch||2026-11-15T18:00:00|2026-11-15T18:00:00|2026-11-15T18:00:50||COMPLETED|6|1|cpu=6
2|bob|2026-11-15T18:00:01|2026-11-15T18:05:00|2026-11-15T18:05:10|00:00:10|FAILED|8|1|cpu=8,mem=1G,node=1
3|bob|2026-11-15T18:00:01|Unknown|Unknown|00:00:10|CANCELLED by 0|0|0|
SACCT
run strata sim cluster history.txt --procs 8 --starts out.csv --json
gives 0
prints_json 'd["jobs"] == 2'
run cat out.csv
prints 'job_id,start
1,0
2,50'
printf 'JobID|Start\n1|2\n' >bad.txt
run strata sim cluster bad.txt --procs 8
gives 1
says_some 'no column Submit'

it 'compares policies side by side, with a plot'
trace
run strata sim cluster small.swf --compare fifo/none,fifo/easy,sjf/easy_sjbf/user_last2 --plot p.svg
gives 0
prints_some 'easy_sjbf  user_last2'
grep -q '</svg>' p.svg || problem 'no plot was written'
run strata sim cluster small.swf --compare ///first_fit,sjf///best_fit --json
prints_json '[(t["order"], t["placement"]) for t in d] == [("fifo", "first_fit"), ("sjf", "best_fit")]'
run strata sim cluster small.swf --compare fifo/easy/requested/best_fit/5
gives 2
says_some 'expected ORDER/BACKFILL/PREDICTION/PLACEMENT'

it 'takes windows of a trace, each on an empty machine'
trace
run strata sim cluster small.swf --windows 0,2:2 --backfill none --json
gives 0
prints_json 'd["jobs"] == 4 and len(d["window_bsld"]) == 2'
run strata sim cluster small.swf --windows 3:2
gives 2
says_some 'the window from 3 ends past'

it 'says what it needs to know'
trace
sed -i 1d small.swf
run strata sim cluster small.swf
gives 2
says_some 'give --procs N'
run strata sim cluster small.swf --procs 4
gives 0
says_some 'left out: 2 jobs that no node could ever take: 1, 2'
run strata sim cluster small.swf --procs 4 --json
prints_json 'd["jobs"] == 2 and d["impossible"] == 2 and d["impossible_jobs"] == [1, 2]'
run strata sim cluster small.swf --procs 4 --windows 1,2:2 --json
prints_json 'd["jobs"] == 3 and d["impossible_jobs"] == [2]'
run strata sim cluster small.swf --procs 4 --nodes nodes.csv
gives 2
says_some '--procs and --nodes are two machines; expected one of them'
sed -i '$d' small.swf
run strata sim cluster small.swf --procs 1
gives 2
says_some 'none of the trace'"'"'s 3 jobs fits on this machine'
run strata sim cluster small.swf --procs 8 --backfill eazy
gives 3
says_some "there is no backfill 'eazy'; did you mean 'easy'?"
run strata sim cluster none.swf
gives 3
says_some 'none.swf'
printf 'not a trace\n' >bad.swf
run strata sim cluster bad.swf
gives 1
says_some 'line 1'

it 'spreads jobs over nodes when there are some'
trace
printf 'sn,cpu_milli,memory_mib,gpu,model\na,4000,1024,0,\nb,4000,1024,0,\n' >nodes.csv
run strata sim cluster small.swf --nodes nodes.csv --json
gives 0
prints_json 'd["jobs"] == 4'

it 'gives the same bytes for the same command'
trace
strata sim cluster small.swf --plot one.svg --starts one.csv >/dev/null 2>&1
strata sim cluster small.swf --plot two.svg --starts two.csv >/dev/null 2>&1
cmp -s one.svg two.svg || problem 'the plots differ'
cmp -s one.csv two.csv || problem 'the starts differ'

it 'draws a timeline that Perfetto reads'
trace
run strata sim cluster small.swf --trace out.json
gives 0
run cat out.json
prints_json 'sorted(e["name"] for e in d["traceEvents"] if e["ph"] == "X") == ["job 1", "job 2", "job 3", "job 4"]'
prints_json '[e["args"]["wait_s"] for e in d["traceEvents"] if e.get("name") == "job 2"] == [49]'
prints_json '{"jobs", "in use"} == {e["name"] for e in d["traceEvents"] if e["ph"] == "C"}'
strata sim cluster small.swf --trace two.json >/dev/null
cmp -s out.json two.json || problem 'the timelines differ'
run strata trace merge out.json two.json -o all.json
gives 0
run strata sim cluster small.swf --trace out.json --compare fifo/none,fifo/easy
gives 2
says_some '--trace goes with one run over the whole trace'
run strata sim cluster small.swf --trace none/out.json
gives 3
says_some 'none/out.json'

it 'replays shares of GPUs, memory and types on nodes'
cat >gpu.swf <<'SWF'
; MaxProcs: 4
; Demand: 1 nodes=1:gpus=1:gpu_milli=600
; Demand: 2 nodes=2:gpus=2
; Demand: 3 nodes=1:gpus=1:gpu_models=H100
; Demand: 4 nodes=1:cpu_milli=4000
; Demand: 5 nodes=1:gpus=1:memory_mib=9000
1 0 -1 10 1 -1 -1 1 10 -1 1 1 -1 1 -1 -1 -1 -1
2 0 -1 10 1 -1 -1 1 10 -1 1 1 -1 1 -1 -1 -1 -1
3 0 -1 10 4 -1 -1 4 10 -1 1 2 -1 2 -1 -1 -1 -1
4 0 -1 10 1 -1 -1 1 10 -1 1 2 -1 3 -1 -1 -1 -1
5 0 -1 10 0 -1 -1 0 10 -1 1 2 -1 4 -1 -1 -1 -1
6 0 -1 10 1 -1 -1 1 10 -1 1 2 -1 5 -1 -1 -1 -1
SWF
printf 'sn,cpu_milli,memory_mib,gpu,model\na,4000,8192,2,T4\nb,4000,8192,2,T4\n' >nodes.csv
run strata sim cluster gpu.swf --nodes nodes.csv --starts out.csv --json
gives 0
prints_json 'd["jobs"] == 4 and d["impossible"] == 2 and d["impossible_jobs"] == [4, 6]'
prints_json '0 < d["gpu_fragmentation"] < 1 and 0 < d["fairness"] <= 1'
run cat out.csv
prints 'job_id,start
1,0
2,0
3,10
5,0'
run strata sim cluster gpu.swf --nodes nodes.csv
gives 0
prints_some FRAGMENTED
says_some '2 jobs that no node could ever take'
run strata sim cluster gpu.swf --json
prints_json 'd["jobs"] == 5 and d["gpu_fragmentation"] is None'

it 'lets queues be bands'
trace
sed -i '1a ; Queue: 1 high' small.swf
sed -i '$s/-1 -1 -1 -1$/1 -1 -1 -1/' small.swf
sed -i '$s/500/80/' small.swf
run strata sim cluster small.swf --starts plain.csv
run strata sim cluster small.swf --bands --starts bands.csv
gives 0
cmp -s plain.csv bands.csv && problem 'a job of a high band waits as long as before'

it 'replays what the service did, under another policy'
serve "{\"GET /api/v1/nodes\": {\"body\": {\"nodes\": [{\"name\": \"n1\", \"cpus\": 4, \"memory_bytes\": 17179869184, \"gpus\": 1, \"gpu_type\": \"a100\"}]}},
	\"GET /api/v1/jobs\": {\"body\": {\"next\": null, \"jobs\": [
	$(job id=2 'submitted_at="2026-11-15T14:00:01Z"' 'state="completed"' 'node_names=["n1"]' 'started_at="2026-11-15T14:10:00Z"' 'ended_at="2026-11-15T14:10:10Z"'),
	$(job id=1 'state="completed"' 'node_names=["n1"]' 'started_at="2026-11-15T14:00:00Z"' 'ended_at="2026-11-15T14:05:00Z"')]}}}"
run strata sim cluster --history --json
gives 0
prints_json '[(t["order"], t["mean_wait_s"], t["max_wait_s"]) for t in d] == [("as it was", 299.5, 599.0), ("fifo", 149.5, 299.0)]'
run strata sim cluster --history --compare fifo,sjf
gives 0
prints_some 'as it was'
run strata sim cluster
gives 2
says_some 'expected a trace or --history'
run strata sim cluster --history small.swf
gives 2
run strata sim cluster --history --procs 4
gives 2

it 'says where it cannot write'
trace
for option in --starts --plot --trace; do
	run strata sim cluster small.swf "$option" /nowhere/out.svg
	gives 3
	says 'strata: cannot open the directory of /nowhere/out.svg: No such file or directory'
done

it 'advises a policy by the first half and shows it on the second'
strata sim workload --model lublin:load=0.9 --jobs 600 --seed 3 --output month.swf
run strata sim cluster month.swf --advise --wait-limit 10
gives 0
prints_some 'first half  fifo '
prints_some 'second  '
prints_some "Chosen by the first half alone, with a longest wait of at most 10 times fifo/easy's"
prints_some '    order = '
run strata sim cluster month.swf --advise --wait-limit 10 --json
prints_json 'd["chosen"]["whole"]["jobs"] == 600 and d["chosen"]["second_half"]["jobs"] == 300'
prints_json 'min(t["first_half"]["avg_bsld"] for t in d["tried"]) == [t for t in d["tried"] if t["order"] == d["chosen"]["order"] and t["backfill"] == d["chosen"]["backfill"]][0]["first_half"]["avg_bsld"]'
run strata sim cluster month.swf --advise --wait-limit 0
prints_some 'None of these has a lower slowdown than fifo/easy with a longest wait of at most 0 times its own'
run strata sim cluster month.swf --advise --compare fifo
gives 2
says_some 'advise makes a comparison of its own'
trace
run strata sim cluster small.swf --advise
says_some '4 jobs are too few to choose by; expected 20 or more'

it 'has details of a log that does not say how long its jobs waited'
strata sim workload --jobs 50 --seed 1 -o made.swf
run strata sim cluster made.swf --json --details
gives 0
prints_json 'd["order"] == "fifo" and len(d["waits_s"]) == 101'
run strata sim cluster made.swf --json --details --compare fifo,sjf
prints_json '[row["order"] for row in d] == ["fifo", "sjf"]'
