#!/bin/sh
# strata kubernetes jobs: what it says when it cannot begin. tests/api/test_stratajobs.py has the rest.
. "$(dirname "$0")/lib.sh"
unset KUBECONFIG KUBERNETES_SERVICE_HOST

it 'names a kubeconfig that is not there'
run strata kubernetes jobs --kubeconfig "$PWD/none"
gives 3
says_some "$PWD/none"

it 'refuses to look too often'
run strata kubernetes jobs --look 1ms
gives 2
says_some look
