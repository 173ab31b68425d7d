#!/bin/sh
. "$(dirname "$0")/lib.sh"

it 'measures and writes a profile'
run strata place calibrate --time 10ms --save devices.json
gives 0
prints_some 'network within the machine'
says_some 'written to devices.json'
run python3 -c 'import json; d = json.load(open("devices.json")); assert d["devices"][0]["flops_per_s"] > 1e6 and d["devices"][0]["bytes_per_s"] > 1e6 and d["link_bytes_per_s"] > 1e6, d'
gives 0
run strata place calibrate --time 10ms --json
gives 0
prints_json 'd["devices"][0]["overhead_ns"] > 0'

it 'says where it cannot write'
run strata place calibrate --time 1ms --save /nowhere/devices.json
gives 3
says_some '/nowhere/devices.json'
