#!/bin/sh
. "$(dirname "$0")/lib.sh"
digits=$STRATA_TEST_DATA/pipelines/digits

# The sizes and the text of a PNG file.
png() {
	python3 - "$1" <<'P'
import struct, sys
data = open(sys.argv[1], "rb").read()
assert data[:8] == b"\x89PNG\r\n\x1a\n"
at = 8
while at < len(data):
    length, kind = struct.unpack(">I4s", data[at:at + 8])
    body = data[at + 8:at + 8 + length]
    if kind == b"IHDR":
        print("%dx%d" % struct.unpack(">II", body[:8]))
    if kind == b"tEXt":
        print(body.decode().replace("\0", ": "))
    at += length + 12
P
}

it 'draws a picture of a prompt, with the settings in it'
run strata engine image "$digits" 'a seven' --seed 5 --steps 4 -o seven.png
gives 0
says_some 'seven.png: 16x16, 4 steps, seed 5'
run png seven.png
prints_some '16x16'
prints_some 'parameters: a seven'
prints_some 'Steps: 4, Sampler: flow_euler, CFG scale: 1.5, Seed: 5, Size: 16x16, Model: digits'

it 'leaves out model calls when it is told to'
strata engine image "$digits" 'a seven' --seed 5 --steps 12 -o exact.png
strata engine image "$digits" 'a seven' --seed 5 --steps 12 --quality exact -o same.png
run strata engine image "$digits" 'a seven' --seed 5 --steps 12 --quality draft -o draft.png
gives 0
run png draft.png
prints_some 'Steps: 12, Sampler: flow_euler, CFG scale: 1.5, Seed: 5, Size: 16x16, Model: digits, Quality: draft'
python3 - <<'P' || problem 'exact is not what no quality is, or a draft is no other picture'
def pixels(path):
    data = open(path, "rb").read()
    return data[data.index(b"IDAT"):]
assert pixels("exact.png") == pixels("same.png") != pixels("draft.png")
P
run strata engine image "$digits" 'a seven' --quality best
gives 3
says "strata: there is no quality 'best'; expected exact, normal or draft, or one of \`strata classes reuse\`"
run strata engine image "$digits" 'a seven' --solver 'ddim:clip_sample=yes' --quality draft
gives 1
says_some 'ddim limits what the model predicts here, so no call can be left out'

it 'draws the same picture of the same seed'
strata engine image "$digits" 'a seven' --seed 5 --steps 4 -o one.png
strata engine image "$digits" 'a seven' --seed 5 --steps 4 -o two.png --budget 40%
strata engine image "$digits" 'a seven' --seed 6 --steps 4 -o three.png
cmp one.png two.png || problem 'a budget changed the picture'
cmp -s one.png three.png && problem 'another seed gave the same picture'
run strata engine image "$digits" 'a seven' --seed 5 --steps 4 -o one.png --json
gives 0
prints_json 'd["seed"] == 5 and d["width"] == 16 and d["solver"] == "flow_euler" and d["pipeline"] == "class_conditional"'

it 'replaces a file and nothing else, follows links and heeds the umask'
mkfifo pipe
run strata engine image "$digits" 'a seven' --steps 4 -o pipe
gives 2
says_some 'pipe is a device or a pipe; expected the path of a file'
test -p pipe || problem 'the pipe was replaced'
run strata engine image "$digits" 'a seven' --steps 4 -o seven.png --trace pipe
gives 2
test -p pipe || problem 'the trace replaced the pipe'
mkdir directory
run strata engine image "$digits" 'a seven' --steps 4 -o directory
gives 1
says_some 'directory is a directory; expected the path of a file'
: >target.png
ln -s target.png link.png
run sh -c 'umask 027; strata engine image "$1" 7 --steps 4 -o link.png --trace trace.json' sh "$digits"
gives 0
test -h link.png || problem 'the link was replaced'
run stat -c %a target.png trace.json
prints '640
640'

it 'takes solvers by the names that users know'
run strata engine image "$digits" 7 --seed 5 --steps 3 --solver Heun -o heun.png --json
gives 0
prints_json 'd["solver"] == "flow_heun"'

it 'draws with the model that comes with it, by name'
run strata engine image digits 'a seven' --seed 5 -o seven.png --json
gives 0
prints_json 'd["width"] == 28 and d["steps"] == 12 and d["pipeline"] == "class_conditional"'
run png seven.png
prints_some 'CFG scale: 2, Seed: 5, Size: 28x28, Model: digits'
run strata engine image digits 'The digit 7!' --seed 5 -o other.png
gives 0
python3 - <<'P' || problem 'two words for seven gave two pictures'
import re
def pixels(path):
    data = open(path, "rb").read()
    return data[data.index(b"IDAT"):]
assert pixels("seven.png") == pixels("other.png")
P
run strata engine image digits 8 --seed 5 -o eight.png
cmp -s seven.png eight.png && problem 'seven and eight are the same picture'

it 'finds models where STRATA_MODELS says'
mkdir -p a b
cp -r "$digits" b/mine
export STRATA_MODELS=a:b
run strata engine image mine 7 --steps 2 --json
gives 0
prints_json 'd["width"] == 16'
run strata engine image mein 7
gives 3
says_some 'there is no mein/model_index.json, and no model of that name; known by name: mine, digits'
unset STRATA_MODELS

it 'writes larger pictures'
run strata engine image "$digits" 7 --seed 5 --steps 2 --scale 3 --json
gives 0
prints_json 'd["width"] == 48 and d["height"] == 48'
run png image.png
prints_some '48x48'
prints_some 'Size: 16x16'

it 'shows the picture while it is drawn, if it is asked to'
run strata engine image "$digits" 7 --seed 5 --steps 2
says 'strata: image.png: 16x16, 2 steps, seed 5'
run strata engine image "$digits" 7 --seed 5 --steps 2 --preview blocks
gives 0
says_some "$(printf '\033[8A')"
says_some '▀'
run strata engine image "$digits" 7 --seed 5 --steps 2 --preview sixel
says_some '"1;1;256;256#'
run strata engine image "$digits" 7 --seed 5 --steps 2 --preview kitty
says_some 's=16,v=16,c=32,r=16'
run strata engine image "$digits" 7 --seed 5 --steps 2 --preview none
says 'strata: image.png: 16x16, 2 steps, seed 5'
run strata engine image "$digits" 7 --preview pink
gives 2
says_some 'auto, none, blocks, sixel or kitty'

it 'shows it in a terminal, in place'
python3 - "$digits" <<'P' || problem 'what the terminal got is not one picture over the other'
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.environ.update(TERM="xterm-256color", COLORTERM="truecolor")
    os.execvp("strata", ["strata", "engine", "image", sys.argv[1], "7", "--seed", "5", "--steps", "3"])
seen = b""
try:
    while chunk := os.read(terminal, 65536):
        seen += chunk
except OSError:
    pass
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
lines, ups, downs = seen.split(b"\x1b[8A")[0].count(b"\n"), seen.count(b"\x1b[8A\x1b7"), seen.count(b"\x1b8\x1b[8B")
assert lines == 8 and ups == downs >= 2, (lines, ups, downs)
assert seen.count("▀".encode()) == ups * 128 and b"38;2;" in seen
assert seen.rstrip().endswith(b"image.png: 16x16, 3 steps, seed 5"), seen[-100:]
P

it 'says what is wrong'
run strata engine image nowhere 'a fox'
gives 3
says_some 'nowhere/model_index.json'
run strata engine image "$digits" 'a horse'
gives 2
says_some 'a horse'
says_some 'it draws: zero, one, two, three, four, five, six, seven, eight, nine'
run strata engine image "$digits" 'one seven'
gives 2
says_some 'names two classes, one and seven'
run strata engine image "$digits" 7 --size 12by12
gives 2
says_some '--size 12by12 is not WIDTHxHEIGHT'
run strata engine image "$digits" 7 --solver nothing
gives 3
says_some 'nothing'
run strata engine image "$digits" 7 --budget 300%
gives 2
says_some '300%'
run strata engine image "$digits" 7 --init nowhere.png
gives 3
says_some 'nowhere.png'
[ ! -e image.png ] || problem 'a picture was written'

it 'starts from a picture of any size, in multiples of 64'
sd=${STRATA_DATA:-$STRATA_SOURCE/../shared}/golden/pipelines/tiny-sd
if [ -d "$sd" ]; then
	strata engine image digits 7 --steps 1 -o from.png # 28x28
	run strata engine image "$sd" 'a cat' --init from.png --steps 2 -o to.png
	gives 0
	says_some 'to.png: 64x64'
	run strata engine image "$sd" 'a cat' --size 40x72 --steps 2 -o to.png
	gives 2
	says_some 'the size 40x72 does not fit this model: expected multiples of 16 ('
else
	skip "$sd is not there"
fi

it 'traces requests, rows, subgraphs and layers on one clock'
run strata engine image digits 'a two' --steps 3 --budget 40% --trace t.json -o two.png
gives 0
run python3 -c '
import json
events = json.load(open("t.json"))["traceEvents"]
lanes = {e["tid"]: e["args"]["name"] for e in events if e.get("name") == "thread_name"}
names = {lane: [e["name"] for e in events if e.get("tid") == tid and e["ph"] in "XB"] for tid, lane in lanes.items()}
assert names["pipeline"].count("step") == 3 and names["pipeline"].count("row") == 3, names["pipeline"]
assert "encode" in names["pipeline"] and "decode" in names["pipeline"]
assert len(names["cpu"]) >= 3 and len(lanes) > 2, lanes
steps = [e for e in events if lanes.get(e.get("tid")) == "pipeline" and e.get("name") == "row"]
assert [e["args"]["call"] for e in steps] == [0, 1, 2]
'
gives 0

it 'says where it cannot write'
for option in -o --trace; do
	run strata engine image "$digits" 'a seven' --steps 1 "$option" /nowhere/out.svg
	gives 3
	says_some 'strata: cannot open the directory of /nowhere/out.svg: No such file or directory'
done
