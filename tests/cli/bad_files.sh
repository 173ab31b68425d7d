#!/bin/sh
# What every command that reads a file says, and with which status it ends, when there is none, when it is empty, a directory, or junk. As troubles.sh:
# tests/data/bad_files.txt has a command behind each $, what it prints and its status. FILL=1 writes what is printed now; look at the difference.
. "$(dirname "$0")/lib.sh"

file=$STRATA_SOURCE/tests/data/bad_files.txt
it 'says what is wrong with a file'
mkdir folder
: >empty
printf '{"x": [1, 2' >cut.json
printf '[]' >list.json
printf '{}' >table.json
printf 'a,b\n1,2\n' >two.csv
printf '\001\002\003\377 not a file of this kind\n' >junk
grep '^\$ ' "$file" | sed 's/^\$ //' >commands
while read -r line; do
	printf '$ %s\n' "$line"
	eval "timeout 20 strata $line" >out 2>&1 </dev/null
	code=$?
	sed "s|$PWD|DIR|g" out | head -n 20
	printf '[%d]\n' "$code"
done <commands >now
[ -z "${FILL:-}" ] || cp now "$file"
run diff -u "$file" now
gives 0
prints ''
