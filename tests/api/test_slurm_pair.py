"""Two servers on one PostgreSQL and one Slurm cluster: the leader is killed again and again, the other goes on with its jobs."""

import time

import postgres
import slurm_cluster
from service import PATIENCE_S, Service, equal, run_with
from test_standby import Pair

JOBS = 24


class PairOnSlurm(Pair):
    def __init__(self):
        self.cluster = slurm_cluster.Slurm(nodes=4)
        self.database = postgres.Postgres()
        self.store = self.database.address()
        self.words = ["--executor", f"slurm:poll=200ms:conf={self.cluster.conf}"]
        self.one = Service(*self.words, nodes=None, store=self.store)
        self.two = Service(*self.words, nodes=None, store=self.store, state=self.one.state)

    def close(self):
        super().close()
        self.cluster.close()
        self.database.close()


def the_other_goes_on_with_what_runs(pair):
    path = f"{pair.one.dir}/runs"
    jobs = [pair.one.submit("sh", "-c", f"echo $STRATA_JOB_ID.$STRATA_ATTEMPT >> {path}; sleep 2", cpus_per_task=8,
                            output="/dev/null")["id"] for _ in range(JOBS)]
    leader, other = pair.one, pair.two
    for _ in range(3):
        deadline = time.time() + PATIENCE_S
        while not [job for job in jobs if leader.job(job)["state"] == "running"] and time.time() < deadline:
            time.sleep(0.1)
        leader.kill()
        pair.wait_for_lead(other)
        leader.start()
        leader, other = other, leader
    for job in jobs:
        equal(leader.wait(job, "completed", "failed")["state"], "completed")
    with open(path) as file:
        equal(sorted(file.read().split()), sorted(f"{job}.1" for job in jobs))
    equal(len(pair.cluster.jobs()), JOBS)


run_with(lambda test: PairOnSlurm(), the_other_goes_on_with_what_runs,
         skip=slurm_cluster.possible() or ("" if postgres.possible() else "no initdb (Debian: postgresql)"))
