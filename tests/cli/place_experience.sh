#!/bin/sh
. "$(dirname "$0")/lib.sh"

it 'says that nothing was learned yet'
run strata place experience
gives 3
says_some 'nothing was learned yet'

it 'shows what was learned'
gunzip -c "$STRATA_TEST_DATA/onnx/gpt2_decode.onnx.gz" >m.onnx
run strata engine run m.onnx --repeat 4 --devices cpu:0
gives 0
run strata place experience
gives 0
prints_some 'cpu:0   MatMul@decode'
prints_some 'semantic_optimization'
prints_some '1 plans, 0 failed'
run strata place experience --json
gives 0
prints_json 'd["schedules"]["successes"] == 1 and d["devices"]["cpu:0"]["MatMul"]["count"] == 3'

it 'reads the file that it is given'
run strata place experience none.json
gives 3
says_some 'none.json'
echo '[]' >odd.json
run strata place experience odd.json
gives 1
says_some 'odd.json is not a file of experience'

it 'shows nonsense as what it is'
echo '{"strata_experience":1,"devices":{"cpu":{"MatMul":{"slow":1e300,"fast":0.5,"count":3}}}}' >odd.json
run strata place experience odd.json
gives 0
prints_some 'cpu     MatMul        ?    1.41     3'
