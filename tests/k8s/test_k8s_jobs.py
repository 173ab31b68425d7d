"""StrataJobs on a real API server, with the resource and the rights of packaging/kubernetes/service."""
import os
import signal
import subprocess
import sys

SOURCE = os.environ.get("STRATA_SOURCE", ".")
sys.path.insert(0, os.path.join(SOURCE, "tests", "api"))

from kube_cluster import ADMIN, SERVICE, KubeCluster, missing  # noqa: E402
from service import STRATA, Service, equal, run_with  # noqa: E402

PATH = "/apis/strata.io/v1alpha1/namespaces/team/stratajobs"
cluster = None


class World(Service):
    def __init__(self, _test=None):
        super().__init__()
        with open(os.path.join(self.dir, "jobs.log"), "a") as log:
            self.controller = subprocess.Popen([STRATA, "kubernetes", "jobs", "--socket", self.socket, "--look", "200ms", "--kubeconfig", cluster.kubeconfig(SERVICE)],
                                               stdout=log, stderr=log)

    def make(self, name, *command):
        cluster.create(PATH, {"apiVersion": "strata.io/v1alpha1", "kind": "StrataJob", "metadata": {"name": name}, "spec": {
            "command": list(command), "working_dir": self.dir, "environment": {"PATH": "/usr/bin:/bin"}, "output": "/dev/null"}})

    def state_of(self, name):
        return cluster.ask("GET", f"{PATH}/{name}")[1].get("status", {}).get("state")

    def close(self):
        self.controller.send_signal(signal.SIGTERM)
        self.controller.wait(30)
        super().close()


def an_object_becomes_a_job_and_its_deletion_cancels_it(world):
    world.make("good", "true")
    world.make("long", "sleep", "1000")
    cluster.wait(lambda: world.state_of("good") == "completed" and world.state_of("long") == "running", 60, "the jobs did not run")
    table = subprocess.run(["kubectl", "--kubeconfig", cluster.kubeconfig(ADMIN), "-n", "team", "get", "stratajobs"], capture_output=True, text=True).stdout
    assert "STATE" in table and "completed" in table, table
    job = cluster.do("GET", f"{PATH}/long")["status"]["id"]
    cluster.do("DELETE", f"{PATH}/long")
    cluster.wait(lambda: cluster.ask("GET", f"{PATH}/long")[0] == 404, 60, "the object was not let go")
    equal(world.job(job)["state"], "cancelled")


def a_killed_api_server_is_waited_for(world):
    world.make("before", "sleep", "2")
    cluster.wait(lambda: world.state_of("before") == "running", 60, "the job did not run")
    cluster.kill("kube-apiserver")
    cluster.start_apiserver()
    world.make("after", "true")
    cluster.wait(lambda: world.state_of("before") == "completed" and world.state_of("after") == "completed", 60, "what became of them was not written")


why = missing()
try:
    if not why:
        cluster = KubeCluster(scheduler=False, controllers=False)
        for name in ("team", "strata"):
            cluster.add_namespace(name)
        made = subprocess.run(["kubectl", "--kubeconfig", cluster.kubeconfig(ADMIN), "apply", "--validate=false", "-f",
                               os.path.join(SOURCE, "packaging", "kubernetes", "service", "crd.yaml")], capture_output=True, text=True)
        assert made.returncode == 0, made.stderr
        cluster.grant("service", "strata")
        cluster.wait(lambda: cluster.ask("GET", PATH)[0] == 200, 60, "the resource is not served")
    run_with(World, an_object_becomes_a_job_and_its_deletion_cancels_it, a_killed_api_server_is_waited_for, skip=why)
finally:
    if cluster:
        cluster.close()
