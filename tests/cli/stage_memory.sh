#!/bin/sh
# A model of 160 MiB in a control group whose memory is limited: the kernel ends what takes more.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/group.sh"

weights() {
	python3 -c '
import json, os, struct
header, at = {}, 0
for i in range(40):
    header[f"blocks.{i}.w"] = {"dtype": "F32", "shape": [1024, 1024], "data_offsets": [at, at + (4 << 20)]}
    at += 4 << 20
text = json.dumps(header).encode()
with open("m.safetensors", "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text)
    for i in range(40):
        file.write(os.urandom(1 << 20) * 4)'
	sync m.safetensors
}

# What the program takes with hardly any model, sanitizers and all, and 24 MiB for the budget.
it 'stays within the memory that it was given, by the kernel'"'"'s own count'
weights
own=$(python3 -c '
import json, resource, struct, subprocess
text = json.dumps({"b.0.w": {"dtype": "F32", "shape": [1024], "data_offsets": [0, 4096]}}).encode()
open("s.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + bytes(4096))
subprocess.run(["strata", "stage", "run", "s.safetensors", "--budget", "2MiB", "--page", "64KiB", "--compute-ms", "0", "--rounds", "1"], check=True, capture_output=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)')
limit=$((own + (48 << 20)))
group=$(make_group $limit)
if [ -z "$group" ]; then
	skip 'no control group can be made here'
elif [ "$limit" -ge $((160 << 20)) ]; then
	skip "the program alone takes $((own >> 20)) MiB"
	rmdir "$group"
else
	run sh -c 'echo $$ >"$0/cgroup.procs" && exec strata stage run m.safetensors --budget 24MiB --page 1MiB --compute-ms 0 --rounds 1 --json' "$group"
	gives 0
	prints_json 'd["equal"] and d["peak_bytes"] <= 24 << 20 and d["bytes_per_step"] > 100 << 20'
	rmdir "$group"
fi
