#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'prints the link and nothing else'
serve '{"POST /api/v1/session-link": {"status": 201, "body": {"link": "http://127.0.0.1:8470/#strata_abc", "expires_at": "2026-11-15T14:02:00Z"}}}'
run strata web
gives 0
prints 'http://127.0.0.1:8470/#strata_abc'
says_some 'it works once'
asked 'p["method"] == "POST" and p["path"] == "/api/v1/session-link"'
run strata web --json
prints_json 'd["link"].endswith("#strata_abc")'

it 'says what the service says'
serve '{"POST /api/v1/session-link": {"status": 403, "body": {"error": {"code": "forbidden", "message": "links are made over the Unix socket; sign in with the token", "field": null}}}}'
run strata web
gives 4
says_some "links are made over the Unix socket"
