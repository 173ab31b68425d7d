#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'shows the secret and what has not arrived'
serve '{"GET /api/v1/webhooks": [{"body": {"secret": "abc", "waiting": []}}, {"body": {"secret": "abc", "waiting": [
	{"id": "i", "event": "job.ended", "url": "https://example.org/done", "attempts": 2, "error": "it answered 500", "created_at": "2000-01-01T14:00:00Z", "due_at": "2000-01-01T14:05:00Z"}]}}]}'
run strata webhooks
gives 0
prints 'secret: abc'
says_some 'every message has arrived'
run strata webhooks
prints 'secret: abc
EVENT      CREATED           ATTEMPTS  NEXT              URL                       ERROR
job.ended  2000-01-01 14:00         2  2000-01-01 14:05  https://example.org/done  it answered 500'
run strata webhooks --json
prints_json 'd["waiting"][0]["attempts"] == 2'
