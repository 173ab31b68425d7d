"""Two hundred mixed jobs on a real Slurm of eight emulated nodes, the service killed twice on the way."""

import os
import random
import time

import slurm_cluster
from service import Service, rerun, run_with
from test_exec_slurm import OnSlurm

JOBS = int(os.environ.get("STRATA_SLURM_JOBS", "200"))


class OnEight(OnSlurm):
    def __init__(self):
        self.cluster = slurm_cluster.Slurm(nodes=8, age=7200)
        Service.__init__(self, "--executor", f"slurm:poll=200ms:conf={self.cluster.conf}", nodes=None)
        self.kill()
        self.args += ["--record", os.path.join(self.dir, "record")]
        self.start()

    def close(self):
        super().close()
        self.cluster.close()


def make(service, random):
    """One of a mix: CPUs only, GPUs, whole nodes, several nodes; some fail."""
    code = random.choice([0, 0, 0, 1, 7])
    shape = random.choice([{"cpus_per_task": random.randint(1, 8)}, {"gpus": random.randint(1, 4), "memory": "2G"},
                           {"gpus": 4, "cpus_per_task": 16}, {"nodes": 2, "gpus_per_node": 2, "tasks": 2},
                           {"nodes": 3, "tasks": 6, "cpus_per_task": 2}])
    line = f"echo $STRATA_JOB_ID.$STRATA_ATTEMPT >> {service.dir}/runs; sleep {random.uniform(0.2, 3):.1f}; exit {code}"
    return service.submit("sh", "-c", line, output="/dev/null", **shape)["id"], code


def places(service):
    """Where each attempt was decided to run: (job, attempt) -> nodes."""
    found, after = {}, 0
    while page := service.api("GET", f"/events?format=json&after={after}&limit=1000")["events"]:
        after = page[-1]["sequence"]
        for event in page:
            if event["kind"] == "job.scheduled":
                found[event["job"], event["about"]["attempt"]] = sorted(event["about"]["gpu_ids"])
    return found


def many_jobs_and_two_kills(service):
    chance = random.Random(5)
    jobs = {}
    for number in range(JOBS):
        job, code = make(service, chance)
        jobs[job] = code
        if number in (JOBS // 3, 2 * JOBS // 3):
            service.kill()
            time.sleep(1)
            service.start()
    for job, code in jobs.items():
        ended = service.wait(job, "completed", "failed", timeout=900)
        assert (ended["state"], ended["exit_code"]) == ("failed" if code else "completed", code), ended
    runs = service.output("runs").split()
    assert len(runs) == len(set(runs)), "something ran twice"
    assert {int(run.split(".")[0]) for run in runs} == set(jobs), "something was lost"
    again = sum(int(run.split(".")[1]) > 1 for run in runs)
    decided, same = places(service), 0
    for number, (state, comment, nodes) in service.cluster.jobs().items():
        job, attempt, _ = comment.removeprefix("strata:").split(":")[0].split(".")
        there = sorted(service.cluster.run("scontrol", "show", "hostnames", nodes).split())
        assert there == decided[int(job), int(attempt)], (number, comment, there, decided[int(job), int(attempt)])
        same += 1
    assert same == len(runs), (same, len(runs))
    found = rerun(service)
    assert (found["differing"], found["clusters"]) == (0, 3), found
    assert found["starts"] >= len(jobs), found
    print(f"# decided over: {found['events']} events, {found['passes']} passes, {found['starts']} starts, all the same")
    print(f"# {len(jobs)} jobs, {same} starts where they were decided, {again} of them second attempts")


run_with(lambda test: OnEight(), many_jobs_and_two_kills, skip=slurm_cluster.possible())
