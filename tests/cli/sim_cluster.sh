#!/bin/sh
. "$(dirname "$0")/lib.sh"

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

it 'compares policies side by side, with a plot'
trace
run strata sim cluster small.swf --compare fifo/none,fifo/easy,sjf/easy_sjbf/user_last2 --plot p.svg
gives 0
prints_some 'easy_sjbf  user_last2'
grep -q '</svg>' p.svg || problem 'no plot was written'

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
gives 2
says_some 'job 1 asks for 6 processors; the machine has 4'
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
