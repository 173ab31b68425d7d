#!/bin/sh
. "$(dirname "$0")/lib.sh"

it 'writes pages that scdoc takes, for every command'
{ strata manual && strata manual slurm; } | while read -r page; do
	strata manual $page | scdoc >/dev/null 2>"$top/err" || echo "$page: $(cat "$top/err")"
done >"$top/bad"
[ -s "$top/bad" ] && problem "$(cat "$top/bad")"

it 'says in a page what help says'
run strata manual noise
gives 0
prints_some '*--seed* N'
prints_some '# EXIT STATUS'

it "has pages of Slurm's names, from the rows of their options"
run strata manual squeue
gives 0
prints_some 'squeue(1)'
prints_some '*\-A*, *\-\-account*=_value_'
prints_some '# OPTIONS THAT ASK FOR WHAT IS SO ANYWAY'
prints_some 'SQUEUE\_ACCOUNT'
run strata manual sbatch
prints_some '# OPTIONS WITHOUT EFFECT HERE'
run strata manual scontrol
prints_some '# WORDS'
prints_some 'show'
strata manual squeue | scdoc >"$top/squeue.1"
run man --warnings -l "$top/squeue.1"
case $code in
127) skip 'there is no man' ;;
*) prints_some '--accounts=value'; says '' ;;
esac

it 'installs program, library, headers, pages and completion'
DESTDIR=$top/root meson install -C "$STRATA_BUILD" --no-rebuild >"$top/log" 2>&1 || problem "$(tail -n 5 "$top/log")"
for file in bin/strata include/strata/error.h share/man/man1/strata.1 share/man/man1/strata-noise.1 \
	share/man/man1/strata-trace-merge.1 share/bash-completion/completions/strata share/zsh/site-functions/_strata \
	libexec/strata/slurm/sbatch libexec/strata/slurm/man/man1/sbatch.1; do
	[ -e "$top"/root/usr/local/$file ] || problem "$file is not installed"
done
[ ! -e "$top/root/usr/local/share/man/man1/sbatch.1" ] || problem "a page hides that of Slurm itself"
find "$top/root" -name strata.pc | grep -q . || problem 'strata.pc is not installed'
find "$top/root" -name libstrata.so | grep -q . || problem 'libstrata.so is not installed'
