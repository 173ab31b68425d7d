#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

part='{"jobs": 12, "asked_hours": 100, "used_hours": 40}'
wait='{"class": "band normal", "jobs": 12, "median_s": 65.2, "p90_s": 700, "p99_s": 4000, "longest_s": 4100}'
rows='{"body": {"rows": [{"day": "2026-01-02", "user": "ann", "jobs": 12, "tasks": 3, "gpu_hours": 30, "cpu_hours": 7.5}]}}'
figure='{"figure": "step", "of": "sdxl 1024x1024", "unit": "s", "state": "higher", "since": "2026-01-03T00:00:00Z", "usual": 0.2, "recent": 0.45, "usual_days": 20, "days": []}'
answers="\"GET /api/v1/accounting\": [$rows, $rows],
	\"GET /api/v1/report\": {\"body\": {\"jobs\": 12, \"failed\": 1, \"preempted\": 0, \"all_waits\": $wait, \"waits\": [$wait], \"waste\": {\"cpu\": $part, \"memory\": $part, \"time\": $part},
		\"users\": [{\"user\": \"ann\", \"cpu\": $part, \"memory\": $part, \"time\": $part}], \"waiting\": {\"jobs\": 3, \"gpu_hours\": 8, \"cpu_hours\": 0}}},
	\"GET /api/v1/figures\": {\"body\": {\"figures\": [$figure]}},
	\"GET /api/v1/users\": {\"body\": {\"users\": [{\"name\": \"ann\", \"weight\": 1}]}},
	\"GET /api/v1/nodes\": {\"body\": {\"nodes\": [{\"name\": \"n1\", \"cpus\": 8, \"memory_bytes\": 1, \"gpus\": 2}]}}"

it 'says how the cluster was used, in sentences'
serve "{$answers}"
run strata report --since 2026-01-01
gives 0
prints_some 'Waits: Half of 12 jobs had their place within 1m 5s, nine in ten within 11m 40s; the longest wait was 1h 8m (band normal).'
prints_some 'Asked for and used: Jobs used 40 % of the cores, 40 % of the memory, 40 % of the time they asked for.'
prints_some 'What has changed: 1 of 1 key figures is worse than usual: seconds of a step (sdxl 1024x1024), 450 ms instead of 200 ms, since 2026-01-03.'
prints_some '3 jobs wait now and ask for up to 8.0 GPU hours, 4h of the whole cluster.'
prints_some 'ann     12      3   30.0  100 %'
asked 'r[0]["query"].startswith("by=day&since=2026-01-01T00:00:00Z&zone=") and r[1]["query"] == "by=user&since=2026-01-01T00:00:00Z" and r[2]["query"] == "since=2026-01-01T00:00:00Z"'

it 'writes one file'
serve "{$answers}"
run strata report --since 2026-01-01 -o report.html
gives 0
says 'strata: wrote report.html; a browser or a mail shows it'
run grep -c '<section>' report.html
prints '6'

it 'gives the data'
serve "{$answers}"
run strata report --since 2026-01-01 --json
prints_json 'd["waste"]["all"]["cpu"] == 0.4 and d["use"]["users"][0]["user"] == "ann" and d["forecast"]["drain_hours"] == 4'

it 'knows what a time is'
run strata report --since whenever
gives 2
says_some 'expected a duration such as 7d'
