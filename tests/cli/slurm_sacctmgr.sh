#!/bin/sh
# What it does on a service: slurm_options.py.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"
. "$(dirname "$0")/slurm_service.sh"

it 'shows accounts and users in its columns'
serve_slurm
run strata slurm sacctmgr show account
gives 0
prints '   Account                Descr                  Org 
---------- -------------------- -------------------- 
       lab                  lab                 root '
run strata slurm sacctmgr -n -P show user format=user,defaultaccount
prints 'ann|lab'

it 'asks before it changes something'
serve "{\"GET /api/v1/accounts\": {\"body\": {\"accounts\": []}}, \"PUT /api/v1/accounts/phys\": {\"body\": {}}}"
run strata slurm sacctmgr add account phys
gives 0
prints_some 'Changes Discarded'
asked 'all(x["method"] == "GET" for x in r)'
run strata slurm sacctmgr -i add account phys fairshare=3 parent=root
gives 0
asked 'p["method"] == "PUT" and p["body"] == {"weight": 3.0, "parent": None}'

it 'fails as Slurm does'
run strata slurm sacctmgr nosuch
gives 1
says 'invalid keyword: nosuch'
run strata slurm sacctmgr -r add account x
gives 1
says "Can't run this command in readonly mode."
serve_slurm
run strata slurm sacctmgr -i add user ann color=red
gives 1
says_some ' Unknown option: color=red'
