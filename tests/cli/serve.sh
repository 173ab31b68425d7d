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

it "serves beside another that STRATA_SOCKET names, when it has a state directory of its own"
"$strata" serve --state "$PWD/s1" --node n:cpus=2 2> "$PWD/log1" &
first=$!
for i in $(seq 100); do [ -S "$PWD/s1/strata.sock" ] && break; sleep 0.1; done
STRATA_SOCKET="$PWD/s1/strata.sock" "$strata" serve --state "$PWD/s2" --node m:cpus=2 2> "$PWD/log2" &
second=$!
for i in $(seq 100); do [ -S "$PWD/s2/strata.sock" ] && break; sleep 0.1; done
run strata nodes --socket "$PWD/s1/strata.sock"
prints_some 'n     up'
run strata nodes --socket "$PWD/s2/strata.sock"
prints_some 'm     up'
kill -TERM "$first" "$second"
wait "$first" "$second"

it "tells systemd when it is ready, reloads and ends"
cat >listen.py <<'END'
import socket, sys
sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
sock.settimeout(60)
sock.bind(sys.argv[1])
print("here", flush=True)
for _ in range(4):
    print(sock.recv(4096).decode(), flush=True)
END
python3 listen.py "$PWD/notify" >told &
listener=$!
for i in $(seq 100); do grep -q here told && break; sleep 0.1; done
NOTIFY_SOCKET=$PWD/notify "$strata" serve --state "$PWD/s" --node n:cpus=2 2>"$PWD/log" </dev/null &
server=$!
for i in $(seq 100); do grep -q READY told && break; sleep 0.1; done
kill -HUP "$server"
for i in $(seq 100); do [ "$(grep -c READY told)" = 2 ] && break; sleep 0.1; done
kill -TERM "$server"
wait "$server" "$listener"
run cat told
prints 'here
READY=1
RELOADING=1
READY=1
STOPPING=1'
