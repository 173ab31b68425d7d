"""`strata kubernetes scheduler` with a real API server and real controllers, and the rights of packaging/kubernetes: bind, run, fail, node lost, API server
killed, watch expired, scheduler killed."""
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request

SOURCE = os.environ.get("STRATA_SOURCE", ".")
sys.path.insert(0, os.path.join(SOURCE, "tests", "api"))

from fake_kube import node, pod  # noqa: E402  what makes objects
from kube_cluster import SCHEDULER, KubeCluster, missing  # noqa: E402
from service import STRATA, equal, run_with  # noqa: E402

cluster = None


class World:
    """One control plane for all tests; a namespace, nodes and a scheduler for each."""
    count = 0

    def __init__(self, _test=None):
        World.count += 1
        self.space = f"t{World.count}"
        self.cluster = cluster
        self.running, self.nodes = [], []
        cluster.add_namespace(self.space)
        self.log = cluster.path(f"strata-{self.space}.log")

    def said(self):
        with open(self.log, "a+") as log:
            log.seek(0)
            return log.read()

    def start(self, *args, token=SCHEDULER, lease="2s"):
        with open(self.log, "a") as log:
            self.running.append(subprocess.Popen([STRATA, "kubernetes", "scheduler", "--kubeconfig", self.cluster.kubeconfig(token), "--lease", lease, *args],
                                                 stdout=log, stderr=log))
        return self.running[-1]

    def add_nodes(self, count, gpus=8, **more):
        for i in range(count):
            name = f"{self.space}-n{i}"
            self.cluster.add_node(node(name, gpus=gpus, labels={"test": self.space}, **more))
            self.nodes.append(name)

    def pod(self, name, **more):
        return pod(name, nodeSelector={"test": self.space}, **more)

    def gang(self, name, size, **more):
        return [self.pod(f"{name}-{i}", annotations={"strata.io/gang": name, "strata.io/gang-size": str(size)}, **more) for i in range(size)]

    def add(self, *pods):
        self.cluster.add_pods(self.space, pods)

    def all(self):
        return {one["metadata"]["name"]: one for one in self.cluster.pods(self.space)}

    def where(self, name):
        return self.all().get(name, {"spec": {}})["spec"].get("nodeName")

    def bound(self):
        return [name for name, one in self.all().items() if one["spec"].get("nodeName")]

    def until(self, check, seconds=60, what="it did not happen"):
        self.cluster.wait(check, seconds, what)

    def nothing_is_given_twice(self):
        given = {}
        for name, one in self.all().items():
            for gpu in filter(None, one["metadata"].get("annotations", {}).get("strata.io/gpus", "").split(",")):
                key = (one["spec"]["nodeName"], gpu)
                assert key not in given, f"GPU {key} was given to {given[key]} and to {name}"
                given[key] = name
        return len(given)

    def close(self):
        for process in self.running:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.wait(30)
        self.cluster.remove_pods(self.space)
        for name in self.nodes:
            self.cluster.do("DELETE", f"/api/v1/nodes/{name}")


def pods_are_bound_with_the_least_rights(world):
    world.add_nodes(2)
    world.start()
    world.add(world.pod("a", gpus=4), world.pod("b", gpus=8), world.pod("large", gpus=16), *world.gang("g", 2, gpus=2))
    world.until(lambda: len(world.bound()) >= 4)
    told = lambda: [one for one in world.all()["large"]["status"].get("conditions", []) if one["type"] == "PodScheduled"]  # noqa: E731
    world.until(lambda: told())
    equal((told()[0]["status"], told()[0]["reason"]), ("False", "Unschedulable"))
    assert "short of GPUs" in told()[0]["message"], told()
    events = lambda: {one["reason"] for one in world.cluster.do("GET", f"/api/v1/namespaces/{world.space}/events")["items"]}  # noqa: E731
    world.until(lambda: {"Scheduled", "FailedScheduling"} <= events())
    world.nothing_is_given_twice()
    assert "forbidden" not in world.said(), world.said()


def a_job_runs_fails_and_runs_again(world):
    world.add_nodes(1, gpus=4)
    world.start()
    template = {"metadata": {"annotations": {"strata.io/gang": "j", "strata.io/gang-size": "2"}},
                "spec": {**world.pod("x", gpus=2)["spec"], "restartPolicy": "Never"}}
    world.cluster.create(f"/apis/batch/v1/namespaces/{world.space}/jobs", {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {
        "parallelism": 2, "completions": 2, "backoffLimit": 3, "template": template}})
    world.until(lambda: len(world.bound()) == 2)
    first, second = world.bound()
    for name in (first, second):
        world.cluster.set_phase(world.space, name, "Running")
    time.sleep(1.1)
    world.cluster.set_phase(world.space, first, "Failed")
    world.until(lambda: len(world.bound()) == 3, 90, "the pod in the place of the failed one was not bound")
    for name in set(world.bound()) - {first}:
        world.cluster.set_phase(world.space, name, "Succeeded")
    world.until(lambda: world.cluster.do("GET", f"/apis/batch/v1/namespaces/{world.space}/jobs/j")["status"].get("succeeded") == 2)


def a_higher_priority_class_takes_the_place(world):
    for name, value in (("urgent", 1000), ("idle", -10)):
        world.cluster.ask("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value})
    world.add_nodes(1, gpus=2)
    world.start()
    world.add(world.pod("low", gpus=2, priorityClassName="idle"))
    world.until(lambda: world.where("low"))
    world.add(world.pod("high", gpus=2, priorityClassName="urgent"))
    world.until(lambda: world.all()["low"]["metadata"].get("deletionTimestamp"))
    world.cluster.finish_deletion(world.space, "low")
    world.until(lambda: world.where("high"))


def a_lost_node_is_left(world):
    world.add_nodes(2, gpus=2)
    world.start()
    soon = [{"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1}
            for key in ("node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready")]
    world.add(world.pod("a", gpus=2, tolerations=soon))
    world.until(lambda: world.where("a"))
    lost = world.where("a")
    world.cluster.set_ready(lost, "Unknown")
    world.until(lambda: "a" not in world.all() or world.all()["a"]["metadata"].get("deletionTimestamp"), 90, "the node controller did not evict")
    world.cluster.finish_deletion(world.space, "a")
    world.add(world.pod("b", gpus=2), world.pod("c", gpus=2))
    world.until(lambda: world.bound())
    time.sleep(1)
    equal([world.where(name) for name in world.bound()], [name for name in world.nodes if name != lost])


def an_api_server_that_is_killed_is_waited_for(world):
    world.add_nodes(8, gpus=8)
    scheduler = world.start(lease="60s")
    world.add(*[world.pod(f"p{i}", gpus=1, cpu="10m", memory="1Mi") for i in range(32)], *[one for n in range(4) for one in world.gang(f"g{n}", 8, gpus=1, cpu="10m", memory="1Mi")])
    world.until(lambda: len(world.bound()) >= 5)
    world.cluster.kill("kube-apiserver")
    time.sleep(1)
    world.cluster.start_apiserver()
    equal(scheduler.poll(), None)
    world.until(lambda: len(world.bound()) == 64, 120, "not all were bound")
    equal(world.nothing_is_given_twice(), 64)


def a_watch_that_expired_begins_anew(world):
    """etcd is compacted while the API server is away: what the scheduler saw last is too old to go on from."""
    world.add_nodes(1, gpus=2)
    scheduler = world.start(lease="60s")
    world.add(world.pod("a", gpus=2))
    world.until(lambda: world.where("a"))
    world.cluster.kill("kube-apiserver")
    port = world.cluster.etcd_port

    def etcd(path, body):
        request = urllib.request.Request(f"http://127.0.0.1:{port}/v3/{path}", json.dumps(body).encode())
        with urllib.request.urlopen(request) as answer:
            return json.loads(answer.read())
    for _ in range(50):
        etcd("kv/put", {"key": "L25vdGhpbmc=", "value": "MQ=="})
    etcd("kv/compaction", {"revision": etcd("kv/range", {"key": "AA=="})["header"]["revision"], "physical": True})
    world.cluster.start_apiserver()
    world.cluster.finish_deletion(world.space, "a")
    world.add(world.pod("b", gpus=2))
    world.until(lambda: world.where("b"))
    assert "pods were listed anew" in world.said(), "the watch did not expire: this test shows nothing"
    equal(scheduler.poll(), None)


def a_killed_scheduler_comes_back_and_binds_nothing_twice(world):
    world.add_nodes(8, gpus=8)
    first = world.start()
    world.add(*[one for n in range(6) for one in world.gang(f"g{n}", 8, gpus=1, cpu="10m", memory="1Mi")], *[world.pod(f"p{i}", gpus=1, cpu="10m", memory="1Mi") for i in range(16)])
    world.until(lambda: len(world.bound()) >= 3)
    first.kill()
    first.wait()
    world.start()
    world.until(lambda: len(world.bound()) == 64, 60, "not all were bound")
    equal(world.nothing_is_given_twice(), 64)


def a_wrong_token_is_said(world):
    process = world.start(token="nonsense")
    world.until(lambda: "401" in world.said() or "Unauthorized" in world.said())
    equal(process.poll(), None)
    assert "nonsense" not in world.said()


why = missing()
try:
    if not why:
        cluster = KubeCluster(scheduler=False)
        cluster.add_namespace("strata")
        cluster.grant("scheduler", "strata")
    run_with(World, pods_are_bound_with_the_least_rights, a_job_runs_fails_and_runs_again, a_higher_priority_class_takes_the_place, a_lost_node_is_left,
             an_api_server_that_is_killed_is_waited_for, a_watch_that_expired_begins_anew, a_killed_scheduler_comes_back_and_binds_nothing_twice,
             a_wrong_token_is_said, skip=why)
finally:
    if cluster:
        cluster.close()
