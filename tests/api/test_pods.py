"""`strata kubernetes scheduler` against a Kubernetes API server that is played (fake_kube.py): what users of a cluster would notice."""
import functools
import os
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

from fake_kube import FakeKube, node, pod
from service import COMPLAINT, PATIENCE_S, STRATA, equal, run_with

TOKEN = "a-secret-token"
LEASE = "1s"


class World:
    """A cluster without nodes and a scheduler that is started when a test says so."""

    def __init__(self, _test=None):
        self.dir = tempfile.mkdtemp(prefix="strata-pods-")
        self.kube = FakeKube(TOKEN)
        self.kube.bookmark_s = 0.1
        self.running = []

    def config(self, token=TOKEN):
        return self.kube.kubeconfig(os.path.join(self.dir, "kubeconfig"), token)

    def start(self, *args, token=TOKEN, lease=LEASE):
        log = open(os.path.join(self.dir, "log"), "a")
        process = subprocess.Popen([STRATA, "kubernetes", "scheduler", "--kubeconfig", self.config(token), "--lease", lease,
                                    "--listen", "127.0.0.1:0", *args], stdout=log, stderr=log)
        self.running.append(process)
        return process

    def said(self):
        with open(os.path.join(self.dir, "log"), "a+") as log:
            log.seek(0)
            return log.read()

    def add_nodes(self, count, **more):
        for i in range(count):
            self.kube.create("nodes", None, node(f"n{i}", **{"gpus": 8, **more}))

    def add(self, name, namespace="default", **more):
        return self.kube.create("pods", namespace, pod(name, **more))

    def gang(self, name, size, count=None, **more):
        for i in range(size if count is None else count):
            self.add(f"{name}-{i}", annotations={"strata.io/gang": name, "strata.io/gang-size": str(size)}, **more)

    def where(self, name, namespace="default"):
        return ((self.kube.get("pods", namespace, name) or {"spec": {}})["spec"]).get("nodeName")

    def bound(self, *names):
        return [self.where(name) for name in names if self.where(name)]

    def why(self, name):
        rows = (self.kube.get("pods", "default", name) or {"status": {}})["status"].get("conditions", [])
        return next((one for one in rows if one["type"] == "PodScheduled"), {}).get("message") or ""

    def until(self, check, what="it did not happen"):
        deadline = time.time() + PATIENCE_S
        while not check():
            assert time.time() < deadline, f"{what}: {self.said()[-3000:]}"
            time.sleep(0.02)

    def settled(self):
        """Every pod has a node, or has been told why not."""
        self.until(lambda: all(one["spec"].get("nodeName") or one["spec"]["schedulerName"] != "strata" or self.why(one["metadata"]["name"])
                               for one in self.kube.all("pods")), "not all pods were looked at")

    def bindings(self):
        return [path.split("/")[-2] for method, path, _ in self.kube.asked if method == "POST" and path.endswith("/binding")]

    def ask(self, path):
        port = self.said().rsplit("listening on port ", 1)[1].split('"')[0].split()[0]
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}") as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def metric(self, name):
        return float(next(line.split()[1] for line in self.ask("/metrics")[1].splitlines() if line.startswith(f"strata_pods_{name} ")))

    def end(self):
        for process in self.running:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.wait(PATIENCE_S)
        found = [line for line in self.said().splitlines() if COMPLAINT.search(line)] if self.running else []
        assert not found, "\n".join(found[:5])

    def close(self):
        for process in self.running:
            if process.poll() is None:
                process.kill()
                process.wait()
        if self.kube.server:
            self.kube.stop()
        shutil.rmtree(self.dir, ignore_errors=True)


def pods_that_ask_for_it_are_bound_and_others_are_left_alone(world):
    world.add_nodes(2, gpus=4)
    world.add("mine", gpus=2)
    world.add("theirs", scheduler="default-scheduler", gpus=2)
    world.start()
    world.until(lambda: world.where("mine"))
    world.add("later", gpus=4)
    world.until(lambda: world.where("later"))
    assert world.where("later") != world.where("mine"), "four GPUs do not fit beside two of four"
    equal(world.where("theirs"), None)
    equal(world.kube.get("pods", "default", "later")["metadata"]["annotations"]["strata.io/gpus"], "0,1,2,3")
    world.until(lambda: any(one["reason"] == "Scheduled" and one["involvedObject"]["name"] == "mine" for one in world.kube.all("events")))
    equal(world.ask("/healthz"), (200, "ok\n"))
    equal(world.ask("/readyz"), (200, "ok\n"))
    world.until(lambda: world.metric("placed") == 2 and world.metric("gpus_free") == 2)


def what_others_have_placed_is_taken(world):
    world.add_nodes(1, gpus=4, cpu="4")
    world.add("theirs", scheduler="default-scheduler", gpus=3)
    world.kube.bind("default", "theirs", {"target": {"name": "n0"}})
    world.add("two", gpus=2)
    world.add("one", gpus=1)
    world.start()
    world.until(lambda: world.where("one"))
    world.settled()
    equal(world.where("two"), None)
    world.kube.end_pod("default", "theirs")
    world.until(lambda: world.where("two"), "the place of a pod that has ended was not used")


def a_pod_goes_only_where_its_constraints_allow(world):
    world.kube.create("nodes", None, node("plain", gpus=8))
    world.kube.create("nodes", None, node("big", gpus=8, labels={"disk": "ssd", "generation": "7"}))
    world.kube.create("nodes", None, node("tainted", gpus=8, taints=[{"key": "team", "value": "a", "effect": "NoSchedule"}]))
    world.kube.create("nodes", None, {**node("cordoned", gpus=8), "spec": {"unschedulable": True}})
    world.add("selects", nodeSelector={"disk": "ssd"}, gpus=1)
    world.add("newer", gpus=1, affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": "generation", "operator": "Gt", "values": ["6"]}]}]}}})
    world.add("tolerates", gpus=1, nodeSelector={"kubernetes.io/hostname": "tainted"}, tolerations=[{"key": "team", "operator": "Exists"}])
    world.add("not-there", gpus=1, nodeSelector={"disk": "none"})
    world.add("apart", affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "kubernetes.io/hostname"}]}})
    world.start()
    world.until(lambda: len(world.bound("selects", "newer", "tolerates")) == 3)
    equal((world.where("selects"), world.where("newer"), world.where("tolerates")), ("big", "big", "tainted"))
    world.settled()
    equal(world.why("not-there"), "0 of 4 nodes could take it even if they were empty: 1 is cordoned, 3 are not selected by its node selector or affinity")
    assert "a required pod anti-affinity, which strata does not know" in world.why("apart"), world.why("apart")
    equal(world.bound("not-there", "apart"), [])


def ports_pods_and_other_resources_are_counted(world):
    world.kube.create("nodes", None, node("n0", pods="3"))
    ports = [{"name": "main", "image": "none", "ports": [{"containerPort": 80, "hostPort": 80}]}]
    world.add("a", containers=ports)
    world.add("b", containers=ports)
    world.start()
    world.until(lambda: world.bound("a", "b"))
    world.settled()
    equal(len(world.bound("a", "b")), 1)
    world.add("c")
    world.add("d")
    world.add("e")
    world.until(lambda: len(world.bound("c", "d", "e")) == 2)
    world.settled()
    left = next(name for name in "cde" if not world.where(name))
    assert "without room for its other resources, ports or one more pod" in world.why(left), world.why(left)


def a_gang_starts_together_or_not_at_all(world):
    world.add_nodes(2)
    world.add("first", gpus=8)
    world.start()
    world.until(lambda: world.where("first"))
    world.gang("g", 2, count=1, gpus=8)
    world.until(lambda: "waits for its gang \"g\": 1 of 2 are there" in world.why("g-0"))
    world.add("g-1", gpus=8, annotations={"strata.io/gang": "g", "strata.io/gang-size": "2"})
    world.settled()
    equal(world.bound("g-0", "g-1"), [])
    world.kube.end_pod("default", "first")
    world.until(lambda: len(world.bound("g-0", "g-1")) == 2)
    equal({world.where("g-0"), world.where("g-1")}, {"n0", "n1"})


def two_gangs_that_fit_once_do_not_hold_each_other_up(world):
    world.add_nodes(4, gpus=2)
    for number in range(6):
        world.gang(f"g{number}", 3, gpus=2)
    world.start()
    ended = set()
    while len(ended) < 6:
        world.until(lambda: any(len(world.bound(*[f"g{n}-{i}" for i in range(3)])) == 3 for n in set(range(6)) - ended), "the gangs stand still")
        for number in set(range(6)) - ended:
            names = [f"g{number}-{i}" for i in range(3)]
            if len(world.bound(*names)) == 3:
                for name in names:
                    world.kube.end_pod("default", name)
                ended.add(number)
            else:
                world.until(lambda: len(world.bound(*names)) in (0, 3), "a gang was bound in part")


def a_gang_of_the_coscheduling_plugin_is_one(world):
    world.add_nodes(2, gpus=1)
    for i in range(3):
        world.add(f"m-{i}", gpus=1, labels={"pod-group.scheduling.sigs.k8s.io/name": "m", "pod-group.scheduling.sigs.k8s.io/min-available": "2"})
    world.start()
    world.until(lambda: len(world.bound("m-0", "m-1", "m-2")) == 2)
    world.settled()


def a_member_that_fails_is_replaced_by_itself(world):
    world.add_nodes(3, gpus=1)
    owner = [{"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "j-1", "controller": True}]
    for i in range(3):
        world.add(f"g-{i}", gpus=1, ownerReferences=owner, creationTimestamp="2026-01-01T00:00:00Z",
                  annotations={"strata.io/gang": "g", "strata.io/gang-size": "3"})
    world.start()
    world.until(lambda: len(world.bound("g-0", "g-1", "g-2")) == 3)
    time.sleep(1.1)  # pods are younger than a binding from the next second on
    world.kube.end_pod("default", "g-0")
    world.kube.end_pod("default", "g-1", exit_code=1)
    world.add("g-3", gpus=1, ownerReferences=owner, annotations={"strata.io/gang": "g", "strata.io/gang-size": "3"})
    world.until(lambda: world.where("g-3"), "the one in the place of the failed one was kept waiting for a gang that runs")
    for name in ("g-2", "g-3"):
        world.kube.end_pod("default", name)
    world.add("g-4", gpus=1, annotations={"strata.io/gang": "g", "strata.io/gang-size": "3"})
    world.until(lambda: "1 of 3 are there" in world.why("g-4"), "a later gang of that name was taken for the earlier one")


def a_gang_that_was_bound_in_part_is_completed_first(world):
    world.add_nodes(2, gpus=1)
    old = {"creationTimestamp": "2026-01-01T00:00:00Z", "gpus": 1}
    gang = {"strata.io/gang": "g", "strata.io/gang-size": "2"}
    world.add("g-0", annotations=gang, **old)
    world.add("before", creationTimestamp="2025-01-01T00:00:00Z", gpus=1)
    world.add("g-1", annotations=gang, **old)
    world.kube.bind("default", "g-0", {"target": {"name": "n0"}})  # and then the scheduler died
    world.start()
    world.until(lambda: world.where("g-1"))
    equal(world.where("g-1"), "n1")
    world.settled()
    equal(world.where("before"), None)


def a_gang_that_cannot_be_completed_gives_its_places_back(world):
    world.add_nodes(2, gpus=1)
    old = {"creationTimestamp": "2026-01-01T00:00:00Z", "gpus": 1}
    for name in ("g", "h"):
        for i in range(2):
            world.add(f"{name}-{i}", annotations={"strata.io/gang": name, "strata.io/gang-size": "2"}, **old)
    world.kube.bind("default", "g-0", {"target": {"name": "n0"}})
    world.kube.bind("default", "h-0", {"target": {"name": "n1"}})  # as a scheduler without gangs leaves them
    world.start("--gang-patience", "1s")
    world.until(lambda: any((world.kube.get("pods", "default", f"{name}-0") or {"metadata": {"deletionTimestamp": 1}})["metadata"].get("deletionTimestamp")
                            for name in "gh"), "the two hold each other for ever")
    world.until(lambda: any(one["reason"] == "GangIncomplete" for one in world.kube.all("events")))


def a_pod_of_a_higher_priority_takes_the_place_of_a_lower_one(world):
    world.kube.create("priorityclasses", None, {"metadata": {"name": "high"}, "value": 1000})
    world.kube.create("priorityclasses", None, {"metadata": {"name": "low"}, "value": -5})
    world.add_nodes(1, gpus=4)
    world.add("normal", gpus=2)
    world.add("low", gpus=2, priorityClassName="low")
    world.start()
    world.until(lambda: len(world.bound("normal", "low")) == 2)
    for name in ("normal", "low"):
        world.kube.run_pod("default", name)
    world.add("urgent", gpus=2, priorityClassName="high")
    world.until(lambda: world.kube.get("pods", "default", "low")["metadata"].get("deletionTimestamp"), "nobody made room")
    equal(world.where("urgent"), None)  # it is given time to end
    world.kube.finish_deletion("default", "low")
    world.until(lambda: world.where("urgent"))
    equal(world.kube.get("pods", "default", "normal")["metadata"].get("deletionTimestamp"), None)
    world.until(lambda: any(one["reason"] == "Preempted" for one in world.kube.all("events")))
    said = next(one for one in world.kube.all("events") if one["reason"] == "Preempted")
    equal((said["involvedObject"]["name"], said["message"]), ("low", "makes room for pod default/urgent, whose priority is 1000"))
    equal(len([1 for method, _, _ in world.kube.asked if method == "DELETE"]), 1)


def who_has_used_less_is_next(world):
    world.add_nodes(1, gpus=1)
    world.kube.create("configmaps", "default", {"metadata": {"name": "strata-scheduler-usage"}, "data": {
        "usage": '{"at":"%s","gpu_hours":{"a/default":100.0,"b/default":1.0}}' % time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}})
    world.kube.create("pods", "a", pod("first", gpus=1, creationTimestamp="2026-01-01T00:00:00Z"))
    world.kube.create("pods", "b", pod("second", gpus=1, creationTimestamp="2026-01-01T00:00:01Z"))
    process = world.start()
    world.until(lambda: world.where("second", "b"))
    equal(world.where("first", "a"), None)
    time.sleep(0.3)
    process.send_signal(signal.SIGTERM)
    equal(process.wait(PATIENCE_S), 0)
    kept = world.kube.get("configmaps", "default", "strata-scheduler-usage")["data"]["usage"]
    assert '"a/default":99.' in kept and '"b/default":' in kept, kept


def a_short_pod_goes_before_a_large_one_that_it_does_not_delay(world):
    world.add_nodes(1, gpus=4)
    world.add("running", gpus=3, annotations={"strata.io/time-limit": "1h"})
    world.start()
    world.until(lambda: world.where("running"))
    world.add("large", gpus=4)
    world.settled()
    world.add("long", gpus=1, annotations={"strata.io/time-limit": "2h"})
    world.add("short", gpus=1, annotations={"strata.io/time-limit": "30m"})
    world.until(lambda: world.where("short"))
    world.settled()
    equal(world.bound("large", "long"), [])
    assert "it should start by" in world.why("large"), world.why("large")


def bad_annotations_are_said_on_the_pod(world):
    world.add_nodes(1)
    world.add("limit", annotations={"strata.io/time-limit": "soon"})
    world.add("size", annotations={"strata.io/gang": "g", "strata.io/gang-size": "many"})
    world.add("alone", annotations={"strata.io/gang": "g"})
    world.start()
    world.settled()
    equal(world.why("limit"), 'strata.io/time-limit is "soon"; expected a duration such as 90m or 2h')
    equal(world.why("size"), 'strata.io/gang-size is "many"; expected 1 to 256')
    equal(world.why("alone"), 'it is of the gang "g" and does not say how many they are: strata.io/gang-size is missing')


def why_a_pod_waits_is_not_written_again_and_again(world):
    world.add_nodes(1, gpus=1)
    world.add("large", gpus=2)
    world.start()
    world.settled()
    for i in range(20):
        world.add(f"other-{i}", scheduler="default-scheduler")
        time.sleep(0.02)
    equal(len([1 for method, path, _ in world.kube.asked if method == "PATCH" and path.endswith("/large/status")]), 1)


def an_api_server_that_goes_away_is_waited_for(world):
    world.add_nodes(2, gpus=2)
    world.add("before", gpus=1)
    process = world.start(lease="60s")
    world.until(lambda: world.where("before"))
    world.kube.stop()
    time.sleep(0.5)
    world.kube.create("pods", "default", pod("during", gpus=1))
    world.kube.delete("pods", "default", "before", {"gracePeriodSeconds": 0})
    world.kube.start()
    world.until(lambda: world.where("during"))
    world.gang("g", 2, gpus=2, count=0)
    equal(process.poll(), None)


def a_binding_without_an_answer_is_made_once(world):
    """The answer is lost after the pod was bound, or before; 500 and 429 come in between."""
    world.add_nodes(4, gpus=8)
    faults = {}

    def fault(method, path, query):
        if method != "POST" or not path.endswith("/binding"):
            return None
        name = path.split("/")[-2]
        faults[name] = faults.get(name, 0) + 1
        if faults[name] == 1 and name in ("p0", "p1"):
            world.kube.bind("default", name, {"target": {"name": "n3" if name == "p1" else "n0"}})
            return "cut"
        return {("p2", 1): 500, ("p3", 1): 429, ("p4", 1): "cut"}.get((name, faults[name]))

    world.kube.fault = fault
    for i in range(6):
        world.add(f"p{i}", gpus=1)
    world.start()
    world.until(lambda: len(world.bound(*[f"p{i}" for i in range(6)])) == 6)
    world.add("last", gpus=1)
    world.until(lambda: world.where("last"))
    equal(world.where("p1"), "n3")
    names = [name for name in world.bindings() if name in ("p5", "last")]
    equal(sorted(names), ["last", "p5"])


def a_watch_that_expired_begins_anew(world):
    world.add_nodes(1, gpus=2)
    world.add("a", gpus=1)
    world.start()
    world.until(lambda: world.where("a"))
    for how in (False, True):
        world.kube.expire_as_status = how
        world.kube.delete("pods", "default", "a", {"gracePeriodSeconds": 0})
        world.kube.expire()
        world.add("a", gpus=2)
        world.until(lambda: world.where("a"), "what was there before the watch expired was not forgotten")
    assert "pods were listed anew" in world.said()


def a_killed_scheduler_comes_back_and_binds_nothing_twice(world):
    world.add_nodes(4, gpus=8)
    for i in range(32):
        world.add(f"p{i}", gpus=1)
    world.gang("g", 4, gpus=2)
    first = world.start()
    world.until(lambda: len(world.bindings()) >= 5)
    first.kill()
    first.wait()
    mine = world.start()
    everyone = [f"p{i}" for i in range(32)]
    world.until(lambda: len(world.bound(*everyone)) >= 24)
    world.until(lambda: len(world.bound(*[f"g-{i}" for i in range(4)])) in (0, 4))
    used = {}
    for one in world.kube.all("pods"):
        if one["spec"].get("nodeName"):
            gpus = one["metadata"]["annotations"]["strata.io/gpus"].split(",")
            for gpu in gpus:
                key = (one["spec"]["nodeName"], gpu)
                assert key not in used, f"GPU {key} was given to {used[key]} and {one['metadata']['name']}"
                used[key] = one["metadata"]["name"]
    equal(mine.poll(), None)


def of_two_schedulers_one_leads_and_the_other_takes_over(world):
    world.add_nodes(1, gpus=4)
    one = world.start("--identity", "one")
    world.until(lambda: "one leads" in world.said())
    two = world.start("--identity", "two")
    world.until(lambda: "this one waits" in world.said())
    world.add("a", gpus=1)
    world.until(lambda: world.where("a"))
    equal(world.bindings(), ["a"])
    one.kill()
    one.wait()
    world.add("b", gpus=1)
    world.until(lambda: world.where("b"), "nobody took over")
    equal(world.kube.all("leases")[0]["spec"]["holderIdentity"], "two")
    world.kube.change("leases", "default", "strata-scheduler", {"spec": {"holderIdentity": "three"}})
    equal(two.wait(PATIENCE_S) != 0, True)  # who has lost the lease ends, and is started again by its Deployment
    world.add("c", gpus=1)
    time.sleep(0.2)
    equal(world.where("c"), None)


def a_node_that_is_lost_is_used_no_more(world):
    world.add_nodes(2, gpus=2)
    world.add("a", gpus=2)
    world.add("b", gpus=2)
    world.start()
    world.until(lambda: len(world.bound("a", "b")) == 2)
    lost = world.where("a")
    world.kube.lose_node(lost)
    world.kube.delete("pods", "default", "a", {"gracePeriodSeconds": 0})  # as the node controller does it
    world.add("again", gpus=2)
    world.settled()
    equal(world.where("again"), None)
    assert "1 is not ready" in world.why("again"), world.why("again")
    world.kube.delete("nodes", None, lost)
    world.kube.create("nodes", None, node("fresh", gpus=2))
    world.until(lambda: world.where("again") == "fresh")


def a_wrong_token_is_said(world):
    world.add_nodes(1)
    world.add("a")
    process = world.start(token="wrong")
    world.until(lambda: "401" in world.said() or "Unauthorized" in world.said())
    equal(world.where("a"), None)
    assert "wrong" not in world.said().replace("wrong token", ""), "a token is in the log"
    equal(process.poll(), None)


def ended_well(test):
    """The test, and then: the scheduler ends when it is asked to, and no sanitizer has complained."""
    @functools.wraps(test)
    def run(world):
        test(world)
        world.end()
    return run


TESTS = [pods_that_ask_for_it_are_bound_and_others_are_left_alone, what_others_have_placed_is_taken, a_pod_goes_only_where_its_constraints_allow,
         ports_pods_and_other_resources_are_counted, a_gang_starts_together_or_not_at_all, two_gangs_that_fit_once_do_not_hold_each_other_up,
         a_gang_of_the_coscheduling_plugin_is_one, a_member_that_fails_is_replaced_by_itself, a_gang_that_was_bound_in_part_is_completed_first,
         a_gang_that_cannot_be_completed_gives_its_places_back, a_pod_of_a_higher_priority_takes_the_place_of_a_lower_one, who_has_used_less_is_next,
         a_short_pod_goes_before_a_large_one_that_it_does_not_delay, bad_annotations_are_said_on_the_pod, why_a_pod_waits_is_not_written_again_and_again,
         an_api_server_that_goes_away_is_waited_for, a_binding_without_an_answer_is_made_once, a_watch_that_expired_begins_anew,
         a_killed_scheduler_comes_back_and_binds_nothing_twice, of_two_schedulers_one_leads_and_the_other_takes_over, a_node_that_is_lost_is_used_no_more,
         a_wrong_token_is_said]
run_with(World, *map(ended_well, TESTS))
