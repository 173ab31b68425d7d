#!/bin/sh
# strata kubernetes scheduler: what it says when it cannot begin. tests/api/test_pods.py has the rest.
. "$(dirname "$0")/lib.sh"
unset KUBECONFIG KUBERNETES_SERVICE_HOST

config() {
	cat >config <<'END'
{"apiVersion": "v1", "kind": "Config", "current-context": "a",
 "clusters": [{"name": "a", "cluster": {"server": "http://127.0.0.1:1"}}],
 "users": [{"name": "a", "user": {}}],
 "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}]}
END
}

it 'names a kubeconfig that is not there'
config
run strata kubernetes scheduler --kubeconfig "$PWD/none"
gives 3
says_some "$PWD/none"

it 'names a context that is not there'
config
run strata kubernetes scheduler --kubeconfig config --kube-context other
gives 3
says_some other

it 'refuses a class that there is not'
config
run strata kubernetes scheduler --kubeconfig config --order nonsense
gives 3
says_some nonsense

it 'refuses bands the wrong way round'
config
run strata kubernetes scheduler --kubeconfig config --low-priority 5 --high-priority 4
gives 2
says_some '--low-priority 5 is above --high-priority 4'

it 'refuses an address that is none'
config
run strata kubernetes scheduler --kubeconfig config --listen here
gives 2
says_some '"here" is not ADDRESS:PORT, such as 0.0.0.0:10260'

it 'refuses a weight that is none'
config
run strata kubernetes scheduler --kubeconfig config --weights a=lots
gives 2
says_some lots

it 'says that nobody answers, waits, and ends when it is told to'
config
"$strata" kubernetes scheduler --kubeconfig config 2>log &
scheduler=$!
for i in $(seq 100); do grep -q 'cannot be watched' log && break; sleep 0.1; done
run cat log
prints_some '127.0.0.1'
kill -TERM "$scheduler"
wait "$scheduler"
status=$?
run test "$status" -eq 0
gives 0
