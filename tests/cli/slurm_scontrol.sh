#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"
. "$(dirname "$0")/slurm_service.sh"

it 'shows a job in full'
serve_slurm
run strata slurm scontrol show job 12
gives 0
says ''
prints_some 'JobId=12 JobName=train
   UserId=ann(0) GroupId=root(0) MCS_label=N/A'
prints_some '   NodeList=n1
   BatchHost=n1
   NumNodes=1 NumCPUs=4 NumTasks=1 CPUs/Task=4 ReqB:S:C:T=0:0:*:*
   TRES=cpu=4,mem=8G,node=1,billing=4,gres/gpu=2'
prints_some '   TresPerNode=gres:gpu:a100:2'
run strata slurm scontrol -d -o show job 12
prints_some ' Nodes=n1 CPU_IDs= Mem=8192 GRES=gpu:2(IDX:0-1) '
run strata slurm scontrol show job 17
prints_some '   NodeList=
   NumNodes=1 NumCPUs=4'
prints_some 'StdOut=/home/ann/a-17.out'
run strata slurm scontrol show job=20
prints_some 'JobId=20 ArrayJobId=20 ArrayTaskId=1,4,7%2 ArrayTaskThrottle=2 JobName=sweep'
run strata slurm scontrol show job 20_4
prints_some 'JobId=21 ArrayJobId=20 ArrayTaskId=4 ArrayTaskThrottle=2 JobName=sweep'
run strata slurm scontrol show job 99
gives 1
says 'slurm_load_jobs error: Invalid job id specified'

it 'takes words cut short, as fingers do'
serve_slurm
run strata slurm scontrol show no n2
prints_some 'NodeName=n2 '
run strata slurm scontrol sho part long
prints_some 'PartitionName=long'
run strata slurm scontrol show conf
prints_some 'ClusterName '
run strata slurm scontrol show host
gives 1
says_some 'invalid entity:host for keyword:show'

it 'shows nodes and partitions'
serve_slurm
run strata slurm scontrol show node n2
gives 0
prints_some 'NodeName=n2 '
prints_some 'State=IDLE+DRAIN ThreadsPerCore=2'
prints_some '   Reason=new disk [root@2026-11-15T13:00:00]'
run strata slurm scontrol -o show partition long
prints_some 'PartitionName=long AllowGroups=ALL'
prints_some 'MaxTime=7-00:00:00'
prints_some 'PriorityTier=5'
prints_some 'TRES=cpu=8,mem=16G,node=1,billing=8,gres/gpu=4'
run strata slurm scontrol show node n9
gives 1
says 'Node n9 not found'
run strata slurm scontrol show partition nope
gives 1
says 'Partition nope not found'

it 'expands and folds names of hosts without a server'
run strata slurm scontrol show hostnames 'n[1-2,7]'
prints 'n1
n2
n7'
SLURM_JOB_NODELIST='a[01-02]' run strata slurm scontrol show hostnames
prints 'a01
a02'
run strata slurm scontrol show hostlist n1,n2,n7
prints 'n[1-2,7]'
run strata slurm scontrol show hostlistsorted n7,n1,n2,n1
prints 'n[1-2,7]'

it 'tells whether the service is there'
serve_slurm
run strata slurm scontrol ping
gives 0
prints_some ' is UP'
STRATA_SOCKET=$PWD/none run strata slurm scontrol ping
gives 1
prints_some ' is DOWN'

it 'refuses what it does not know'
run strata slurm scontrol nosuch
gives 1
says 'invalid keyword: nosuch'
run strata slurm scontrol show nosuch
gives 1
says_some 'invalid entity:nosuch for keyword:show'
run strata slurm scontrol show
gives 1
says 'too few arguments for keyword:show'

it 'creates, shows, updates and deletes reservations'
TZ=UTC
export TZ
serve '{"PUT /api/v1/reservations/disks": {"status": 201, "body": {"name": "disks"}}, "DELETE /api/v1/reservations/disks": {"body": {"name": "disks"}},
	"GET /api/v1/reservations": {"body": {"reservations": [{"name": "disks", "user": "op", "reason": "new disks", "from": "2030-03-01T22:00:00Z",
	"to": "2030-03-02T00:00:00Z", "repeat": "daily", "active": false, "nodes": ["n1", "n2", "n3"], "gpus": [], "users": [], "accounts": ["lab"]}]}}}'
run strata slurm scontrol create reservation ReservationName=disks StartTime=2030-03-01T22:00:00 Duration=120 Nodes=n[1-3] Users=ann,bob Flags=MAINT,DAILY
gives 0
prints 'Reservation created: disks'
asked 'p["body"] == {"from": "2030-03-01T22:00:00Z", "duration": 7200, "nodes": ["n[1-3]"], "users": ["ann", "bob"], "repeat": "daily"}'
run strata slurm scontrol show reservation
gives 0
prints 'ReservationName=disks StartTime=2030-03-01T22:00:00 EndTime=2030-03-02T00:00:00 Duration=02:00:00
   Nodes=n[1-3] NodeCnt=3 CoreCnt=0 Features=(null) PartitionName=(null) Flags=DAILY,SPEC_NODES
   TRES=(null)
   Users=(null) Groups=(null) Accounts=lab Licenses=(null) State=INACTIVE BurstBuffer=(null) Watts=n/a
   MaxStartDelay=(null)
   Comment=new disks'
run strata slurm scontrol show reservation nosuch
gives 1
prints 'Reservation nosuch not found'
run strata slurm scontrol update ReservationName=disks Duration=60
gives 0
prints 'Reservation updated.'
asked 'p["body"]["duration"] == 3600 and "to" not in p["body"] and p["body"]["accounts"] == ["lab"]'
run strata slurm scontrol delete ReservationName=disks
gives 0
run strata slurm scontrol delete ReservationName=nosuch
gives 1
run strata slurm scontrol create reservation Nodes=n1
gives 1
run strata slurm scontrol create reservation ReservationName=disks Nodes=n1 Duration=never
gives 1
run strata slurm scontrol create reservation ReservationName=disks Colour=red
gives 1

it 'changes how many of an array run at a time'
serve '{"PATCH /api/v1/jobs/35?elements=all": {"body": {"id": 35}}, "PATCH /api/v1/jobs/35": {"body": {"id": 35}}, "GET /api/v1/queue": {"body": {"jobs": []}}}'
run strata slurm scontrol update JobId=35 ArrayTaskThrottle=4
gives 0
asked 'p["body"] == {"array_throttle": 4}'
