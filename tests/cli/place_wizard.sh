#!/bin/sh
. "$(dirname "$0")/lib.sh"

it 'shows what there is and writes what it recommends'
run strata place wizard --yes
gives 0
prints_some 'profile basic_inference'
prints_some 'wrote place.ini'
grep -qx 'profile = basic_inference' place.ini || problem "place.ini is $(cat place.ini)"

it 'asks, and what is answered counts'
printf 'y\nn\n\ny\n\n' | strata place wizard --profile llm_serving -o mine.ini >out.txt || problem "exit status $?"
grep -q 'semantic_optimization (on now), on? \[Y/n\]' out.txt || problem "$(cat out.txt)"
grep -qx 'enable = advanced_optimization' mine.ini || problem "mine.ini is $(cat mine.ini)"
grep -qx 'disable = semantic_optimization' mine.ini || problem "mine.ini is $(cat mine.ini)"
printf '{"ops":[{"name":"a","flops":1e9}]}' >model.json
run strata place model.json --settings mine.ini --json
gives 0
prints_json 'd["profile"] == "llm_serving" and "advanced_optimization" in d["features"] and "semantic_optimization" not in d["features"]'
run strata place model.json --settings mine.ini --profile basic_inference --json
prints_json 'd["profile"] == "basic_inference"'

it 'knows profiles'
run strata place wizard --yes --profile llm_servin
gives 3
says_some 'did you mean llm_serving?'

it 'leaves a file alone that it did not write'
run strata place wizard --yes
gives 0
run strata place wizard --yes --profile llm_serving
gives 0
grep -qx 'profile = llm_serving' place.ini || problem "place.ini is $(cat place.ini)"
echo mine >place.ini
run strata place wizard --yes
[ "$code" != 0 ] || problem 'it wrote over it'
says_some "place.ini is there and is not the wizard's"
[ "$(cat place.ini)" = mine ] || problem "place.ini is $(cat place.ini)"
