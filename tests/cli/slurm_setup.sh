#!/bin/sh
. "$(dirname "$0")/lib.sh"

it 'writes a directory from which hosts become a cluster'
run strata slurm setup --nodes 'a,b:gpus=2:gpu_type=a100:cpus=4:memory=8G localhost:cpus=2:memory=1G' -o cluster
gives 0
prints_some 'cluster has slurm.conf, gres.conf, cgroup.conf, munge.key and a script for each of 3 hosts. On every one, a first:'
says_some 'nobody here knows the address of b'
case $err in *localhost*) problem "localhost has an address: $err" ;; esac
[ "$(ls cluster | tr '\n' ' ')" = 'cgroup.conf gres.conf install-a.sh install-b.sh install-localhost.sh munge.key slurm.conf ' ] || problem "$(ls cluster)"
[ "$(stat -c '%a' cluster)" = 700 ] && [ "$(stat -c '%a %s' cluster/munge.key)" = '600 1024' ] || problem "$(ls -ld cluster cluster/munge.key)"
grep -q '^NodeName=a,b CPUs=4 RealMemory=8192 Gres=gpu:a100:2 State=UNKNOWN$' cluster/slurm.conf || problem "$(cat cluster/slurm.conf)"
grep -q '^SlurmctldHost=a$' cluster/slurm.conf || problem 'the first host is not the controller'
grep -qF 'NodeName=a,b Name=gpu Type=a100 File=/dev/nvidia[0-1]' cluster/gres.conf || problem "$(cat cluster/gres.conf)"
for script in cluster/install-*.sh; do sh -n "$script" || problem "$script"; done
grep -q "^roles='controller node'" cluster/install-a.sh || problem "$(head -n 8 cluster/install-a.sh)"
grep -q "^roles='node'" cluster/install-b.sh || problem "$(head -n 8 cluster/install-b.sh)"

it 'keeps the key when it is run again'
strata slurm setup --nodes a:cpus=1:memory=1G -o cluster >/dev/null 2>&1
before=$(sha256sum <cluster/munge.key)
run strata slurm setup --nodes a,b:cpus=1:memory=1G -o cluster --controller head --cluster lab --no-cgroup --json
prints_json 'd == {"directory": "cluster", "cluster": "lab", "controller": "head", "hosts": 2}'
[ "$before" = "$(sha256sum <cluster/munge.key)" ] || problem 'the key is another'
grep -q "^roles='controller '" cluster/install-head.sh || problem 'the controller is a node'
grep -q '^TaskPlugin=task/none$' cluster/slurm.conf || problem 'it has control groups'

it 'takes what is not said from this machine, and says so'
run strata slurm setup --nodes localhost
gives 0
says_some 'cpus and memory of localhost: as this machine; their scripts compare'
grep -Eq "^NodeName=localhost CPUs=[0-9]+ RealMemory=[0-9]+ State" slurm-setup/slurm.conf || problem "$(cat slurm-setup/slurm.conf)"

it 'refuses what is no cluster'
run strata slurm setup
gives 2
says 'strata: --nodes is missing; expected hosts such as --nodes a,b,c:gpus=4'
run strata slurm setup --nodes a,a
gives 6
says 'strata: host a is named twice'
run strata slurm setup --nodes 'a:gpus=lots'
gives 2
run strata slurm setup --nodes a --controller 'x y'
says "strata: the controller is called 'x y'; expected letters, digits, - and ."
[ ! -e slurm-setup ] || problem 'it wrote something'
mkdir open && chmod 777 open
run strata slurm setup --nodes a:cpus=1:memory=1G -o open
gives 4
says_some 'others may write into open'
