#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/context_cases.sh"

it 'changes the server that is asked'
contexts
run strata context use own
gives 0
run strata context
prints 'own'
run strata context use nosuch
gives 3
says_some 'you are not signed in to nosuch; `strata context list` shows where you are'
run strata context use ../lab
gives 2
says_some "'../lab' is no name of a context"
run strata context
prints 'own'
