#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'shows who used how much, since when'
serve '{"GET /api/v1/accounting": {"body": {"rows": [{"user": "ann", "account": null, "jobs": 12, "gpu_hours": 3.25, "cpu_hours": 7.5}]}}}'
run strata accounting
gives 0
prints 'USER  ACCOUNT  JOBS  GPU HOURS  CPU HOURS
ann   -          12        3.2        7.5'
asked 'p["query"] == "by=user"'
run strata accounting --by account --since 2026-01-02
prints_some 'ACCOUNT  JOBS'
asked 'p["query"] == "by=account&since=2026-01-02T00:00:00Z"'
run strata accounting --since 7d
asked '__import__("datetime").datetime.utcnow() - __import__("datetime").datetime.strptime(p["query"], "by=user&since=%Y-%m-%dT%H:%M:%SZ") < __import__("datetime").timedelta(days=7, minutes=1)'
run strata accounting --json
prints_json 'd["rows"][0]["jobs"] == 12'

it 'knows what a time is'
run strata accounting --since whenever
gives 2
says_some 'expected a duration such as 7d'
run strata accounting --by day
gives 2

it 'says that nothing was used'
serve '{"GET /api/v1/accounting": {"body": {"rows": []}}}'
run strata accounting
gives 0
says_some 'nothing was used'
