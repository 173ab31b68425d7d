"""Jobs on a real Slurm cluster of emulated nodes, decided on here."""

import os
import signal
import subprocess
import time

import slurm_cluster
from service import PATIENCE_S, STRATA, Service, Skip, run_with

cluster = None


def slurm():
    """One for all tests; it takes a while."""
    global cluster
    why = slurm_cluster.possible()
    if why:
        raise Skip(why)
    if cluster is None:
        cluster = slurm_cluster.Slurm(nodes=4)
    return cluster


class OnSlurm(Service):
    def __init__(self, *args):
        self.cluster = slurm()
        super().__init__("--executor", f"slurm:poll=100ms:conf={self.cluster.conf}", *args, nodes=None)

    def slurm_id(self, job, attempt=1):
        """The number of a job there, by its comment."""
        for number, (state, comment, nodes) in self.ours().items():
            if comment.startswith(f"strata:{job}.{attempt}."):
                return number, state, nodes
        return None

    def ours(self):
        """Those of this service, in a cluster that others have used."""
        with open(os.path.join(self.state, "slurm-identity")) as file:
            identity = file.read()
        return {number: job for number, job in self.cluster.jobs().items() if job[1].endswith(":" + identity)}

    def await_slurm(self, done, what):
        self.cluster.wait(done, what)


def nodes_are_slurms(service):
    nodes = {node["name"]: node for node in service.api("GET", "/nodes")["nodes"]}
    assert sorted(nodes) == ["n001", "n002", "n003", "n004"], nodes
    one = nodes["n001"]
    assert one["state"] == "up" and "a100" in str(one) and "gpu" in str(one), one


def somebody_sits_at_a_job_there(service):
    """Where its node is this machine; elsewhere `strata run` says that it cannot be reached."""
    done = subprocess.run([STRATA, "run", "--", "sh", "-c", "cat; echo $SLURMD_NODENAME; exit 5"], input="hi\n", stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "STRATA_SOCKET": service.socket}, timeout=PATIENCE_S)
    assert (done.returncode, done.stdout) == (5, "hi\nn001\n"), done
    service.wait(1, "failed")


def a_job_runs_where_it_was_decided(service):
    script = "#!/bin/bash\n#SBATCH --array=1-9\necho \"$SLURMD_NODENAME $FOO $STRATA_JOB_ID $1 $LD_PRELOAD.\"; exit 7\n"
    job = service.submit(script=script, arguments=["a b"], gpus=2, node_list="n003", cpus_per_task=2,
                         environment={"PATH": "/usr/bin:/bin", "FOO": "x  'y'", "SBATCH_PARTITION": "nosuch"})["id"]
    done = service.wait(job, "failed")
    assert done["exit_code"] == 7 and done["started_at"], done
    assert service.output(f"strata-{job}.out") == f"n003 x  'y' {job} a b .\n", service.output(f"strata-{job}.out")
    number, state, nodes = service.slurm_id(job)
    assert nodes == "n003" and state == "FAILED", (state, nodes)
    about = service.cluster.run("scontrol", "-o", "show", "job", str(number))
    assert "NumCPUs=2" in about and "TresPerNode=gres:gpu:2" in about and "Requeue=0" in about, about


def several_nodes_and_uneven_tasks(service):
    even = service.submit("sleep", "30", nodes=2, tasks=4, gpus_per_node=2)["id"]
    odd = service.submit("sleep", "30", nodes=2, tasks=3, gpus_per_task=1)["id"]
    for job, tasks in (even, 4), (odd, 3):
        there = service.wait(job, "running")
        number, _, nodes = service.slurm_id(job)
        names = service.cluster.run("scontrol", "show", "hostnames", nodes).split()
        assert sorted(names) == sorted(there["gpu_ids"]), (names, there["gpu_ids"])
        details = service.cluster.run("scontrol", "-o", "-d", "show", "job", str(number))
        assert f"NumTasks={tasks}" in details, details
        for name, gpus in there["gpu_ids"].items():
            assert f"gpu:a100:{len(gpus)}(" in details, (name, gpus, details)
        service.api("DELETE", f"/jobs/{job}", status=202)
        service.wait(job, "cancelled")
        service.await_slurm(lambda: service.slurm_id(job)[1] == "CANCELLED", "cancelled job")


def the_end_is_told_as_it_was(service):
    killed = service.submit("sh", "-c", "kill -9 $$")["id"]
    nowhere = service.submit("true", working_dir="/nowhere")["id"]
    refused = service.submit("true", partition="gpu", gpu_share=0.5)["id"]
    well = service.submit("true")["id"]
    job = service.wait(killed, "failed")
    assert job["exit_signal"] == 9, job
    service.wait(nowhere, "failed")
    service.wait(well, "completed")
    service.wait(refused, "failed")


def a_restart_finds_what_runs(service):
    job = service.submit("sh", "-c", "sleep 3; exit 5", gpus=1)["id"]
    ended = service.submit("sh", "-c", "sleep 1; exit 6", gpus=1)["id"]
    waiting = service.submit("true", hold=True)["id"]
    service.wait(job, "running")
    service.wait(ended, "running")
    service.kill()
    service.await_slurm(lambda: service.slurm_id(ended)[1] == "FAILED", "end")
    service.start()
    assert service.wait(ended, "failed")["exit_code"] == 6
    assert service.wait(job, "failed")["exit_code"] == 5
    assert service.job(waiting)["state"] == "queued"
    mine = [comment for _, comment, _ in service.ours().values()]
    assert sorted(mine) == sorted(set(mine)) and len(mine) == 2, mine


def slurm_may_be_away(service):
    """No job is lost because Slurm cannot be asked, and what is submitted meanwhile starts later."""
    job = service.submit("sh", "-c", "sleep 2; exit 3", gpus=1)["id"]
    service.wait(job, "running")
    service.cluster.stop()
    later = service.submit("true", gpus=1)["id"]
    deadline = time.time() + PATIENCE_S
    while "executor" not in service.said() and time.time() < deadline:
        time.sleep(0.1)
    assert "component=executor" in service.said(), service.said()
    assert service.job(job)["state"] == "running"
    service.cluster.start()
    assert service.wait(job, "failed")["exit_code"] == 3
    service.wait(later, "completed")


def what_others_run_is_taken(service):
    there = service.cluster.run("sbatch", "--parsable", "-w", "n002", "--gres=gpu:3", "--mem=100", "-o", "/dev/null",
                                "--wrap", "sleep 100").strip()
    name = f"slurm.{there}"
    service.await_slurm(lambda: name in str(service.api("GET", "/reservations")), "reservation")
    job = service.submit("true", gpus=2, node_list="n002")["id"]
    fits = service.submit("true", gpus=1, node_list="n002")["id"]
    service.wait(fits, "completed")
    assert service.job(job)["state"] == "queued"
    service.cluster.run("scancel", there)
    service.wait(job, "completed")
    assert name not in str(service.api("GET", "/reservations"))


def nodes_follow_slurm(service):
    state = lambda: {node["name"]: node["state"] for node in service.api("GET", "/nodes")["nodes"]}["n004"]
    service.cluster.run("scontrol", "update", "nodename=n004", "state=drain", "reason=bad gpu")
    service.await_slurm(lambda: state() == "drained", "drained node")
    job = service.submit("true", node_list="n004")["id"]
    time.sleep(0.5)
    assert service.job(job)["state"] == "queued"
    service.cluster.run("scontrol", "update", "nodename=n004", "state=resume")
    service.wait(job, "completed")


def wishes_are_carried_out(service):
    job = service.submit("sh", "-c", "trap 'echo saved; exit 0' USR1; while :; do sleep 0.1; done", checkpoint="1s")["id"]
    service.wait(job, "completed")
    assert "saved" in service.output(f"strata-{job}.out")


def as_another_user(service):
    """A user's job runs as that user, and reads its own token."""
    os.chmod(service.dir, 0o777)
    from service import as_nobody
    status, answer = as_nobody(service, "POST", "/api/v1/jobs", {
        "command": ["sh", "-c", "id -un; wc -c < $STRATA_TOKEN_FILE"], "working_dir": service.dir,
        "environment": {"PATH": "/usr/bin:/bin"}})
    assert status == 201, answer
    service.wait(answer["id"], "completed")
    name, size = service.output(f"strata-{answer['id']}.out").split()
    assert name == "nobody" and int(size) > 10


if __name__ == "__main__":
    run_with(lambda test: OnSlurm(), nodes_are_slurms, somebody_sits_at_a_job_there, a_job_runs_where_it_was_decided, several_nodes_and_uneven_tasks,
             the_end_is_told_as_it_was, a_restart_finds_what_runs, slurm_may_be_away, what_others_run_is_taken,
             nodes_follow_slurm, wishes_are_carried_out, as_another_user)
