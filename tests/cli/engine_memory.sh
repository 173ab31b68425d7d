#!/bin/sh
# A model of 128 MiB within a budget: by the process's own peak, and in a control group whose
# memory is limited, where the kernel ends what takes more.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/group.sh"

# y = tanh(x · w0) · w1 …, 8 layers of 2048 × 2048, the weights in a file beside the model.
weights() {
	python3 - "$1" "$2" <<'P'
import os, sys
layers, width = int(sys.argv[1]), int(sys.argv[2])

def number(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])

def field(key, value):
    if isinstance(value, int):
        return number(key << 3) + number(value)
    value = value.encode() if isinstance(value, str) else value
    return number(key << 3 | 2) + number(len(value)) + value

def port(name):
    shape = b"".join(field(1, field(1, size)) for size in (1, width))
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))

def entry(key, value):
    return field(13, field(1, key) + field(2, str(value)))

graph, last, bytes_each = b"", "x", width * width * 4
for i in range(layers):
    graph += field(1, field(1, last) + field(1, f"w{i}") + field(2, f"p{i}") + field(3, f"mul{i}") + field(4, "MatMul"))
    graph += field(1, field(1, f"p{i}") + field(2, f"t{i}") + field(3, f"tanh{i}") + field(4, "Tanh"))
    last = f"t{i}"
    tensor = field(1, width) + field(1, width) + field(2, 1) + field(8, f"w{i}") + field(14, 1)
    graph += field(5, tensor + entry("location", "m.data") + entry("offset", i * bytes_each) + entry("length", bytes_each))
graph += field(2, "chain") + field(11, port("x")) + field(12, port(last))
open("m.onnx", "wb").write(field(1, 8) + field(7, graph) + field(8, field(2, 17)))
with open("m.data", "wb") as file:
    row = bytes(width * 4 - 4) + b"\x00\x00\x80\x3c"
    for i in range(layers * width):
        file.write(row)
P
	sync m.data
}

# The most that the program took, in bytes.
peak() {
	python3 -c '
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, capture_output=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)' "$@"
}

it 'takes the budget, activations and no more than 48 MiB beside what the program has'
weights 1 64
own=$(peak strata engine run m.onnx --repeat 1 --devices cpu:0)
weights 8 2048
took=$(peak strata engine run m.onnx --repeat 3 --devices cpu:0 --budget 40MiB)
run strata engine run m.onnx --repeat 3 --devices cpu:0 --budget 40MiB --output small --json
gives 0
prints_json 'd["kept_bytes"] + d["frame_bytes"] <= 40 << 20 and d["read_bytes"] > 128 << 20'
run test $((took - own)) -le $(((40 + 48) << 20))
gives 0
run strata engine run m.onnx --repeat 1 --devices cpu:0 --output whole
gives 0
run cmp small/t7.npy whole/t7.npy
gives 0

it 'stays within a limit of memory that the kernel keeps'
weights 8 2048
limit=$((own + (88 << 20)))
group=$(make_group $limit)
if [ -z "$group" ]; then
	skip 'no control group can be made here'
else
	run sh -c 'echo $$ >"$0/cgroup.procs" && exec strata engine run m.onnx --repeat 2 --devices cpu:0 --budget 40MiB --json' "$group"
	gives 0
	rmdir "$group"
fi
