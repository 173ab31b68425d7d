#!/bin/sh
. "$(dirname "$0")/lib.sh"

it 'lists solvers, schedules and families'
run strata solver list
gives 0
prints_some 'dpmpp_2m'
prints_some 'EulerAncestralDiscreteScheduler'
prints_some 'karras'
prints_some 'sdxl'

it 'lists them for programs'
run strata solver list --json
gives 0
prints_json 'len(d["solvers"]) >= 32 and len(d["schedules"]) >= 10 and {f["name"]: f["solver"] for f in d["families"]}["sd15"] == "ddim"'
