#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

# What TLS is about is in tests/api/test_tls.py; here a server on the loopback, without it.
session='{"GET /api/v1/session": {"body": {"user": "ann", "role": "operator", "cluster": "lab", "sessions": []}}, "GET /api/v1/nodes": {"body": {"nodes": []}}}'
unset STRATA_SOCKET

it 'signs in with a token from standard input and keeps it'
serve "$session" 0
url=http://127.0.0.1:$(cat port)
printf 'strata_abc\n' >token
run sh -c "strata login $url/ --name lab <token"
gives 0
prints ''
says "strata: signed in to lab at $url as ann (operator); all commands go there until \`strata logout\`"
asked 'p["path"] == "/api/v1/session" and p["headers"]["authorization"] == "Bearer strata_abc"'
[ "$(stat -c %a home/.config/strata/contexts/lab.json)" = 600 ] || problem 'others can read the file'
run strata nodes
asked 'p["path"] == "/api/v1/nodes" and p["headers"]["authorization"] == "Bearer strata_abc"'

it 'keeps nothing when it cannot sign in'
serve '{"GET /api/v1/session": {"status": 401, "body": {"error": {"code": "unauthorized", "message": "the token is not known", "field": null}}}}' 0
url=http://127.0.0.1:$(cat port)
run sh -c "echo strata_bad | strata login $url"
gives 4
says_some 'the token is not known'
run strata login "$url"
gives 4
says_some 'no token was given; it is read from standard input'
run sh -c "printf 'two words\n' | strata login $url"
gives 2
says_some 'the token has a character that none has'
[ ! -e home/.config ] || problem 'something was kept'

it 'refuses addresses that a token must not go to'
for bad in http://gpu.lab:8470 http://127.0.0.1.evil.example ftp://gpu.lab https:// https://ann@gpu.lab https://gpu.lab/page; do
	run sh -c "echo strata_abc | strata login '$bad'"
	gives 2
	says_some 'expected https://'
done
run sh -c "echo strata_abc | strata login http://localhost:1 --fingerprint sha256//EZw8MsiWekGjX3CZs+gI0JWz6jskn6UVhYsWhJViAx4="
gives 2
says_some 'has no TLS'
