#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/context_cases.sh"

it 'shows which server is asked'
run strata context --json
gives 0
prints_json 'd["context"] is None and d["fingerprint"] is None'
contexts
run strata context
gives 0
prints 'lab'
says_some 'commands ask https://gpu.lab:8470'
run strata context --json
prints_json 'd == {"context": "lab", "server": "https://gpu.lab:8470", "fingerprint": "sha256//EZw8MsiWekGjX3CZs+gI0JWz6jskn6UVhYsWhJViAx4="}'
run strata context --context own --json
prints_json 'd["server"] == "https://mine"'
run env STRATA_SOCKET=/x/sock strata context --json
prints_json 'd["server"] == "/x/sock"'
run strata context --context nosuch
gives 3
says_some 'you are not signed in to nosuch'

it 'says what is wrong with a file of one'
contexts
chmod 644 home/.config/strata/contexts/lab.json
run strata queue
gives 4
says_some 'others can read the token in'
chmod 600 home/.config/strata/contexts/lab.json
printf '../lab' >home/.config/strata/context
run strata queue
gives 2
says_some '`strata context use NAME` writes it anew'
