#!/bin/sh
# What holds for the program as a whole: finding commands, exit codes, output that cannot be written.
. "$(dirname "$0")/lib.sh"

it 'alone shows what there is'
run strata
gives 0
prints_some 'usage: strata COMMAND'
prints_some 'version'
says ''

it 'takes global options before and after the command'
run strata --json version
gives 0
prints_json 'd["version"]'
run strata version --json
prints_json 'd["plugin_abi"] == 4'

it 'guesses at a mistyped command and does not run it'
run strata verison
gives 2
prints ''
says 'strata: there is no command '\''verison'\''; did you mean `strata version`?'
run strata frobnicate
gives 2
says_some 'lists them'
run strata -- frobnicate
gives 2
prints ''
says 'strata: there is no command '\''frobnicate'\''; `strata help` lists them'

it 'guesses at a mistyped option'
run strata version --jsno
gives 2
says 'strata: unknown option '\''--jsno'\''; did you mean '\''--json'\''?'

it 'asks for the second word of a group'
run strata token
gives 2
says_some 'strata help token'
run strata token craete
gives 2
says_some 'no command '\''token craete'\'''

it 'counts operands'
run strata version now
gives 2
says_some 'takes no arguments, but got'
run strata completion
gives 2
says_some 'usage: strata completion bash|fish|zsh'

it 'reports errors as JSON when asked'
run strata noise tractor --json
gives 3
prints_json 'd["error"]["code"] == "not_found" and "tractor" in d["error"]["message"]'

it 'tells a missing thing from a wrong word'
run strata classes tractor
gives 3
run strata noise torch --count 0
gives 2
says_some '--count is 0; expected 1 to 16777216'

it 'has no colours where nobody looks, and where they are not wanted'
run strata
prints_not "$(printf '\033')"
run script -qec 'strata' /dev/null
case $out in *"$(printf '\033')"*) ;; *) problem 'no colours on a terminal' ;; esac
run script -qec 'NO_COLOR=1 strata' /dev/null
prints_not "$(printf '\033')"
run script -qec 'TERM=dumb strata' /dev/null
prints_not "$(printf '\033')"
run script -qec 'strata --no-color' /dev/null
prints_not "$(printf '\033')"
run env STRATA_COLOR=always strata
prints_some "$(printf '\033')"

it 'goes quietly when the reader has had enough'
{ strata noise --count 1000000 --calls 8 2>"$top/err"; echo $? >"$top/code"; } | head -n 1 >"$top/out"
out=$(cat "$top/out") err=$(cat "$top/err") code=$(cat "$top/code")
gives 0
says ''
[ -n "$out" ] || problem 'nothing was printed'

it 'says so when standard output cannot be written'
strata version >/dev/full 2>"$top/err"
code=$? out='' err=$(cat "$top/err")
gives 1
says 'strata: cannot write to standard output: No space left on device'
strata version >&- 2>"$top/err"
code=$? err=$(cat "$top/err")
gives 1
says 'strata: cannot write to standard output: Bad file descriptor'

it 'survives closed standard input and error'
strata version <&- 2>&- >"$top/out"
code=$? out=$(cat "$top/out") err=''
gives 0
prints_some 'strata '

it 'does nothing with a configuration that it cannot read'
echo 'color = sometimes' >bad.ini
run strata --config bad.ini version
gives 2
prints ''
says_some 'sometimes'
run strata --config missing.ini version
gives 3
prints ''
says_some 'missing.ini'
