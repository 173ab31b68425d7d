#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/context_cases.sh"

it 'lists the servers one is signed in to, without their tokens'
run strata context list
gives 0
prints ''
says_some '`strata login URL` signs in'
contexts
run strata context list
gives 0
prints '   NAME  SERVER                TRUSTED BY
*  lab   https://gpu.lab:8470  sha256//EZw8MsiWekGjX3CZs+gI0JWz6jskn6UVhYsWhJViAx4=
   own   https://mine          an authority'
run strata context list --json
prints_json '[one["name"] for one in d["contexts"]] == ["lab", "own"] and "strata_a" not in str(d)'

it 'shows one that cannot be read'
contexts
chmod 640 home/.config/strata/contexts/own.json
run strata context list
gives 0
prints_some 'others can read the token in'
