#!/bin/sh
# strata serve: what it says when it cannot, and that it does when it can. tests/api has the rest.
. "$(dirname "$0")/lib.sh"

it "names what is wrong"
run strata serve --state "$PWD/s" --order nonsense
gives 3
says_some "nonsense"

it "refuses a state it cannot write"
touch "$PWD/file"
run strata serve --state "$PWD/file/below"
gives 1
says_some "$PWD/file"

it "serves until it is told to end"
"$strata" serve --state "$PWD/s" --node n:cpus=2 2> "$PWD/log" &
server=$!
for i in $(seq 100); do [ -S "$PWD/s/strata.sock" ] && break; sleep 0.1; done
run test -S "$PWD/s/strata.sock"
gives 0
kill -TERM "$server"
wait "$server"
status=$?
run test "$status" -eq 0
gives 0
