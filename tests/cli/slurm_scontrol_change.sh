#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

j="{\"body\": $(job id=36)}"
routes="{\"GET /api/v1/queue\": {\"body\": {\"jobs\": [$(job id=36), $(job id=40 array_id=40 array_index=1), $(job id=41 array_id=40 array_index=4)]}},
	\"PATCH /api/v1/jobs/36\": $j, \"PATCH /api/v1/jobs/40\": $j, \"GET /api/v1/jobs/40\": $j, \"GET /api/v1/jobs/41\": $j, \"GET /api/v1/jobs/36\": $j,
	\"PATCH /api/v1/jobs/5\": {\"status\": 409, \"body\": {\"error\": {\"code\": \"stale\", \"message\": \"ended\", \"field\": null}}},
	\"PATCH /api/v1/nodes/n001\": {\"body\": {}}, \"PATCH /api/v1/nodes/n002\": {\"body\": {}}}"

it 'holds, releases, requeues, suspends and resumes'
serve "$routes"
for pair in 'hold={"hold": True}' 'uhold={"hold": True}' 'release={"hold": False}' 'requeue={"requeue": True}' 'requeuehold={"requeue": True, "hold": True}' \
	'suspend={"suspend": True}' 'resume={"suspend": False}'; do
	run strata slurm scontrol "${pair%%=*}" 36
	gives 0
	says ''
	asked "p['path'] == '/api/v1/jobs/36' and p['body'] == ${pair#*=}"
done

it 'means arrays, elements, lists and names'
serve "$routes"
run strata slurm scontrol hold 40
asked '[x["path"] + "?" + x["query"] for x in r] == ["/api/v1/jobs/40?elements=all"]'
run strata slurm scontrol hold '36,40_[1,4]'
asked '[x["path"][13:] + "?" + x["query"] for x in r[-2:]] == ["36?elements=all", "40?elements=1,4"]'
run strata slurm scontrol hold jobname=train
asked '[x["path"][13:] + "?" + x["query"] for x in r if x["method"] == "PATCH"][-2:] == ["36?elements=all", "40?elements=1,4"]'
run strata slurm scontrol update job=40 timelimit+=10
asked '[x["query"] for x in r if x["method"] == "PATCH"][-2:] == ["elements=1", "elements=4"] and p["body"] == {"time_limit": 7800}'

it 'updates jobs'
serve "$routes"
run strata slurm scontrol update jobid=36 timelimit=1-00:00:00 Nice=5
gives 0
asked 'p["body"] == {"time_limit": 86400, "nice": 5}'
run strata slurm scontrol update JobId=36 TimeLimit+=10
asked 'p["body"] == {"time_limit": 7800}'
run strata slurm scontrol update job=36 starttime=2030-01-01T00:00:00
asked 'p["body"] == {"begin": "2030-01-01T00:00:00Z"}'
run strata slurm scontrol update job=36 priority=0
asked 'p["body"] == {"hold": True}'
run strata slurm scontrol update job=36 numcpus=4
gives 1
says 'Update of this parameter is not supported: numcpus=4
Request aborted'
run strata slurm scontrol update job=36 Name=x Comment='a b' Partition=long QOS=fast Account=lab NumNodes=2-4 NumTasks=8 MinMemoryNode=4G Dependency=afterok:3 Features=ib ExcNodeList=n1 Gres=gpu:a100:2
gives 0
asked 'p["body"] == {"name": "x", "comment": "a b", "partition": "long", "qos": "fast", "account": "lab", "nodes": 2, "tasks": 8, "memory": 4 << 30,
	"dependencies": "afterok:3", "features": "ib", "node_exclude": "n1", "gpu_type": "a100", "gpus_per_node": 2}'
run strata slurm scontrol update job=36 Dependency= MinMemoryNode=512
asked 'p["body"] == {"dependencies": None, "memory": 512 << 20}'
run strata slurm scontrol update job=36 NumNodes=many
gives 1
says 'Invalid NumNodes value: many'
run strata slurm scontrol update job=5 timelimit=3
gives 1
says 'Job/step already completing or completed for job 5'
run strata slurm scontrol update job=9 timelimit=3
gives 1
says 'Invalid job id specified for job 9'

it 'updates nodes'
serve "$routes"
run strata slurm scontrol update 'nodename=n[001-002]' state=drain 'reason=bad gpu'
gives 0
asked '[(x["path"][-4:], x["body"]) for x in r] == [(n, {"state": "drained", "reason": "bad gpu"}) for n in ("n001", "n002")]'
run strata slurm scontrol update nodename=n001 state=resume
asked 'p["body"] == {"state": "up"}'
run strata slurm scontrol update nodename=n001 state=down
gives 1
says 'You must specify a reason when DOWNING or DRAINING a node. Request denied'
run strata slurm scontrol update nodename=n009 state=resume
gives 1
says 'slurm_update error: Invalid node name specified'

it 'wants to know what to update'
run strata slurm scontrol update state=down
gives 1
says_some 'No valid entity in update command'
run strata slurm scontrol hold
gives 1
says 'too few arguments for keyword:hold'
