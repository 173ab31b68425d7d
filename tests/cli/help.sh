#!/bin/sh
. "$(dirname "$0")/lib.sh"

it 'shows the overview'
run strata help
gives 0
first=$out
run strata --help
prints "$first"
run strata -h
prints "$first"

it 'has the ten that are used most first, then every command in one chapter'
out=$first
[ "$(echo "$out" | sed -n '5p')" = 'every day' ] || problem "$out"
prints_some '  jobs           show jobs that have ended, and those that have not'
for chapter in work look administer models simulate 'the program itself'; do prints_some "$chapter"; done
prints_some '  nodes          show the machines and what is in use on them; also: drain, resume'
prints_some '  stage          plan, run, simulate, verify'
[ "$(echo "$out" | wc -l)" -lt 100 ] || problem 'it is longer than a screen or two'
for word in $(strata manual | tail -n +2 | sed 's/ .*//' | sort -u); do
	echo "$out" | grep -q "^  $word  *" || problem "$word is not in it"
done

it 'knows the words that others use'
run strata ps
gives 2
says_some "there is no command 'ps'; you may want \`strata queue\`"
run strata exec
gives 2
says_some 'you may want `strata run`'
run strata history
says_some '`strata jobs`'
run strata list
says_some '`strata jobs`'
run strata status
says_some '`strata queue`'

it 'shows one command, three ways'
run strata help noise
gives 0
prints_some 'usage: strata noise [SOURCE] [options]'
prints_some "  -s, --seed N              the seed (at least 0; default 0)"
prints_some 'options of every command'
prints_some 'strata noise torch --seed 42 --count 4'
first=$out
run strata noise --help
prints "$first"
run strata --help noise
prints "$first"

it 'shows a group'
run strata help trace
gives 0
prints_some 'trace merge'

it 'has a page for every command it lists'
for word in $(strata manual | tail -n +2 | tr ' ' +); do
	run strata help $(echo "$word" | tr + ' ')
	gives 0
done

it 'knows what it does not know'
run strata help nothing
gives 3
says_some "there is no command 'nothing'"
