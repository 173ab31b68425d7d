#!/bin/sh
# What commands that decide, simulate and draw write, whole: tables, JSON and pictures. As bad_files.sh: tests/data/outputs.txt has a command behind each $ and
# what it prints. What is measured on this machine is left out, and digits behind the eighth. FILL=1 writes what is printed now; look at the difference.
. "$(dirname "$0")/lib.sh"

file=$STRATA_SOURCE/tests/data/outputs.txt
steady() {
	sed -E 's/"(wall_ms|plan_ms|took_ms)": *[0-9.e+-]+/"\1": N/g; s/ +TOOK$/ TOOK/; s/ +[0-9.]+ (us|ms)$/ N/' | perl -pe 's/(\d+\.\d{9,}(e[-+]?\d+)?)/sprintf("%.8g", $1)/ge'
}

it 'writes what it wrote'
cat >small.swf <<'SWF'
; MaxProcs: 8
1 0 -1 50 6 -1 -1 6 100 -1 1 1 -1 -1 -1 -1 -1 -1
2 1 -1 10 8 -1 -1 8 10 -1 1 2 -1 -1 -1 -1 -1 -1
3 2 -1 20 2 -1 -1 2 90 -1 1 1 -1 -1 -1 -1 -1 -1
4 3 -1 5 1 -1 -1 1 500 -1 1 2 -1 -1 -1 -1 -1 -1
5 60 -1 30 4 -1 -1 4 40 -1 1 3 -1 -1 -1 -1 -1 -1
SWF
{
	echo arrival_s,user,model,steps,exec_s,num_frames,deadline_s
	for i in 0 1 2 3 4 5 6 7 8 9; do echo "$i,ann,sdxl,30,30,$((40 - i)),"; done
	echo 12,bob,sdxl,30,3,50,100
	echo 14,eve,flux,8,4,1,20
} >requests.csv
cat >model.json <<'JSON'
{"name":"towers","ops":[
 {"name":"text","kind":"Gemm","flops":4e9,"bytes":2e7,"weight_bytes":"300MiB"},
 {"name":"image","kind":"Conv","flops":9e9,"bytes":5e7,"weight_bytes":"500MiB"},
 {"name":"attend","kind":"Attention","flops":2e9,"bytes":1e8,"weight_bytes":"100MiB","kv_bytes":"200MiB","kv_device":1},
 {"name":"join","kind":"MatMul","flops":1e8,"bytes":1e6}],
 "edges":[{"from":"text","to":"attend","bytes":1000000},{"from":"image","to":"join","bytes":1000000},
  {"from":"attend","to":"join","bytes":100000}]}
JSON
cat >devices.json <<'JSON'
{"devices":[{"name":"gpu0","flops_per_s":1e13,"bytes_per_s":5e11,"capacity":"1GiB"},
 {"name":"gpu1","flops_per_s":1e13,"bytes_per_s":5e11,"capacity":"1GiB"},
 {"name":"cpu0","kind":"cpu","flops_per_s":5e11,"bytes_per_s":5e10}],"link_bytes_per_s":1.2e10,"link_latency_ns":10000}
JSON
printf '{"layers":[{"name":"a","bytes":100,"compute_us":50},{"name":"b","bytes":50,"compute_us":20},{"name":"c","bytes":170}],"order":["a","b","a","c"]}' >layers.json
cat >job.sh <<'SH'
#!/bin/bash
#SBATCH --job-name=train --nodes=2 --ntasks-per-node=4 --cpus-per-task=2
#SBATCH --gres=gpu:a100:4 --mem=64G --time=1-02:00:00 --array=1-7:3%2
#SBATCH --dependency=afterok:7 --mail-type=END --constraint="ib&fast" --exclusive
srun python train.py
SH
grep '^\$ ' "$file" | sed 's/^\$ //' >commands
while read -r line; do
	printf '$ %s\n' "$line"
	eval "timeout 60 strata $line" 2>&1 </dev/null | steady | sed "s|$PWD|DIR|g"
	echo
done <commands >now
[ -z "${FILL:-}" ] || cp now "$file"
run diff -u "$file" now
gives 0
prints ''
