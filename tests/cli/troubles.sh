#!/bin/sh
# What every command that asks the service says, and with which status it ends, when the service cannot or may not.
# tests/data/troubles.txt has a command behind each $, what it prints and its status. FILL=1 writes what is printed now; look at
# the difference.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

file=$STRATA_SOURCE/tests/data/troubles.txt
grep '^\$ ' "$file" | sed 's/^\$ //' | sort -u >"$top/commands"
: >"$top/all"

# trouble NAME ANSWER: of every command
trouble() {
	it "ends with an error where the service answers with $1"
	serve "$2"
	printf '== %s\n' "$1" >now
	while read -r line; do
		printf '$ %s\n' "$line"
		eval "timeout 20 strata $line" >out 2>&1 </dev/null
		code=$?
		sed "s|$PWD|DIR|g" out | head -n 20
		printf '[%d]\n' "$code"
	done <"$top/commands" >>now
	cat now >>"$top/all"
	sed -n "/^== $1\$/,/^== /p" "$file" | sed '1b; /^== /d' >then
	[ -n "${FILL:-}" ] || {
		run diff -u then now
		gives 0
		prints ''
	}
}

trouble 'an error' '{"*": {"status": 500, "body": {"error": {"code": "broken", "message": "the disk is full", "field": null}}}}'
trouble 'a refusal' '{"*": {"status": 403, "body": {"error": {"code": "forbidden", "message": "that is for operators", "field": null}}}}'
[ -z "${FILL:-}" ] || cp "$top/all" "$file"
