#!/usr/bin/env python3
"""Several servers on one PostgreSQL: one leads, the others answer reads and take over; nothing runs twice."""
import http.client
import os
import signal
import threading
import time

import postgres
from service import PATIENCE_S, Service, arguments, equal, run_with


class Pair:
    """Two servers with the same jobs directory and the same store; the first leads."""

    def __init__(self, database, *args):
        self.store = database.address()
        self.one = Service(*args, store=self.store)
        self.two = Service(*args, store=self.store, state=self.one.state)
        equal(self.role(self.one), 1)
        equal(self.role(self.two), 0)

    @staticmethod
    def role(service):
        lines = service.ask("GET", "/metrics")[1].splitlines()
        return [int(line.split()[1]) for line in lines if line.startswith("strata_leader ")][0]

    def wait_for_lead(self, service):
        deadline = time.time() + PATIENCE_S
        while self.role(service) != 1:
            assert time.time() < deadline, "it does not take over: " + service.said()
            time.sleep(0.05)

    def said(self):
        return self.one.said() + self.two.said()

    def close(self):
        for service in (self.two, self.one):
            service.close()


def ran(service):
    try:
        with open(os.path.join(service.dir, "ran")) as file:
            return sorted(int(line) for line in file)
    except FileNotFoundError:
        return []


def script(service):
    return ("sh", "-c", f"echo $STRATA_JOB_ID >> {service.dir}/ran")


def soon_equal(ask, want):
    """A standby's picture may be as old as two loadings of it take."""
    deadline = time.time() + PATIENCE_S
    while ask() != want and time.time() < deadline:
        time.sleep(0.05)
    equal(ask(), want)


def a_standby_answers_reads_and_names_the_leader(pair):
    job = pair.one.submit("sleep", "60", name="first")["id"]
    held = pair.one.submit("true", hold=True)["id"]
    done = pair.one.submit("true")["id"]
    pair.one.wait(job, "running")
    pair.one.wait(done, "completed")
    soon_equal(lambda: pair.two.job(job)["state"], "running")
    equal(pair.two.job(job)["node_names"], pair.one.job(job)["node_names"])
    soon_equal(lambda: pair.two.job(held)["reason"], "held")
    soon_equal(lambda: pair.two.job(done)["state"], "completed")
    soon_equal(lambda: [j["id"] for j in pair.two.api("GET", "/queue")["jobs"]], [j["id"] for j in pair.one.api("GET", "/queue")["jobs"]])
    for method, path, body in [("POST", "/jobs", {"command": ["true"]}), ("DELETE", f"/jobs/{held}", None),
                               ("PATCH", f"/jobs/{held}", {"hold": False}), ("POST", "/jobs", "{nonsense"),
                               ("PATCH", "/nodes/n1", {"state": "drained"})]:
        error = pair.two.api(method, path, body, status=503)["error"]
        equal((error["code"], error["leader"]), ("unavailable", pair.one.socket))
    equal(pair.two.ask("GET", "/readyz")[0], 503)
    equal(pair.two.ask("GET", "/readyz")[1]["error"]["leader"], pair.one.socket)
    equal(pair.one.ask("GET", "/readyz")[0], 200)
    equal(pair.two.api("POST", "/nonsense", status=404)["error"]["code"], "not_found")
    pair.one.api("PATCH", "/nodes/n2", {"state": "drained", "reason": "fan"})
    # a change may make no event: then a picture is two seconds old at most
    soon_equal(lambda: [n["state"] for n in pair.two.api("GET", "/nodes")["nodes"]], ["up", "drained", "up"])


def a_standby_takes_over_from_one_that_was_killed(pair):
    running = pair.one.submit("sh", "-c", f"echo $STRATA_JOB_ID >> {pair.one.dir}/ran; sleep 2")["id"]
    waiting = pair.one.submit(*script(pair.one), dependencies=f"afterok:{running}")["id"]
    ended = pair.one.submit(*script(pair.one))["id"]
    pair.one.wait(running, "running")
    pair.one.wait(ended, "completed")
    pair.one.kill()
    start = time.time()
    pair.wait_for_lead(pair.two)
    print(f"# took over after {time.time() - start:.1f} s", flush=True)
    equal(pair.two.wait(running, "completed")["attempt"], 1)
    pair.two.wait(waiting, "completed")
    equal(ran(pair.one), [running, waiting, ended])
    pair.one.start()
    equal(pair.role(pair.one), 0)
    error = pair.one.api("POST", "/jobs", {}, status=503)["error"]
    equal(error["leader"], pair.two.socket)
    pair.two.kill(signal.SIGTERM)  # and back
    pair.wait_for_lead(pair.one)
    pair.one.wait(pair.one.submit(*script(pair.one))["id"], "completed")


def submit_anywhere(pair, stop, acknowledged):
    while not stop.is_set():
        for service in (pair.one, pair.two):
            try:
                acknowledged.append(service.submit(*script(pair.one))["id"])
            except (OSError, http.client.HTTPException, AssertionError):
                time.sleep(0.01)


def killed_in_turn_nothing_is_lost_and_nothing_runs_twice(pair):
    acknowledged, stop = [], threading.Event()
    rounds = int(os.environ.get("STRATA_CRASH_ROUNDS", "12")) // 3
    clients = [threading.Thread(target=submit_anywhere, args=(pair, stop, acknowledged)) for _ in range(2)]
    for client in clients:
        client.start()
    leads, other = pair.one, pair.two
    for _ in range(rounds):
        time.sleep(0.5)
        leads.kill()
        pair.wait_for_lead(other)
        leads.start()
        leads, other = other, leads
    stop.set()
    for client in clients:
        client.join()
    for job in acknowledged:
        leads.wait(job, "completed")
    found = ran(pair.one)
    lost, twice = set(acknowledged) - set(found), {job for job in found if found.count(job) > 1}
    print(f"# {rounds} leaders killed, {len(acknowledged)} acknowledged jobs, {len(lost)} lost, {len(twice)} run twice",
          flush=True)
    equal((lost, twice), (set(), set()))


def a_leader_that_was_suspended_does_no_harm_when_it_wakes_up(pair):
    running = pair.one.submit("sh", "-c", f"echo $STRATA_JOB_ID >> {pair.one.dir}/ran; sleep 3")["id"]
    pair.one.wait(running, "running")
    stop, acknowledged = threading.Event(), []
    client = threading.Thread(target=submit_anywhere, args=(pair, stop, acknowledged))
    client.daemon = True  # its request to the one that is suspended may never be answered
    client.start()
    time.sleep(0.3)
    pair.one.process.send_signal(signal.SIGSTOP)  # with jobs in its hands
    start = time.time()
    pair.wait_for_lead(pair.two)
    print(f"# deposed after {time.time() - start:.1f} s", flush=True)
    acknowledged += [pair.two.submit(*script(pair.one))["id"] for _ in range(20)]
    for job in [running, *acknowledged]:
        pair.two.wait(job, "completed")
    pair.one.process.send_signal(signal.SIGCONT)
    stop.set()
    client.join(PATIENCE_S)
    deadline = time.time() + PATIENCE_S
    while pair.role(pair.one) != 0 and time.time() < deadline:
        time.sleep(0.05)
    equal(pair.role(pair.one), 0)
    assert "stands by" in pair.one.said(), pair.one.said()
    equal(pair.one.api("POST", "/jobs", {}, status=503)["error"]["leader"], pair.two.socket)
    for job in acknowledged:
        pair.one.wait(job, "completed")
    found = ran(pair.one)
    equal({job for job in found if found.count(job) > 1}, set())
    equal(set(acknowledged) - set(found), set())


@arguments("--keep", "4s")  # so that what is over is deleted every second
def a_standby_that_was_away_knows_what_was_revoked(pair):
    token = pair.one.api("POST", "/tokens", {}, 201)
    pair.one.api("POST", "/tokens", {}, 201)  # the newest stays in the store
    deadline = time.time() + PATIENCE_S
    while pair.two.ask("GET", "/api/v1/queue", token=token["token"])[0] != 200:
        assert time.time() < deadline
        time.sleep(0.1)
    pair.two.process.send_signal(signal.SIGSTOP)
    pair.one.api("DELETE", f"/tokens/{token['id']}")
    time.sleep(3)  # its row is gone
    pair.two.process.send_signal(signal.SIGCONT)
    time.sleep(3)  # its picture is no older
    equal(pair.two.ask("GET", "/api/v1/queue", token=token["token"])[0], 401)


def standbys_wait_while_the_database_is_restarted(pair):
    pair.database.stop()
    time.sleep(1.5)
    equal(pair.two.ask("GET", "/api/v1/queue")[0], 503)
    pair.database.start()
    deadline = time.time() + PATIENCE_S
    while 1 not in (pair.role(pair.one), pair.role(pair.two)) and time.time() < deadline:
        time.sleep(0.05)
    time.sleep(2.5)
    leads = [service for service in (pair.one, pair.two) if pair.role(service) == 1]
    equal(len(leads), 1)
    leads[0].wait(leads[0].submit("true")["id"], "completed")


if __name__ == "__main__":
    TESTS = (a_standby_answers_reads_and_names_the_leader, a_standby_takes_over_from_one_that_was_killed,
             killed_in_turn_nothing_is_lost_and_nothing_runs_twice,
             a_leader_that_was_suspended_does_no_harm_when_it_wakes_up, a_standby_that_was_away_knows_what_was_revoked,
             standbys_wait_while_the_database_is_restarted)
    if not postgres.possible():
        run_with(None, *TESTS, skip="no initdb (Debian: postgresql)")
    database = postgres.Postgres()

    def make_pair(test):
        pair = Pair(database, *getattr(test, "arguments", []))
        pair.database = database
        return pair

    run_with(make_pair, *TESTS)
