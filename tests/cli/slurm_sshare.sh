#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"
. "$(dirname "$0")/slurm_service.sh"

it 'shows shares and what was used of them'
serve_slurm
run strata slurm sshare -a
gives 0
says ''
prints 'Account                    User  RawShares  NormShares    RawUsage  EffectvUsage  FairShare 
-------------------- ---------- ---------- ----------- ----------- ------------- ---------- 
root                                          0.000000        3600      1.000000            
 lab                                     3    1.000000        3600      1.000000            
  lab                       ann          1    1.000000        3600      1.000000   0.750000 '
run strata slurm sshare -n -P -u nobody
prints 'root|||0.000000|3600|1.000000|
 lab||3|1.000000|3600|1.000000|'
run strata slurm sshare -n -a -o user%8,account%-6,fairshare
gives 0
prints '         root              
          lab              
     ann   lab    0.750000 '
run strata slurm sshare -o nothing
gives 1
says_some 'Invalid field requested: "nothing"'
