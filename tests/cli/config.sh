#!/bin/sh
. "$(dirname "$0")/lib.sh"

it 'shows the defaults'
run strata config
gives 0
prints 'OPTION   VALUE  FROM
color    auto   default
socket   -      default
server   -      default
plugins  -      default'

it 'lets flags beat variables, variables beat the file, the file beat the defaults'
mkdir -p home/.config/strata
printf 'socket = /file\nserver = http://file\ncolor = never\n' >home/.config/strata/strata.ini
export STRATA_SERVER=http://variable STRATA_COLOR=auto
run strata config --json --server http://flag
unset STRATA_SERVER STRATA_COLOR
gives 0
prints_json 'd["socket"] == {"value": "/file", "from": "'"$HOME"'/.config/strata/strata.ini:1"}'
prints_json 'd["color"] == {"value": "auto", "from": "STRATA_COLOR"}'
prints_json 'd["server"] == {"value": "http://flag", "from": "--server"}'

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
run strata config --config none.ini
gives 3
says_some 'none.ini'
export STRATA_COLOR=pink
run strata config
unset STRATA_COLOR
gives 2
says_some "STRATA_COLOR: color is 'pink'; expected one of auto, always or never"
