#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

now() { date -u +%Y-%m-%dT%H:%M:%SZ; }
version=$(strata version | cut -d' ' -f2)
routes() {
	printf '%s' "{\"GET /healthz\": {\"body\": {\"status\": \"ok\", \"version\": \"${1:-$version}\"}}, \"GET /readyz\": ${3:-{\"body\": {\"status\": \"ready\"\}\}},
		\"GET /api/v1/queue\": {\"body\": {\"at\": \"${2:-$(now)}\", \"jobs\": []}},
		\"GET /metrics\": {\"text\": \"strata_store_seconds_sum 0.008\nstrata_store_seconds_count 4\n\"}}"
}
# The result of a check, of the JSON that was printed.
result() { printf '%s' "$out" | python3 -c "import json, sys; print(*[c['result'] for c in json.load(sys.stdin)['checks'] if c['check'] == '$1'])"; }
finds() { [ "$(result "$1")" = "$2" ] || problem "$1 is «$(result "$1")», expected «$2»: $out"; }

it 'finds a healthy service healthy'
strata serve --state "$PWD/s" --node n:cpus=1 2>log &
server=$!
for _ in $(seq 100); do [ -S s/strata.sock ] && break; sleep 0.1; done
printf 'socket = %s/s/strata.sock\n' "$PWD" >strata.ini # where its state is, its own words say
run strata submit --config strata.ini --quiet -D / -o /dev/null true
gives 0
run strata doctor --config strata.ini
gives 0
prints_some 'it answers at'
prints_some 'is in WAL mode'
run strata doctor --config strata.ini --json
gives 0
for check in configuration server version ready commits clock store disk state checkpoints users devices nodes supervisor; do finds "$check" ok; done
chmod o+w s
run strata doctor --config strata.ini --json
gives 1
finds state bad
prints_json 'd["ok"] is False'

it 'says what is wrong with the configuration, and goes on'
serve "$(routes)"
printf '[serve]\ngrcae = 5\n' >strata.ini
run strata doctor --config strata.ini --json
gives 1
finds configuration bad
finds server ok
prints_json '"strata.ini:2" in d["checks"][0]["message"] and "--check" in d["checks"][0]["advice"]'
printf '[serve]\norder = sooner\n' >strata.ini
run strata doctor --config strata.ini --json
gives 1
finds configuration bad

it 'says which ONNX Runtime models run with'
serve "$(routes)"
export STRATA_ONNXRUNTIME=/nowhere/libonnxruntime.so
run strata doctor --json
finds onnxruntime warn
prints_json '"/nowhere/libonnxruntime.so" in [c for c in d["checks"] if c["check"] == "onnxruntime"][0]["message"]'
STRATA_ONNXRUNTIME=$STRATA_BUILD/tests/fake_ort_new.so
run strata doctor --json
finds onnxruntime ok
prints_json '"ONNX Runtime 2.0.0 is at" in [c for c in d["checks"] if c["check"] == "onnxruntime"][0]["message"]'
unset STRATA_ONNXRUNTIME

it 'says that there is no service'
run strata doctor --socket "$PWD/none" --json
gives 1
finds server bad
finds clock ''
prints_json '"--socket" in [c for c in d["checks"] if c["check"] == "server"][0]["advice"]'

it 'warns of another version, a clock that is off, a store that is away'
serve "$(routes 0.0.1)"
run strata doctor --json
gives 0
finds version warn
finds clock ok
serve "$(routes "$version" 2000-01-01T00:00:00Z)"
run strata doctor --json
gives 1
finds clock bad
serve "$(routes "$version" "$(now)" '{"status": 503, "body": {"error": {"code": "unavailable", "message": "the store is away", "field": null}}}')"
run strata doctor --json
gives 1
finds ready bad

it 'warns of nodes that are larger than the machine'
serve "$(routes)"
printf '[node big]\ncount = 2\ncpus = 100000\n' >strata.ini
run strata doctor --config strata.ini --json
gives 0
finds nodes warn
prints_json '"2 declared, with 200000 CPUs" in [c for c in d["checks"] if c["check"] == "nodes"][0]["message"]'

it 'hides passwords'
serve "$(routes)"
DATABASE_URL=postgresql://ann:hush@db/x run strata doctor
gives 0
prints_some 'postgresql://ann:***@db/x'
