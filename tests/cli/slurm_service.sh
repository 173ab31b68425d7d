# For tests of Slurm's commands that show: a stand-in with three jobs, an array and two nodes. Sourced behind service.sh.
people='"GET /api/v1/users": {"body": {"users": [{"name": "ann", "account": "lab", "weight": 1, "factor": 0.75, "gpu_hours": 1}]}},
	"GET /api/v1/accounts": {"body": {"accounts": [{"name": "lab", "parent": null, "weight": 3, "factor": 0.75, "gpu_hours": 1}]}},
	"GET /api/v1/partitions": {"body": {"partitions": [
		{"name": "gpu", "default": true, "time_limit_s": 3600, "time_limit_max_s": 86400, "priority": 0},
		{"name": "long", "default": false, "time_limit_s": 3600, "time_limit_max_s": 604800, "priority": 5}]}}'
place='[{"node": "n1", "tasks": 1, "cpu_milli": 4000, "memory_bytes": 8589934592, "gpu_mask": 3, "gpu_milli": 1000}]'
running=$(job id=12 'state="running"' 'reason="none"' "place=$place" 'started_at="2026-11-15T14:00:01Z"' 'partition="gpu"' uid=0 gid=0 gpus=2 \
	'request={"nodes": 1, "gpus_per_node": 2, "gpu_type": "a100", "memory": 8589934592, "cpus_per_task": 4}')
waiting=$(job 'partition="gpu"' uid=0 gid=0 'request={"memory": 8589934592, "output": "a-%j.out"}' 'output=null' 'error=null')
element() {
	job "id=$1" "array_id=20" "array_index=$2" 'name="sweep"' 'partition="gpu"' uid=0 gid=0 'request={"array": "1-7:3%2"}' 'reason="priority"' position=null
}
ended=$(job id=11 'state="failed"' 'reason="exit_code"' 'partition="gpu"' exit_code=7 exit_signal=0 attempt=1 "place=$place" 'started_at="2026-11-15T14:00:00Z"' \
	'ended_at="2026-11-15T14:00:05Z"' uid=0 gid=0 'request={"memory": 8589934592}' cpus=4)
nodes='"GET /api/v1/nodes": {"body": {"nodes": [
		{"name": "n1", "state": "up", "reason": null, "since": null, "cpus": 8, "cpus_free": 4, "memory_bytes": 17179869184, "memory_free_bytes": 8589934592,
		"gpus": 4, "gpu_type": "a100", "gpu_free": [0, 0, 1, 1], "features": ["fast"], "partitions": ["gpu", "long"], "jobs": [12]},
		{"name": "n2", "state": "drained", "reason": "new disk", "since": "2026-11-15T13:00:00Z", "cpus": 8, "cpus_free": 8, "memory_bytes": 17179869184,
		"memory_free_bytes": 17179869184, "gpus": 0, "gpu_type": null, "gpu_free": [], "features": [], "partitions": ["gpu"], "jobs": []}]}},
	"GET /api/v1/topology": {"body": {"nodes": [{"name": "n1", "cores": 4, "numa": 1}, {"name": "n2", "cores": 4, "numa": 1}]}}'
jobs="$running, $waiting, $(element 20 1), $(element 21 4), $(element 22 7)"

# serve_slurm [JOB]: with one more job
serve_slurm() {
	serve "{\"GET /api/v1/jobs/12\": {\"body\": $running}, \"GET /api/v1/jobs/17\": {\"body\": $waiting}, \"GET /api/v1/jobs/11\": {\"body\": $ended},
		\"GET /api/v1/jobs/20\": {\"body\": $(element 20 1)}, \"GET /api/v1/queue\": {\"body\": {\"jobs\": [$jobs${1:+, $1}]}}, \"GET /api/v1/jobs\": {\"body\": {\"jobs\": [$jobs, $ended], \"next\": null}}, $people, $nodes}"
}
