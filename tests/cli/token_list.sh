#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'shows the tokens there are'
serve '{"GET /api/v1/tokens": [{"body": {"tokens": [{"id": 3, "user": "ann", "role": "user", "created_at": "2000-01-01T14:05:00Z", "expires_at": null, "comment": "laptop"}]}},
	{"body": {"tokens": []}}]}'
run strata token list
gives 0
prints 'ID  USER  ROLE  CREATED           EXPIRES  COMMENT
3   ann   user  2000-01-01 14:05  -        laptop'
run strata token list
gives 0
says_some '`strata token create` makes one'
