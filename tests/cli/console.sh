#!/bin/sh
. "$(dirname "$0")/lib.sh"

it 'is not for people'
run strata help
prints_not 'strata console'
run strata console
gives 2
says_some '`strata console` is what jobs of `strata run` are started with'
run strata console relative - true
gives 2

it 'starts nothing in a place that is not its own'
mkdir place
chmod 755 place
run strata console "$PWD/place" - touch started
gives 4
says_some "$PWD/place is not a directory of this user alone"
run strata console "$PWD/nosuch" - touch started
gives 3
[ ! -e started ] || problem 'it was started'

it 'starts nothing for somebody who has gone'
mkdir place
chmod 700 place
run strata console "$PWD/place" - touch started
gives 6
says 'strata: nobody waits for this job any more'
[ ! -e started ] || problem 'it was started'
