#!/bin/sh
. "$(dirname "$0")/lib.sh"

it 'says when there is no such directory'
run strata engine conformance nowhere
gives 3
says_some 'nowhere: No such file or directory'
data=/usr/share/libonnx-testdata/data/node

it 'counts what is right, wrong and refused'
[ -d "$data" ] || skip "$data is not there (Debian: libonnx-testdata)"
run strata engine conformance "$data/test_abs" "$data/test_add"
gives 0
prints '2 right, 0 wrong, 0 refused'
run strata engine conformance --json "$data/test_abs"
gives 0
prints_json 'd["right"] == 1 and d["list"][0]["result"] == "right"'

it 'refuses a directory without a model and ends with 1 when something is wrong'
[ -d "$data" ] || skip "$data is not there (Debian: libonnx-testdata)"
mkdir empty
run strata engine conformance empty
gives 0
prints_some 'empty: refused: empty/model.onnx: No such file or directory'
cp -r "$data/test_abs" changed
cp "$data/test_abs/test_data_set_0/input_0.pb" changed/test_data_set_0/output_0.pb
run strata engine conformance changed
gives 1
prints_some 'changed: wrong: element'
