#!/usr/bin/env python3
"""A state directory of version 0.1.0 (tests/data/state-0.1.0, made by its make.py) is taken over by today's service: nothing
that was acknowledged is lost, on SQLite and on PostgreSQL."""
import fcntl
import gzip
import json
import os
import shutil
import subprocess
import tarfile
import time

import postgres
from service import Service, Skip, equal, run_with

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "state-0.1.0")
PLACE = "/var/tmp/strata-0.1.0"  # paths in the store are absolute
LOCK = open(PLACE + ".lock", "w")
fcntl.flock(LOCK, fcntl.LOCK_EX)  # there is one such place, and perhaps another test run
ENDED = ("completed", "failed", "signalled", "time_limit", "not_started", "script", "invented", "cancelled", "array_ended")
with open(os.path.join(DATA, "facts.json")) as file:
    FACTS = json.load(file)


def unpack(name):
    shutil.rmtree(PLACE, ignore_errors=True)
    with tarfile.open(os.path.join(DATA, name)) as tar:
        tar.extractall(os.path.dirname(PLACE))
    os.rename(os.path.join(os.path.dirname(PLACE), "state"), PLACE)


class Taken:
    """Today's service on yesterday's directory."""

    def __init__(self, store):
        if os.geteuid() != 0:
            raise Skip("the directory is root's")
        self.postgres = None
        address = None
        if store == "postgres":
            if not postgres.possible():
                raise Skip("there is no PostgreSQL")
            self.postgres = postgres.Postgres()
            with gzip.open(os.path.join(DATA, "postgres.sql.gz")) as dump:
                subprocess.run([os.path.join(postgres.PROGRAMS, "psql"), "-q", "-h", self.postgres.dir, "-U", "strata", "-d",
                                "postgres", "-v", "ON_ERROR_STOP=1"], input=dump.read(), check=True, capture_output=True)
            address = f"postgresql://strata@/postgres?host={self.postgres.dir}&options=-csearch_path%3Dt1"
        unpack(f"{store}.tar.gz")
        self.facts = FACTS[store]
        self.ids = self.facts["ids"]
        self.service = Service("--preempt", "least_lost:grace=5:protect=0", "--listen", "127.0.0.1:0", state=PLACE, store=address)

    def was(self, name):
        return self.facts["jobs"][str(self.ids[name])]

    def now(self, name):
        return self.service.job(self.ids[name])

    def said(self):
        return self.service.said()

    def close(self):
        self.service.close()
        shutil.rmtree(PLACE, ignore_errors=True)
        if self.postgres:
            self.postgres.close()


def jobs_that_ended_are_as_they_were(taken):
    for name in ENDED:
        was, now = taken.was(name), taken.now(name)
        for field in ("state", "name", "user", "account", "qos", "exit_code", "exit_signal", "created_at", "started_at", "ended_at",
                      "attempt", "command", "comment", "uuid", "array_id", "array_index", "requeue"):
            if name != "not_started" or not field.startswith("exit_"):
                equal((name, field, now.get(field)), (name, field, was.get(field)))
    equal(taken.now("not_started")["exit_code"], None)  # 0.1.0 said 0 of a program that never ran
    equal(len(taken.service.api("GET", "/jobs?limit=1000")["jobs"]), len(taken.facts["jobs"]))


def jobs_that_waited_wait_for_the_same(taken):
    for name, reason in (("held", "held"), ("later", "begin_time"), ("dependent", "dependency"), ("impossible", "impossible"),
                         ("gang", "gang")):
        now = taken.service.job(taken.ids[name])
        equal((name, now["state"], now["reason"]), (name, "queued", reason))
    service = taken.service
    again = service.submit("true", working_dir="/", output="/dev/null", gpus=1, request_key="only-once", status=200)
    equal(again["id"], taken.ids["once"])
    service.api("PATCH", f"/jobs/{taken.ids['held']}", {"hold": False})
    service.wait(taken.ids["held"], "completed", "running", "queued")


def what_ran_runs_again_unless_its_owner_said_no(taken):
    service = taken.service
    equal(service.wait(taken.ids["scheduled"], "running")["attempt"], 1)  # its start was acknowledged, but nothing ran yet
    once = service.wait(taken.ids["running_no_requeue"], "failed")
    equal((once["reason"], once["attempt"]), ("node_failure", 1))
    while service.job(taken.ids["running"])["attempt"] == taken.was("running")["attempt"]:
        time.sleep(0.05)
    equal(service.wait(taken.ids["running"], "running")["attempt"], taken.was("running")["attempt"] + 1)


def checkpoints_are_found_again(taken):
    service, number = taken.service, taken.ids["preempted"]
    was = taken.facts["checkpoints"][str(number)]
    now = service.api("GET", f"/jobs/{number}/checkpoints")
    equal([one["path"] for one in now["checkpoints"]], [one["path"] for one in was["checkpoints"]])
    for one in now["checkpoints"]:
        with open(one["path"]) as file:
            equal(file.read(), "state\n")
    equal(service.job(number)["preempted"], 1)


def tokens_are_good_or_not_as_before(taken):
    for role, status in (("user", 200), ("operator", 200), ("admin", 200), ("revoked", 401), ("expired", 401)):
        got, _ = taken.service.ask("GET", "/api/v1/queue", tcp=True, token=taken.facts["tokens"][role]["token"])
        equal((role, got), (role, status))


def accounts_limits_and_usage_are_kept(taken):
    service = taken.service
    for kind, names in (("accounts", ("lab", "vision")), ("qos", ("long",)), ("partitions", ("short",)), ("users", ("nobody",))):
        was = {one["name"]: one for one in taken.facts[kind][kind]}
        now = {one["name"]: one for one in service.api("GET", f"/{kind}")[kind]}
        for name in names:
            for field in ("parent", "limits", "weight", "usage_factor", "time_limit", "time_limit_max"):
                equal((name, field, now[name].get(field)), (name, field, was[name].get(field)))
    node = next(one for one in service.api("GET", "/nodes")["nodes"] if one["name"] == "n3")
    equal((node["state"], node["reason"]), ("drained", "fan"))
    equal([one["job_id"] for one in service.api("GET", "/reservations")["reservations"]], ["maintenance"])
    assert len(service.api("GET", "/events?format=json&limit=1000")["events"]) >= min(taken.facts["events"], 100)


def both(test):
    """The test on each store."""
    def on(store):
        def wrapped(taken):
            test(taken)
        wrapped.__name__, wrapped.store = f"{test.__name__} ({store})", store
        return wrapped
    return [on("sqlite"), on("postgres")]


TESTS = (jobs_that_ended_are_as_they_were, jobs_that_waited_wait_for_the_same, what_ran_runs_again_unless_its_owner_said_no,
         checkpoints_are_found_again, tokens_are_good_or_not_as_before, accounts_limits_and_usage_are_kept)
run_with(lambda test: Taken(test.store), *[one for test in TESTS for one in both(test)])
