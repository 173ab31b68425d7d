#!/bin/sh
. "$(dirname "$0")/lib.sh"

it 'runs a command under limits, and says how far it is'
printf '; MaxProcs: 4\n1 0 -1 10 1 -1 -1 1 10 -1 1 1 1 1 1 1 -1 -1\n' >trace.swf
run sh -c '"$0" study 0 0 sim cluster - --json <trace.swf 2>/dev/null | cat' "$(command -v strata)"
gives 0
prints_json 'd["jobs"] == 1'

it 'takes a user and a command'
run strata study 0 0
gives 2
says_some 'expected UID GID WORD'
run strata study x 0 version
gives 2

it 'is not for people'
run strata help
prints_not 'study'
