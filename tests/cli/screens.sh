#!/bin/sh
# What commands show of one small lab, whole: tests/data/screens.txt has a command behind each $ and what it prints, a little after 15:00 on the day that the
# jobs are of. Seconds are left out. FILL=1 writes what is printed now; look at the difference.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"
. "$(dirname "$0")/slurm_service.sh"

file=$STRATA_SOURCE/tests/data/screens.txt
steady() {
	sed -E "s/([0-9]:[0-9]{2}):[0-9]{2}/\1:SS/g; s/([0-9]m ?)[0-9]+ ?s/\1SSs/g; s/OS=Linux .*/OS=Linux KERNEL/; s/AllocNode:Sid=[^:]*/AllocNode:Sid=HOST/; s/^[A-Z][a-z]{2} [A-Z][a-z]{2} +[0-9]+ .* 20[0-9]{2}\$/DATE/; s/ +\$//"
}

it 'shows a lab as it is'
serve_slurm
export TZ=UTC STRATA_TEST_CLOCK="$PWD/clock"
preload=$STRATA_BUILD/tests/clock_preload.so
grep '^\$ ' "$file" | sed 's/^\$ //' >commands
if ! LD_PRELOAD=$preload strata version >/dev/null 2>&1; then
	skip 'the clock cannot be set under sanitizers'
else
	while read -r line; do
		echo $(($(date -d '2026-11-15T15:00:10Z' +%s) - $(date +%s))) >clock
		printf '$ %s\n' "$line"
		eval "LD_PRELOAD=$preload strata $line" 2>&1 </dev/null | steady
		echo
	done <commands >now
	[ -z "${FILL:-}" ] || cp now "$file"
	run diff -u "$file" now
	gives 0
	prints ''
fi
