#!/bin/sh
. "$(dirname "$0")/lib.sh"

it 'is not for people'
run strata help
prints_not supervise
run strata supervise
gives 2
says_some 'usage: strata supervise JOBS [CGROUP] (the service runs it'
run strata supervise jobs
gives 2
says_some 'talks to it on its standard input'
