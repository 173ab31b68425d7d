"""Strata and kube-scheduler on the same control plane, one after the other: 1,000 pods, and gangs that need more than there is. The figures are printed;
that no gang of ours waits for ever is a test, how fast anybody is is not."""
import os
import random
import signal
import subprocess
import sys
import time

SOURCE = os.environ.get("STRATA_SOURCE", ".")
sys.path.insert(0, os.path.join(SOURCE, "tests", "api"))

from fake_kube import node, pod  # noqa: E402
from kube_cluster import ADMIN, KubeCluster, missing  # noqa: E402
from service import STRATA, equal, run_with  # noqa: E402

NODES, GPUS = 8, 8
PODS = 1000
GANGS = 50
STILL_S = 15  # nothing has moved for so long: it stands still
cluster = None


class World:
    count = 0

    def __init__(self, _test=None):
        self.log = cluster.path("strata.log")
        with open(self.log, "a") as log:
            self.process = subprocess.Popen([STRATA, "kubernetes", "scheduler", "--kubeconfig", cluster.kubeconfig(ADMIN), "--lease", "5s"], stdout=log, stderr=log)

    def said(self):
        with open(self.log) as log:
            return log.read()

    def space(self):
        World.count += 1
        cluster.add_namespace(f"b{World.count}")
        return f"b{World.count}"

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)


def percentile(values, part):
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def bind_many(world, scheduler):
    """Seconds from the first creation to the last binding, and what one pod waited."""
    space = world.space()
    begun, seen = time.monotonic(), {}
    pods = [pod(f"p{i}", scheduler=scheduler, cpu="100m", memory="64Mi") for i in range(PODS)]
    cluster.add_pods(space, pods)
    created_s = time.monotonic() - begun
    cluster.wait(lambda: sum(1 for one in cluster.pods(space) if one["spec"].get("nodeName")) == PODS, 180, f"{scheduler} did not bind {PODS} pods")
    seen = time.monotonic() - begun
    nodes = {}
    for one in cluster.pods(space):
        nodes[one["spec"]["nodeName"]] = nodes.get(one["spec"]["nodeName"], 0) + 1
    assert max(nodes.values()) <= 250, nodes
    cluster.remove_pods(space)
    return created_s, seen


def a_thousand_pods_are_bound(world):
    for scheduler in ("default-scheduler", "strata"):
        created_s, bound_s = bind_many(world, scheduler)
        print(f"# {scheduler}: {PODS} pods on {NODES} nodes: created in {created_s:.1f} s, all bound {bound_s:.1f} s after the first was created")


def make_gangs():
    chance = random.Random(7)
    shapes = [(2, 8), (4, 8), (8, 8), (4, 4), (8, 4), (2, 4), (8, 2), (4, 2)]  # pods, GPUs of each
    return [(f"g{i}", *chance.choice(shapes), chance.uniform(0.5, 1.5)) for i in range(GANGS)]


class Gangs:
    """Plays the kubelet for gangs: one runs when all of its pods have a node, and ends after its time. One that is not whole holds what it has."""

    def __init__(self, space, scheduler):
        self.space, self.gangs = space, {name: (count, gpus, run_s) for name, count, gpus, run_s in make_gangs()}
        pods = [pod(f"{name}-{i}", scheduler=scheduler, gpus=gpus, cpu="100m", memory="64Mi", labels={"gang": name},
                    annotations={"strata.io/gang": name, "strata.io/gang-size": str(count), "strata.io/time-limit": "2s"})
                for name, count, gpus, _ in make_gangs() for i in range(count)]
        random.Random(8).shuffle(pods)  # as they come from as many Jobs at once
        cluster.add_pods(space, pods)
        self.ends, self.used, self.in_part = {}, 0.0, 0

    def play(self):
        """What became of it: gangs that ended, GPU-seconds of gangs that ran, seconds until the last of them ended."""
        begun = moved = time.monotonic()
        done, bound_before, last = set(), 0, begun
        while len(done) < len(self.gangs) and time.monotonic() - moved < STILL_S:
            placed = {}
            for one in cluster.pods(self.space):
                if one["spec"].get("nodeName"):
                    placed.setdefault(one["metadata"]["labels"]["gang"], []).append(one)
            now = time.monotonic()
            for name, (count, gpus, run_s) in self.gangs.items():
                if name not in done and name not in self.ends and len(placed.get(name, [])) == count:
                    self.ends[name] = now + run_s
                if name not in done and self.ends.get(name, now + 1) <= now:
                    for i in range(count):
                        cluster.set_phase(self.space, f"{name}-{i}", "Succeeded")
                    done.add(name)
                    self.used += count * gpus * run_s
                    moved = last = time.monotonic()
            bound = sum(len(one) for one in placed.values())
            if bound != bound_before:
                bound_before, moved = bound, time.monotonic()
            self.in_part = max(self.in_part, sum(1 for name, one in placed.items() if 0 < len(one) < self.gangs[name][0]))
            time.sleep(0.02)
        self.held = sum(self.gangs[name][1] * len(one) for name, one in placed.items() if name not in done and len(one) < self.gangs[name][0])
        return len(done), self.used, last - begun


def gangs_that_need_more_than_there_is_all_run(world):
    ended = {}
    for scheduler in ("default-scheduler", "strata"):
        space = world.space()
        gangs = Gangs(space, scheduler)
        ended[scheduler], used, took_s = gangs.play()
        stands = f"; then it stood still, {gangs.held} of {NODES * GPUS} GPUs held by gangs that wait for the rest of themselves" if ended[scheduler] < GANGS else ""
        print(f"# {scheduler}: {ended[scheduler]} of {GANGS} gangs ran, in {took_s:.1f} s, {100 * used / (took_s * NODES * GPUS) if took_s else 0:.0f} % of the GPU time "
              f"used by gangs that ran{stands}")
        cluster.remove_pods(space)
    equal(ended["strata"], GANGS)


why = missing()
try:
    if not why:
        cluster = KubeCluster()
        cluster.add_namespace("strata")
        for number in range(NODES):
            cluster.add_node(node(f"n{number}", cpu="64", memory="512Gi", gpus=GPUS, pods="250"))
    run_with(World, a_thousand_pods_are_bound, gangs_that_need_more_than_there_is_all_run, skip=why)
finally:
    if cluster:
        cluster.close()
