"""Jobs as pods of a real control plane: what the API server takes, binds and deletes; the kubelet's part is played from here, by the API alone. The
service has the rights of packaging/kubernetes/service and no others."""
import base64
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

SOURCE = os.environ.get("STRATA_SOURCE", ".")
sys.path.insert(0, os.path.join(SOURCE, "tests", "api"))

from fake_kube import node  # noqa: E402  what makes objects
from kube_cluster import SERVICE, KubeCluster, missing  # noqa: E402
from service import PATIENCE_S, Service, equal, run_with  # noqa: E402

MOUNT = "/var/run/strata"
MERGE = "application/strategic-merge-patch+json"
cluster = None


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


class Kubelet:
    """Runs what is bound in a namespace, one process for each pod, and says so to the API server."""

    def __init__(self, kube, space):
        self.kube, self.space, self.running, self.started, self.ends = kube, space, {}, [], False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.ends:
            try:
                for pod in self.kube.pods(self.space):
                    if pod["spec"].get("nodeName"):
                        self.look_at(pod)
            except Exception:  # the API server may be away at any moment
                pass
            time.sleep(0.05)
        for process, _ in self.running.values():
            process.kill()

    def say(self, name, phase, state):
        self.kube.do("PATCH", f"/api/v1/namespaces/{self.space}/pods/{name}/status", {"status": {"phase": phase, "containerStatuses": [
            {"name": "job", "image": "x", "imageID": "", "ready": phase == "Running", "restartCount": 0, "state": state}]}}, MERGE)

    def look_at(self, pod):
        name, uid, phase = pod["metadata"]["name"], pod["metadata"]["uid"], pod["status"]["phase"]
        deleting = pod["metadata"].get("deletionTimestamp")
        if uid not in self.running and phase == "Pending" and not deleting:
            self.start(pod)
        process, _ = self.running.get(uid, (None, None))
        if process and phase == "Pending":
            self.say(name, "Running", {"running": {"startedAt": now()}})
        if process and deleting and process.poll() is None:
            process.terminate()
        if process and process.poll() is not None and phase in ("Pending", "Running"):
            code = process.returncode if process.returncode >= 0 else 128 - process.returncode
            self.say(name, "Failed" if code else "Succeeded", {"terminated": {"exitCode": code, "reason": "Error" if code else "Completed",
                                                                              "startedAt": now(), "finishedAt": now()}})
        if deleting and (not process or process.poll() is not None):
            self.kube.finish_deletion(self.space, name)

    def start(self, pod):
        place = tempfile.mkdtemp(prefix="strata-pod-")
        secret = next(one["secret"]["secretName"] for one in pod["spec"]["volumes"] if "secret" in one)
        for key, text in self.kube.do("GET", f"/api/v1/namespaces/{self.space}/secrets/{secret}")["data"].items():
            path = os.path.join(place, key)
            with open(path, "wb") as file:
                file.write(base64.b64decode(text).replace(MOUNT.encode(), place.encode()))
            os.chmod(path, 0o555)
        container = pod["spec"]["containers"][0]
        environment = {"PATH": "/usr/bin:/bin", **{one["name"]: one.get("value", "") for one in container["env"]}}
        self.running[pod["metadata"]["uid"]] = subprocess.Popen([word.replace(MOUNT, place) for word in container["command"]], env=environment, cwd="/"), place
        self.started.append(pod["metadata"]["name"])


class OnCluster(Service):
    count = 0

    def __init__(self, _test=None):
        OnCluster.count += 1
        self.space, self.kube = f"e{OnCluster.count}", cluster
        cluster.add_namespace(self.space)
        cluster.grant("service", self.space)
        for index in range(3):
            name = f"{self.space}-n{index}"
            cluster.add_node(node(name, cpu="8", memory="32Gi", gpus=4, labels={"feature.strata.io/" + self.space: "true"}))
        self.kubelet = Kubelet(cluster, self.space)
        super().__init__("--executor", f"kubernetes:kubeconfig={cluster.kubeconfig(SERVICE, self.space)}:image=x", nodes=None)

    def submit(self, *command, **fields):
        return super().submit(*command, features=self.space, output="/dev/null", **fields)

    def left(self):
        return [one["metadata"]["name"] for kind in ("pods", "secrets", "services")
                for one in cluster.do("GET", f"/api/v1/namespaces/{self.space}/{kind}")["items"] if one["metadata"]["name"].startswith("strata-")]

    def close(self):
        super().close()
        self.kubelet.ends = True
        self.kubelet.thread.join()
        for index in range(3):
            cluster.do("DELETE", f"/api/v1/nodes/{self.space}-n{index}")


def until(done, what):
    deadline = time.time() + PATIENCE_S
    while not done():
        assert time.time() < deadline, what()
        time.sleep(0.05)


def a_job_runs_as_the_api_server_has_it(service):
    job = service.submit("sh", "-c", f"echo $STRATA_NODE > {service.dir}/where; exit 3", gpus=2, memory="1GiB")["id"]
    service.wait(job, "failed")
    equal((service.job(job)["exit_code"], service.output("where")), (3, service.job(job)["node_names"][0] + "\n" if service.job(job)["node_names"] else service.output("where")))
    until(lambda: not service.left(), service.left)


def several_nodes_have_a_service_between_them(service):
    job = service.submit("sh", "-c", f"echo run >> {service.dir}/runs.$SLURM_NODEID; sleep 0.5", nodes=3, tasks=3)["id"]
    service.wait(job, "running")
    service.wait(job, "completed")
    equal([service.output(f"runs.{i}") for i in range(3)], ["run\n"] * 3)
    until(lambda: not service.left(), service.left)


def cancelled_and_over_time(service):
    jobs = [service.submit("sleep", "100")["id"], service.submit("sleep", "100", time_limit="2s")["id"]]
    for job in jobs:
        service.wait(job, "running", "failed")
    service.api("DELETE", f"/jobs/{jobs[0]}", status=202)
    service.wait(jobs[0], "cancelled")
    service.wait(jobs[1], "failed")
    until(lambda: not service.left(), service.left)


def what_the_api_server_refuses_fails_the_job(service):
    job = service.submit("true", image=" ")["id"]
    service.wait(job, "failed")
    assert "image" in json.dumps(service.job(job)), service.job(job)
    until(lambda: not service.left(), service.left)


def both_are_killed_and_nothing_runs_twice(service):
    """The service at random, the API server twice; the store of the cluster is etcd, which stays."""
    seed = int(os.environ.get("STRATA_SEED", random.randrange(1 << 32)))
    chance, jobs = random.Random(seed), []
    for turn in range(6):
        jobs += [service.submit("sh", "-c", f"echo run >> {service.dir}/runs.$SLURM_JOB_ID; sleep 0.3; exit 5")["id"] for _ in range(3)]
        time.sleep(chance.random() * 0.5)
        service.kill()
        if turn in (2, 4):
            cluster.kill("kube-apiserver", signal.SIGKILL)
            cluster.start_apiserver()
        service.start()
    for job in jobs:
        service.wait(job, "failed")
        equal((service.job(job)["exit_code"], service.output(f"runs.{job}"), seed), (5, "run\n", seed))
    equal((len(service.kubelet.started), len(set(service.kubelet.started))), (len(jobs), len(jobs)))
    until(lambda: not service.left(), service.left)


if __name__ == "__main__":
    why = missing()
    if not why:
        cluster = KubeCluster(scheduler=True, controllers=False)
    try:
        run_with(OnCluster, a_job_runs_as_the_api_server_has_it, several_nodes_have_a_service_between_them, cancelled_and_over_time,
                 what_the_api_server_refuses_fails_the_job, both_are_killed_and_nothing_runs_twice, skip=why)
    finally:
        if cluster:
            cluster.close()
