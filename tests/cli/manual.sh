#!/bin/sh
. "$(dirname "$0")/lib.sh"

it 'writes pages that scdoc takes, for every command'
strata manual | while read -r page; do
	strata manual $page | scdoc >/dev/null 2>"$top/err" || echo "$page: $(cat "$top/err")"
done >"$top/bad"
[ -s "$top/bad" ] && problem "$(cat "$top/bad")"

it 'says in a page what help says'
run strata manual noise
gives 0
prints_some '*--seed* N'
prints_some '# EXIT STATUS'

it 'installs program, library, headers, pages and completion'
DESTDIR=$top/root meson install -C "$STRATA_BUILD" --no-rebuild >"$top/log" 2>&1 || problem "$(tail -n 5 "$top/log")"
for file in bin/strata include/strata/error.h share/man/man1/strata.1 share/man/man1/strata-noise.1 \
	share/man/man1/strata-trace-merge.1 share/bash-completion/completions/strata share/zsh/site-functions/_strata; do
	[ -e "$top"/root/usr/local/$file ] || problem "$file is not installed"
done
find "$top/root" -name strata.pc | grep -q . || problem 'strata.pc is not installed'
find "$top/root" -name libstrata.so | grep -q . || problem 'libstrata.so is not installed'
