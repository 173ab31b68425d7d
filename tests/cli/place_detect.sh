#!/bin/sh
. "$(dirname "$0")/lib.sh"

it 'shows what there is to compute with'
run strata place detect
gives 0
prints_some 'DEVICE'
prints_some 'cpu'
run strata place detect --json
gives 0
prints_json 'd["devices"][0]["kind"] == "cpu" and d["devices"][0]["flops_per_s"] > 1e9 and d["devices"][0]["capacity"] > 1 << 28'
prints_json 'len(d["links"]) == len(d["devices"]) * (len(d["devices"]) - 1)'
