#!/bin/sh
. "$(dirname "$0")/lib.sh"

it 'lists what there is'
run strata init
gives 0
prints_some 'train '
prints_some 'sweep.sh'
run strata init --json
prints_json 'len(d["templates"]) >= 8 and {"name", "summary", "files"} == set(d["templates"][0])'

it 'writes the files of a template, and says what to type next'
run strata init train work/first
gives 0
says ''
prints_some 'work/first/train.sh'
prints_some 'cd work/first && strata submit train.sh'
[ -x work/first/train.sh ] && [ ! -x work/first/train.py ] || problem "modes: $(ls -l work/first)"
cmp -s work/first/train.sh "$STRATA_SOURCE/templates/train/train.sh" || problem 'train.sh is not the template'
run strata init array
prints_some 'array/settings.csv'
run strata init ray there --json
prints_json 'd == {"directory": "there", "files": ["ray.sh", "work.py"]}'

it 'writes over nothing'
mkdir mine
echo mine >mine/train.sh
run strata init train mine
gives 6
says 'strata: mine/train.sh is there already, and nothing was written; name another directory: strata init train DIR'
[ "$(ls mine)" = train.sh ] && [ "$(cat mine/train.sh)" = mine ] || problem 'something was written'
echo mine >file
run strata init train file
[ "$code" != 0 ] || problem 'wrote into a file'
case $err in *'the directory file'*) ;; *) problem "it says $err" ;; esac

it 'knows what was meant'
run strata init jupiter
gives 3
says "strata: there is no template 'jupiter'; did you mean 'jupyter'? \`strata init\` lists them"
run strata init nothing-like-it
says "strata: there is no template 'nothing-like-it'; \`strata init\` lists them"
run strata complete init ja
prints ''
run strata complete init ju
prints 'jupyter	a notebook server on a GPU machine, reached through SSH'

it 'writes scripts that shells and Python read'
for template in $(strata init --json | python3 -c 'import json, sys; print(*(one["name"] for one in json.load(sys.stdin)["templates"]))'); do
	strata init "$template" >/dev/null || problem "$template cannot be written"
	for file in "$template"/*.sh; do bash -n "$file" || problem "$file"; done
	for file in "$template"/*.py; do
		[ ! -e "$file" ] || python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$file" || problem "$file"
	done
	strata help init >/dev/null
done
run strata config --check image-service/strata.ini
gives 0
