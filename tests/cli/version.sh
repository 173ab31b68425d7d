#!/bin/sh
. "$(dirname "$0")/lib.sh"

it 'prints one line'
run strata version
gives 0
prints "strata $(sed -n "s/^  version: '\(.*\)',/\1/p" "$STRATA_SOURCE/meson.build")"
run strata --version
prints_some 'strata '

it 'has the facts of the build for programs'
run strata version --json
gives 0
prints_json 'set(d) >= {"version", "plugin_abi", "compiler", "assertions"} and d["assertions"] is True'
