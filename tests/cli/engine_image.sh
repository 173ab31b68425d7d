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

it 'draws the same picture of the same seed'
strata engine image "$digits" 'a seven' --seed 5 --steps 4 -o one.png
strata engine image "$digits" 'a seven' --seed 5 --steps 4 -o two.png --budget 40%
strata engine image "$digits" 'a seven' --seed 6 --steps 4 -o three.png
cmp one.png two.png || problem 'a budget changed the picture'
cmp -s one.png three.png && problem 'another seed gave the same picture'
run strata engine image "$digits" 'a seven' --seed 5 --steps 4 -o one.png --json
gives 0
prints_json 'd["seed"] == 5 and d["width"] == 16 and d["solver"] == "flow_euler" and d["pipeline"] == "class_conditional"'

it 'takes solvers by the names that users know'
run strata engine image "$digits" 7 --seed 5 --steps 3 --solver Heun -o heun.png --json
gives 0
prints_json 'd["solver"] == "flow_heun"'

it 'says what is wrong'
run strata engine image nowhere 'a fox'
gives 3
says_some 'nowhere/model_index.json'
run strata engine image "$digits" 'a horse'
gives 2
says_some 'a horse'
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
