#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/context_cases.sh"

it 'forgets the server that is in use'
contexts
run strata logout
gives 0
says 'strata: lab is forgotten here; its token stays good until it ends or is revoked (`strata token revoke`)'
run strata logout
gives 3
says_some 'no context is in use'
run strata logout own
gives 0
[ -z "$(ls home/.config/strata/contexts)" ] || problem 'a token is still there'
