#!/bin/sh
. "$(dirname "$0")/lib.sh"

it 'shows the defaults'
run strata config
gives 0
run sh -c 'strata config | grep -v "serve[.]" | tr -s " "'
prints 'OPTION VALUE FROM
color auto default
socket - default
server - default
plugins - default'
run sh -c 'strata config --config /dev/null | grep -E "serve.(order|grace|listen)" | tr -s " "'
prints 'serve.listen - default
serve.order fair_share default
serve.grace 30s default'

it 'lets flags beat variables, variables beat the file, the file beat the defaults'
mkdir -p home/.config/strata
printf 'socket = /file\nserver = http://file\ncolor = never\n' >home/.config/strata/strata.ini
export STRATA_SERVER=http://variable STRATA_COLOR=auto
run strata config --json --server http://flag
unset STRATA_SERVER STRATA_COLOR
gives 0
prints_json 'd["socket"] == {"reload": False, "value": "/file", "from": "'"$HOME"'/.config/strata/strata.ini:1"}'
prints_json 'd["color"] == {"reload": False, "value": "auto", "from": "STRATA_COLOR"}'
prints_json 'd["server"] == {"reload": False, "value": "http://flag", "from": "--server"}'

it 'reads only the file it is given'
mkdir -p home/.config/strata
printf 'socket = /own\n' >home/.config/strata/strata.ini
printf 'server = http://lab\n' >lab.ini
run strata config --config lab.ini --json
prints_json 'd["socket"]["value"] is None and d["server"]["from"] == "lab.ini:1"'
STRATA_CONFIG=lab.ini; export STRATA_CONFIG
run strata config --json
unset STRATA_CONFIG
prints_json 'd["server"]["value"] == "http://lab"'

it 'names file and line of a mistake'
printf '; mine\nsokcet = /x\n' >lab.ini
run strata config --config lab.ini
gives 2
says "strata: lab.ini:2: configuration has no option 'sokcet'; did you mean 'socket'?"
printf '[serve]\ngrace = 2d\n' >lab.ini
run strata config --config lab.ini
gives 2
says 'strata: lab.ini:2: grace is 2d; expected at most 1d'
run strata config --config none.ini
gives 3
says_some 'none.ini'
export STRATA_COLOR=pink
run strata config
unset STRATA_COLOR
gives 2
says_some "STRATA_COLOR: color is 'pink'; expected one of auto, always or never"

it 'shows the settings of the service, each from the strongest source'
cat >lab.ini <<EOF
[serve]
state_dir = $PWD/state
store = sqlite:file.db
time_limit = 2h
checkpoint_dir = /file
[node gpu]
count = 2
gpus = 4
features = fast,ib
EOF
DATABASE_URL=sqlite:url.db CHECKPOINT_PATH=/path STRATA_SERVE_CHECKPOINT_DIR=/own INVENTORY_SERVICE_URL=http://inventory \
	run strata config --config lab.ini --json
gives 0
prints_json 'd["serve.store"] == {"value": "sqlite:url.db", "from": "DATABASE_URL", "reload": False}'
prints_json 'd["serve.checkpoint_dir"]["value"] == "/own" and d["serve.checkpoint_dir"]["from"] == "STRATA_SERVE_CHECKPOINT_DIR"'
prints_json 'd["serve.inventory_url"] == {"value": "http://inventory", "from": "INVENTORY_SERVICE_URL", "reload": False}'
prints_json 'd["serve.time_limit"] == {"value": 7200, "from": "lab.ini:4", "reload": True}'
prints_json 'd["serve.nodes"]["value"] == ["gpu:count=2:gpus=4:features=\x27fast,ib\x27"]'
prints_json 'd["serve.socket"]["value"] == "'"$PWD"'/state/strata.sock"'

it 'shows no passwords'
for address in postgres://ann:hush@db/x 'postgresql://ann@db/x?password=hush&sslmode=on' 'postgresql://ann:hush@db:5432/x?password=hush'; do
	DATABASE_URL=$address run strata config
	gives 0
	prints_some '***'
	case $out in *hush*) problem "$out" ;; esac
	DATABASE_URL=$address run strata config --json
	case $out in *hush*) problem "$out" ;; esac
done
DATABASE_URL=mysql://ann:hush@db/x run strata serve --state "$PWD/s"
gives 2
case $err in *hush*) problem "$err" ;; esac

it 'checks a file'
printf '[serve]\norder = multifactor\n[node a]\ncpus = 4\n' >lab.ini
run strata config --check lab.ini
gives 0
prints 'lab.ini is right'
mkdir -p home/.config/strata
echo nonsense >home/.config/strata/strata.ini # which is not what was asked about
run strata config --check lab.ini
gives 0
run strata config
gives 2
printf '[serve]\norder = sooner\n' >lab.ini
run strata config --check lab.ini
gives 3
says_some "there is no order 'sooner'"
printf '[serve]\ntime_limit = 2d\ntime_limit_max = 1d\n' >lab.ini
run strata config --check lab.ini
gives 2
says_some 'time_limit is longer than time_limit_max'
printf '[serve]\nnodes = a:cpsu=4\n' >lab.ini
run strata config --check lab.ini
gives 2
says_some "did you mean 'cpus'"

it 'is described whole'
run strata config --config /dev/null --json
printf '%s' "$out" >config.json
run python3 -c '
import json, os, re
rows = dict(re.findall(r"^\| `([^`]*)` \|.*\| (\w+) \|$", open(os.path.join(os.environ["STRATA_SOURCE"], "docs/configuration.md")).read(), re.M))
want = {name.removeprefix("serve."): "reload" if row["reload"] else "restart" for name, row in json.load(open("config.json")).items() if name.startswith("serve.")}
assert rows == want, set(rows.items()) ^ set(want.items())'
gives 0

it 'is not in the way of who only asks'
printf 'color = never\n[serve]\nnonsense = 1\n[node n]\ncpus = many\n' >strata.ini
run strata version --config strata.ini
gives 0
run strata config --config strata.ini
gives 2
says_some 'nonsense'
printf 'nonsense = 1\n' >strata.ini
run strata version --config strata.ini
gives 2
