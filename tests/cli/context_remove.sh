#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/context_cases.sh"

it 'forgets one, and which was in use'
contexts
run strata context remove own
gives 0
run strata context
prints 'lab'
run strata context remove lab
gives 0
says_some 'its token stays good until it ends'
run strata context
prints ''
[ -z "$(ls home/.config/strata/contexts)" ] || problem 'the token is still there'
run strata context remove lab
gives 3
