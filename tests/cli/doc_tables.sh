#!/bin/sh
. "$(dirname "$0")/lib.sh"
tables=$STRATA_SOURCE/tools/doc-tables

it 'finds in docs every route and class that there is, and no other'
run "$tables" --check --docs "$STRATA_SOURCE/docs"
gives 0
prints ''

it 'names what differs, and writes it'
mkdir docs
grep -v 'GET /api/v1/trace`' "$STRATA_SOURCE/docs/api.md" >docs/api.md
grep -v '^| `dpmpp_2m`' "$STRATA_SOURCE/docs/classes.md" >docs/classes.md
run "$tables" --check --docs docs
gives 1
prints_some '+| `GET /api/v1/trace`'
prints_some '+| `dpmpp_2m`'
run "$tables" --docs docs
gives 0
for one in api classes; do
	cmp "docs/$one.md" "$STRATA_SOURCE/docs/$one.md" || problem 'the tables were not restored'
done

it 'refuses a document that has no place for them'
mkdir docs
echo nothing >docs/api.md
run "$tables" --docs docs
gives 1
says_some 'no place for the tables'
