#!/bin/sh
. "$(dirname "$0")/lib.sh"

# Eight layers of 256 KiB, two of them in half precision, and a head.
weights() {
	python3 -c '
import json, struct
layers = [(f"blocks.{i}.w", "F32", [256, 256], 4) for i in range(6)] + [("blocks.6.w", "F16", [512, 256], 2), ("blocks.7.w", "BF16", [512, 256], 2),
          ("head.weight", "F32", [10], 4)]
header, data = {"__metadata__": {"format": "pt"}}, b""
for name, kind, shape, size in layers:
    count = shape[0] * (shape[1] if len(shape) > 1 else 1)
    header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(data), len(data) + count * size]}
    data += (bytes(range(60)) * (count * size // 60 + 2))[len(header):][:count * size]
text = json.dumps(header).encode()
open("m.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + data)'
}

it 'runs a model that does not fit, and it comes out as if it did'
weights
run strata stage run m.safetensors --budget 1MiB --page 64KiB --matmul 4 --rounds 2 --threads 1 --json
gives 0
prints_json 'd["equal"] is True and 0 < d["peak_bytes"] <= 1 << 20 and d["layers"] == 9 and d["rounds"] == 2'
prints_json '1 << 20 <= d["bytes_per_step"] < 3 << 20'
prints_json 'not d["direct"] or abs(d["disk_bytes"] - d["bytes_read"]) <= 2 << 20'
prints_json 'd["step_us"] > 0 and d["overlap"] > 0 and d["bound_us"] == max(d["compute_us"], d["read_us"]) or d["bound_us"] > 0'

it 'computes for a time instead'
weights
run strata stage run m.safetensors --budget 1MiB --page 64KiB --compute-ms 2 --rounds 1
gives 0
prints_some 'equal'
run strata stage run m.safetensors --budget 1MiB --page 64KiB --compute-ms 2 --rounds 1 --json
prints_json 'd["compute_us"] >= 18000 and d["step_us"] >= 18000'

it 'reads at a pace, by threads, through the cache'
weights
run strata stage run m.safetensors --budget 1MiB --page 64KiB --compute-ms 0 --rounds 1 --pace 20MB/s --channel threads --cached --json
gives 0
prints_json 'd["channel"] == "threads" and not d["direct"] and d["disk_bytes"] == -1 and d["bandwidth"] == 20000000'
prints_json 'd["read_us"] >= 0.5 * d["bytes_per_step"] / 20'

it 'draws what happened'
weights
run strata stage run m.safetensors --budget 1MiB --page 64KiB --compute-ms 1 --rounds 1 --plot p.svg --trace t.json
gives 0
grep -q '<title>blocks.3</title>' p.svg && grep -q 'computing' p.svg || problem 'no picture'
python3 -c 'import json; e = json.load(open("t.json"))["traceEvents"]; assert sum(x.get("name") == "blocks.3" and x["ph"] == "X" for x in e) >= 2, e' || problem 'no trace'

it 'stays within a budget of two pages a layer'
weights
run strata stage run m.safetensors --budget 320KiB --page 4KiB --matmul 2 --rounds 1 --threads 1 --planner on_demand --json
gives 0
prints_json 'd["planner"] == "on_demand" and d["peak_bytes"] <= 320 << 10'

it 'follows a schedule that somebody wrote, there and back'
weights
for l in 0 1 2 3 4 5 6 7; do printf 'fetch blocks.%d\ncompute blocks.%d\nrelease blocks.%d\n' $l $l $l; done >mine.txt
printf 'fetch head\ncompute head\ncompute head\nrelease head\n' >>mine.txt
for l in 7 6 5 4 3 2 1 0; do printf 'fetch blocks.%d\ncompute blocks.%d\nrelease blocks.%d\n' $l $l $l; done >>mine.txt
run strata stage run m.safetensors --budget 1MiB --page 64KiB --matmul 2 --threads 1 --rounds 1 --schedule mine.txt --json
gives 0
prints_json 'd["equal"] and d["peak_bytes"] <= 384 << 10 and d["bytes_per_step"] > 4 << 20'
run strata stage plan --model m.safetensors --budget 1MiB --page 64KiB --schedule --json
printf '%s' "$out" >plan.json
run strata stage run m.safetensors --budget 1MiB --page 64KiB --compute-ms 0 --rounds 1 --schedule plan.json --json
gives 0
prints_json 'd["equal"] and d["bytes_per_step"] < 2 << 20'
printf 'compute blocks.0\n' >bad.txt
run strata stage run m.safetensors --budget 1MiB --page 64KiB --compute-ms 0 --rounds 1 --schedule bad.txt
gives 2
says_some 'entry 0 (compute of blocks.0)'

it 'says what is missing'
weights
run strata stage run m.safetensors --budget 1MiB
gives 2
says_some 'expected --matmul M or --compute-ms T'
run strata stage run m.safetensors --budget 1MiB --matmul 4 --compute-ms 1
gives 2
run strata stage run m.safetensors --budget 100KiB --page 4KiB --compute-ms 0
gives 4
says_some 'the largest layer needs'
run strata stage run none.safetensors --budget 1MiB --compute-ms 0
gives 3
head -c 300000 m.safetensors >cut.safetensors
run strata stage run cut.safetensors --budget 1MiB --compute-ms 0
gives 1
says_some 'cut short'

it 'says where it cannot write'
weights
for option in --plot --trace; do
	run strata stage run m.safetensors --budget 1MiB --page 64KiB --compute-ms 1 --rounds 1 "$option" /nowhere/out.svg
	gives 3
	says 'strata: cannot open the directory of /nowhere/out.svg: No such file or directory'
done
