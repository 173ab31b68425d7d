"""StrataJobs of a Kubernetes API server that is played (fake_kube.py), as jobs of a real service: `strata kubernetes jobs`."""
import os
import signal
import subprocess
import time

from fake_kube import FakeKube
from service import COMPLAINT, PATIENCE_S, STRATA, Service, equal, run_with

PATH = ("stratajobs", "team")


class World(Service):
    def __init__(self, _test=None):
        self.kube = FakeKube("token")
        self.kube.bookmark_s = 0.1
        self.controller = None
        super().__init__()
        self.begin()

    def begin(self):
        with open(os.path.join(self.dir, "jobs.log"), "a") as log:
            self.controller = subprocess.Popen([STRATA, "kubernetes", "jobs", "--socket", self.socket, "--look", "100ms", "--kubeconfig",
                                                self.kube.kubeconfig(os.path.join(self.dir, "kubeconfig"))], stdout=log, stderr=log)

    def told(self):
        with open(os.path.join(self.dir, "jobs.log")) as log:
            return log.read()

    def make(self, name, *command, **spec):
        if command:
            spec["command"] = list(command)
        self.kube.create("stratajobs", "team", {"metadata": {"name": name}, "spec": {
            "working_dir": self.dir, "environment": {"PATH": "/usr/bin:/bin"}, "output": "/dev/null", **spec}})

    def status(self, name):
        return (self.kube.get(*PATH, name) or {}).get("status", {})

    def until(self, check, what="it did not happen"):
        deadline = time.time() + PATIENCE_S
        while not check():
            assert time.time() < deadline, f"{what}: {self.told()[-2000:]}"
            time.sleep(0.02)

    def end(self):
        if self.controller.poll() is None:
            self.controller.send_signal(signal.SIGTERM)
            equal(self.controller.wait(PATIENCE_S), 0)
        found = [line for line in self.told().splitlines() if COMPLAINT.search(line)]
        assert not found, "\n".join(found[:5])
        super().end()

    def close(self):
        if self.controller and self.controller.poll() is None:
            self.controller.kill()
            self.controller.wait()
        if self.kube.server:
            self.kube.stop()
        super().close()


def an_object_becomes_a_job_and_says_how_it_ended(world):
    world.make("good", "true")
    world.make("bad", "sh", "-c", "exit 3")
    world.until(lambda: world.status("good").get("state") == "completed" and world.status("bad").get("state") == "failed")
    equal((world.status("good")["exitCode"], world.status("bad")["exitCode"]), (0, 3))
    equal(len(world.status("good")["nodes"]), 1)
    job = world.job(world.status("good")["id"])
    equal((job["name"], job["state"]), ("good", "completed"))
    assert world.status("good")["startedAt"] <= world.status("good")["endedAt"]


def who_deletes_it_cancels_the_job(world):
    world.make("long", "sleep", "1000")
    world.until(lambda: world.status("long").get("state") == "running")
    job = world.status("long")["id"]
    world.kube.delete(*PATH, "long")
    world.until(lambda: not world.kube.get(*PATH, "long"), "the object was not let go")
    equal(world.job(job)["state"], "cancelled")
    world.make("done", "true")
    world.until(lambda: world.status("done").get("state") == "completed")
    world.kube.delete(*PATH, "done")
    world.until(lambda: not world.kube.get(*PATH, "done"), "the object was not let go")


def what_the_service_refuses_is_said_in_the_status(world):
    world.make("wrong", "true", gpus="many")
    world.make("large", "true", gpus=99)
    world.until(lambda: world.status("wrong").get("state") == "failed" and world.status("large").get("state") == "failed")
    assert "gpus" in world.status("wrong")["message"], world.status("wrong")
    equal(world.status("large")["reason"], "impossible")
    world.kube.delete(*PATH, "wrong")
    world.until(lambda: not world.kube.get(*PATH, "wrong"))


def one_that_is_killed_goes_on_and_submits_nothing_twice(world):
    for turn in range(4):
        for i in range(4):
            world.make(f"j{turn}-{i}", "sh", "-c", f"echo run >> {world.dir}/runs-{turn}-{i}; sleep 0.2")
        time.sleep(0.05 * turn)
        world.controller.kill()
        world.controller.wait()
        world.begin()
    names = [f"j{turn}-{i}" for turn in range(4) for i in range(4)]
    world.until(lambda: all(world.status(name).get("state") == "completed" for name in names))
    for turn in range(4):
        for i in range(4):
            equal(world.output(f"runs-{turn}-{i}"), "run\n")


def a_job_whose_number_was_never_written_is_cancelled_all_the_same(world):
    """The status cannot be written for a while, and the object is deleted meanwhile."""
    world.kube.fault = lambda method, path, query: 500 if path.endswith("/status") else None
    world.make("lost", "sleep", "1000")
    world.until(lambda: any(job["name"] == "lost" for job in world.api("GET", "/queue")["jobs"]))
    world.kube.delete(*PATH, "lost")
    world.kube.fault = None
    world.until(lambda: not world.kube.get(*PATH, "lost"), "the object was not let go")
    world.until(lambda: not any(job["name"] == "lost" for job in world.api("GET", "/queue")["jobs"]), "its job runs on")


def a_service_that_is_away_is_waited_for(world):
    world.kill()
    world.make("later", "true")
    time.sleep(0.5)
    equal(world.status("later"), {})
    world.start()
    world.until(lambda: world.status("later").get("state") == "completed")


def finalizers_of_others_stay(world):
    world.kube.create("stratajobs", "team", {"metadata": {"name": "kept", "finalizers": ["example.org/other"]}, "spec": {"command": ["true"], "working_dir": world.dir}})
    world.until(lambda: world.status("kept").get("state") in ("completed", "failed"))
    equal(world.kube.get(*PATH, "kept")["metadata"]["finalizers"], ["example.org/other", "strata.io/job"])
    world.kube.delete(*PATH, "kept")
    world.until(lambda: world.kube.get(*PATH, "kept")["metadata"]["finalizers"] == ["example.org/other"])


run_with(World, an_object_becomes_a_job_and_says_how_it_ended, who_deletes_it_cancels_the_job, what_the_service_refuses_is_said_in_the_status,
         one_that_is_killed_goes_on_and_submits_nothing_twice, a_job_whose_number_was_never_written_is_cancelled_all_the_same,
         a_service_that_is_away_is_waited_for, finalizers_of_others_stay)
