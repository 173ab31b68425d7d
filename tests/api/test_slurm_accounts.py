"""What Slurm has forgotten its accounts still know: how a job ended while the service was away for too long."""

import os
import time

import slurm_cluster
from service import Service, run_with
from test_exec_slurm import OnSlurm

FORGOTTEN_S = 300  # slurmctld looks once a minute for what is older than MinJobAge


class WithAccounts(OnSlurm):
    def __init__(self):
        self.cluster = slurm_cluster.Slurm(nodes=2, age=2, accounts=True)
        Service.__init__(self, "--executor", f"slurm:poll=200ms:conf={self.cluster.conf}", nodes=None)

    def close(self):
        super().close()
        self.cluster.close()


def a_job_that_slurm_has_forgotten_ended_as_its_accounts_say(service):
    jobs = {service.submit("sh", "-c", f"echo $STRATA_ATTEMPT >> {service.dir}/runs-{code}; sleep 3; exit {code}")["id"]: code
            for code in (0, 7)}
    for job in jobs:
        service.wait(job, "running")
    service.kill()
    deadline = time.time() + FORGOTTEN_S
    while service.cluster.jobs() and time.time() < deadline:
        time.sleep(1)
    assert not service.cluster.jobs(), "Slurm still knows them"
    back = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    service.start()
    for job, code in jobs.items():
        ended = service.wait(job, "completed", "failed")
        assert (ended["state"], ended["exit_code"]) == ("failed" if code else "completed", code), ended
        assert ended["started_at"] < ended["ended_at"] < back, ended
        with open(os.path.join(service.dir, f"runs-{code}")) as runs:
            assert runs.read() == "1\n", "it ran again"


run_with(lambda test: WithAccounts(), a_job_that_slurm_has_forgotten_ended_as_its_accounts_say,
         skip=slurm_cluster.possible(accounts=True))
