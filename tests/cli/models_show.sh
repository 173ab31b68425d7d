#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'shows a model'
serve '{"GET /api/v1/models/digits": {"body": '"$(model)"'}}'
run strata models show digits
gives 0
prints_some 'memory        512 MiB'
prints_some 'most workers  1'
run strata models show nosuch
gives 3

it 'shows what a step has needed'
serve '{"GET /api/v1/models/digits": {"body": '"$(model 'family="sdxl"' 'measured=[{"width": 0, "height": 0, "n": 1, "images": 7, "seconds_per_step": 0.0123}, {"width": 512, "height": 256, "n": 2, "images": 0, "seconds_per_step": null}]')"'}}'
run strata models show digits
gives 0
prints_some 'family        sdxl'
prints_some '  WIDTH   HEIGHT  N  PICTURES    A STEP'
prints_some 'its own  its own  1         7  0.0123 s'
prints_some '    512      256  2         0         -'
