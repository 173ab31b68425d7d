#!/usr/bin/env python3
"""Killed at every write: submit, start, finish, cancel (a job, an array), requeue, migrate, a restart, the first start; on both stores.

Each of them is done again and again; the k-th time the service is killed at its k-th call that changes something outside of it, until one goes
through without. After each kill it is started again, and then nothing that was acknowledged may be missing, and no attempt may have run twice.
STRATA_CRASH_STRIDE=1 takes every k (make test-long), a larger one every so many."""
import http.client
import os
import sys
import time

import postgres
from crashing import Crashing
from service import PATIENCE_S, equal, run_with

STRIDE = int(os.environ.get("STRATA_CRASH_STRIDE", "7"))
GONE = (OSError, http.client.HTTPException)


def name_of(scenario):
    return scenario.__name__.lower()


class Scenario:
    """One thing that is done to one job."""

    def __init__(self, service):
        self.service = service
        self.done = False  # what was asked for was acknowledged
        self.job = None
        self.ran = os.path.join(service.dir, "ran")
        self.go = os.path.join(service.dir, "go")

    def submit(self, waits=True, **fields):
        """Each attempt leaves a line; then it waits for a file, if it is to be found running."""
        wait = f"while [ ! -e {self.go}.$STRATA_JOB_ID ]; do sleep 0.02; done" if waits else ":"
        words = f"echo $STRATA_JOB_ID.$SLURM_RESTART_COUNT >> {self.ran}; {wait}"
        return self.service.submit("sh", "-c", words, **fields)["id"]

    def let_go(self):
        with open(f"{self.go}.{self.job}", "w"):
            pass

    def lines(self):
        try:
            with open(self.ran) as file:
                return [line.split(".") for line in file.read().split()]
        except FileNotFoundError:
            return []

    def attempts(self):
        return sorted(int(attempt or 0) for job, attempt in self.lines() if int(job) == self.job)

    def prepare(self):
        self.job = self.submit()
        self.service.wait(self.job, "running")
        deadline = time.time() + PATIENCE_S
        while not self.attempts() and time.time() < deadline:
            time.sleep(0.01)

    def finish(self, attempts):
        self.let_go()
        equal(self.service.wait(self.job, "completed", "failed", "cancelled")["state"], "completed")
        equal(self.attempts(), list(range(attempts)))


class Submit(Scenario):
    def prepare(self):
        self.before = {job["id"] for job in self.service.api("GET", "/queue")["jobs"]}

    def act(self):
        self.job = self.submit(waits=False)
        self.done = True
        self.service.wait(self.job, "completed")

    def check(self):
        if self.done:
            self.finish(1)
        for job in self.service.api("GET", "/queue")["jobs"]:  # what was not acknowledged may be there, once
            if job["id"] not in self.before:
                self.job = job["id"]
                self.finish(1)


class Start(Scenario):
    def prepare(self):
        self.job = self.submit(waits=False, hold=True)

    def act(self):
        self.service.api("PATCH", f"/jobs/{self.job}", {"hold": False})
        self.done = True
        self.service.wait(self.job, "completed")

    def check(self):
        job = self.service.job(self.job)
        if job["reason"] == "held":
            assert not self.done, "it was released"
            self.service.api("PATCH", f"/jobs/{self.job}", {"hold": False})
        self.finish(1)


class Finish(Scenario):
    def act(self):
        self.let_go()
        self.service.wait(self.job, "completed")

    def check(self):
        self.finish(1)
        equal(self.service.job(self.job)["attempt"], 1)


class Cancel(Scenario):
    def act(self):
        self.service.api("DELETE", f"/jobs/{self.job}", status=202)
        self.done = True
        self.service.wait(self.job, "cancelled")

    def check(self):
        if not self.done and self.service.job(self.job)["state"] != "cancelled":
            self.service.ask("DELETE", f"/api/v1/jobs/{self.job}")
        self.service.wait(self.job, "cancelled")
        equal(self.attempts(), [0])


class Requeue(Scenario):
    def act(self):
        self.service.api("PATCH", f"/jobs/{self.job}", {"requeue": True})
        self.done = True
        self.until_second()

    def until_second(self):
        deadline = time.time() + PATIENCE_S
        while self.service.job(self.job)["state"] != "running" or self.attempts() != [0, 1]:
            assert time.time() < deadline, self.service.job(self.job)
            time.sleep(0.02)

    def check(self):
        if self.done:
            self.until_second()
        self.let_go()
        job = self.service.wait(self.job, "completed", "failed", "cancelled")
        equal(job["state"], "completed")
        equal(self.attempts(), list(range(job["attempt"])))


class Migrate(Requeue):
    """Its node is taken from it: it goes on elsewhere, as the next attempt."""

    def act(self):
        self.node = self.service.job(self.job)["node_names"][0]
        self.service.api("PATCH", f"/nodes/{self.node}", {"state": "down", "reason": "test"})
        self.done = True
        self.until_second()
        assert self.service.job(self.job)["node_names"] != [self.node]

    def check(self):
        try:
            super().check()
        finally:
            for node in self.service.api("GET", "/nodes")["nodes"]:
                if node["state"] != "up":
                    self.service.api("PATCH", f"/nodes/{node['name']}", {"state": "up"})


class CancelArray(Scenario):
    """Elements that differ, so that each has a row: all are cancelled or none."""

    def prepare(self):
        self.ids = self.service.submit("true", array="1-40", hold=True)["ids"]
        self.service.api("PATCH", f"/jobs/{self.ids[0]}?elements=1-40:2", {"nice": 1})

    def act(self):
        self.service.api("DELETE", f"/jobs/{self.ids[0]}?elements=all")
        self.done = True

    def check(self):
        states = {self.service.job(job)["state"] for job in self.ids}
        assert states == {"cancelled"} or (not self.done and states == {"queued"}), (self.done, states)
        if states == {"queued"}:
            equal(self.service.api("DELETE", f"/jobs/{self.ids[0]}?elements=all")["jobs"], 40)


def attempt(service, scenario, number):
    """True: it was killed on the way."""
    scenario.prepare()
    service.arm(number)
    try:
        scenario.act()
        service.settle()
    except GONE:
        pass
    if not service.dead() and service.calls() < number:
        service.arm(0)
        scenario.check()
        return False
    service.process.wait(PATIENCE_S)
    service.arm(0)
    service.start()
    scenario.check()
    return True


def sweep(scenario_class):
    def test(service):
        killed, number = 0, 1
        while attempt(service, scenario_class(service), number):
            killed += 1
            number += STRIDE
        print(f"# {name_of(scenario_class)}: killed at {killed} writes, {killed} of {killed} recovered", flush=True)
        assert killed, "it was never killed"
        service.total += killed
    test.__name__ = f"killed_at_every_write_of_{name_of(scenario_class)}"
    return test


def killed_at_every_write_of_a_restart(service):
    """With a job that runs, one that has ended meanwhile, one that waits."""
    killed, number, alive = 0, 1, False
    while not alive:
        running, ended, waiting = (Scenario(service) for _ in range(3))
        running.prepare()
        ended.prepare()
        waiting.job = waiting.submit(waits=False, dependencies=f"afterok:{running.job}")
        service.kill()
        ended.let_go()
        service.arm(number)
        try:
            service.start()
            service.settle()
        except AssertionError:
            assert service.dead()
        alive = not service.dead() and service.calls() < number
        service.process.wait(PATIENCE_S) if not alive else None
        service.arm(0)
        if not alive:
            service.start()
            killed += 1
        running.finish(1)
        ended.finish(1)
        waiting.finish(1)
        number += STRIDE
    print(f"# restart: killed at {killed} writes, {killed} of {killed} recovered", flush=True)
    service.total += killed


def killed_at_every_write_of_the_first_start(service):
    killed, number, alive = 0, 1, False
    while not alive:
        service.kill()
        service.state = os.path.join(service.dir, f"first{number}")
        service.args = service.plain + service.new_store()
        service.arm(number)
        try:
            service.start()
            service.settle()
        except AssertionError:
            assert service.dead()
        alive = not service.dead() and service.calls() < number
        service.process.wait(PATIENCE_S) if not alive else None
        service.arm(0)
        if not alive:
            service.start()
            killed += 1
        service.wait(service.submit("true")["id"], "completed")
        number += STRIDE
    print(f"# first start: killed at {killed} writes, {killed} of {killed} recovered", flush=True)
    service.total += killed


def main(store):
    if store == "postgres" and not postgres.possible():
        skip = "no initdb (Debian: postgresql)"
    else:
        skip = None
    database = postgres.Postgres() if store == "postgres" and not skip else None
    total = [0]

    class Counting(Crashing):
        def __init__(self):
            super().__init__(store=database.address() if database else None)
            self.total = 0
            self.plain = self.args[:2]

        @staticmethod
        def new_store():
            return ["--store", database.address()] if database else []

        def close(self):
            self.arm(0)
            total[0] += self.total
            super().close()

    tests = [sweep(scenario) for scenario in (Submit, Start, Finish, Cancel, CancelArray, Requeue, Migrate)]
    tests += [killed_at_every_write_of_a_restart, killed_at_every_write_of_the_first_start]

    try:
        run_with(lambda test: Counting(), *tests, skip=skip)
    except SystemExit as end:  # the figures hold only if every check after every kill did
        if not skip and not end.code:
            print(f"# {store}: killed at {total[0]} writes in all, {total[0]} of {total[0]} recovered, 0 acknowledged jobs lost, "
                  f"0 run twice", flush=True)
        raise


if __name__ == "__main__":
    main(sys.argv[1])
