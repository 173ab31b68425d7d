#!/bin/sh
. "$(dirname "$0")/lib.sh"
tables=$STRATA_SOURCE/tools/slurm-tables

it 'finds in docs/slurm.md every option and field that there is, and no other'
run "$tables" --check "$STRATA_SOURCE/docs/slurm.md"
gives 0
prints ''

it 'names what differs, and writes it'
grep -v '`-w, --nodelist=…`' "$STRATA_SOURCE/docs/slurm.md" >changed.md
run "$tables" --check changed.md
gives 1
prints_some '+| `-w, --nodelist=…`'
run "$tables" changed.md
gives 0
cmp changed.md "$STRATA_SOURCE/docs/slurm.md" || problem 'the tables were not restored'

it 'refuses a document that has no place for them'
echo nothing >none.md
run "$tables" none.md
gives 1
says_some 'no place for the tables'
