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
