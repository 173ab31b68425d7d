#!/usr/bin/env python3
"""What happens while the store is away: busy, full, or restarted in the middle."""
import http.client
import os
import signal
import sqlite3
import subprocess
import threading
import time

import postgres
from service import PATIENCE_S, Service, Skip, equal, run_with


def wait_until_ready(service):
    deadline = time.time() + PATIENCE_S
    while service.ask("GET", "/readyz")[0] != 200:
        assert time.time() < deadline, service.said()
        time.sleep(0.05)


def go_file(service):
    return os.path.join(service.dir, "go")


def submit_waiting(service):
    job = service.submit("sh", "-c", f"while [ ! -e {go_file(service)} ]; do sleep 0.02; done; echo done")["id"]
    service.wait(job, "running")
    return job


def says_away(service, job):
    """Does `why` say that the store is away, and what that means?"""
    said = [line for line in service.api("GET", f"/jobs/{job}/why")["sentences"] if "store" in line]
    assert all(line.startswith("The store is away (") and line.endswith("): nothing starts until it is back.") and
               "()" not in line for line in said), said
    return len(said) == 1


def check_away(service, running, held):
    """Changes are refused, reads are answered, what ends is seen to end, nothing starts."""
    status, answer = service.ask("POST", "/api/v1/jobs", {"command": ["true"], "working_dir": service.dir})
    equal((status, answer["error"]["code"]), (503, "unavailable"))
    equal(service.ask("GET", "/readyz")[0], 503)
    equal(service.ask("GET", "/healthz")[0], 200)
    for method, path, body in [("DELETE", f"/jobs/{held}", None), ("PATCH", f"/jobs/{held}", {"hold": False}),
                               ("PATCH", "/nodes/n1", {"state": "drained"})]:
        error = service.api(method, path, body, status=503)["error"]
        assert "nothing was changed" in error["message"], error
    equal(service.job(running)["state"], "running")
    equal(service.job(held)["reason"], "held")
    assert says_away(service, held) and says_away(service, running)
    equal(len(service.api("GET", "/nodes")["nodes"]), 3)
    with open(go_file(service), "w"):
        pass
    equal(service.wait(running, "completed")["exit_code"], 0)


def check_back(service, running, held):
    wait_until_ready(service)
    equal(service.job(running)["state"], "completed")
    equal(service.job(held)["reason"], "held")
    assert not says_away(service, held)
    service.wait(service.submit("true")["id"], "completed")
    service.kill()
    service.start()
    equal(service.job(running)["state"], "completed")
    service.api("PATCH", f"/jobs/{held}", {"hold": False})
    service.wait(held, "completed")


def a_busy_store(service):
    held = service.submit("true", hold=True)["id"]
    running = submit_waiting(service)
    other = sqlite3.connect(os.path.join(service.state, "strata.db"), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    check_away(service, running, held)
    other.execute("ROLLBACK")
    other.close()
    check_back(service, running, held)


def a_database_that_is_away(service):
    held = service.submit("true", hold=True)["id"]
    running = submit_waiting(service)
    service.database.stop()
    check_away(service, running, held)
    service.database.start()
    check_back(service, running, held)


def a_database_that_hangs(service):
    """It is there and does not answer: that is found out, and nobody waits for ever."""
    held = service.submit("true", hold=True)["id"]
    service.database.signal_all(signal.SIGSTOP)
    try:
        status, answer = service.ask("POST", "/api/v1/jobs", {"command": ["true"], "working_dir": service.dir})
        equal((status, answer["error"]["code"]), (503, "unavailable"))
        equal(service.job(held)["reason"], "held")
    finally:
        service.database.signal_all(signal.SIGCONT)
    wait_until_ready(service)
    service.wait(service.submit("true")["id"], "completed")
    equal(service.job(held)["reason"], "held")


def submit_until(service, stop, path, acknowledged, refused):
    while not stop.is_set():
        try:
            status, answer = service.ask("POST", "/api/v1/jobs", {"command": ["sh", "-c", f"echo $STRATA_JOB_ID >> {path}"],
                                                                  "environment": {"A": "b"}, "working_dir": service.dir})
            (acknowledged if status == 201 else refused).append(answer["id"] if status == 201 else (status, answer))
        except (OSError, http.client.HTTPException) as trouble:
            refused.append((0, repr(trouble)))


def a_database_restarted_in_the_middle_of_submissions(service):
    stop, path, acknowledged, refused = threading.Event(), os.path.join(service.dir, "ran"), [], []
    clients = [threading.Thread(target=submit_until, args=(service, stop, path, acknowledged, refused)) for _ in range(4)]
    for client in clients:
        client.start()
    for how in (signal.SIGINT, signal.SIGQUIT):  # shut down; as if it had crashed
        time.sleep(0.3)
        service.database.stop(how)
        time.sleep(0.3)
        service.database.start()
        wait_until_ready(service)
    time.sleep(0.3)
    stop.set()
    for client in clients:
        client.join()
    for job in acknowledged:
        service.wait(job, "completed")
    with open(path) as file:
        ran = [int(line) for line in file]
    lost, twice = set(acknowledged) - set(ran), {job for job in ran if ran.count(job) > 1}
    print(f"# restarted twice: {len(acknowledged)} acknowledged, {len(refused)} told 503, {len(lost)} lost, {len(twice)} run twice",
          flush=True)
    equal((lost, twice), (set(), set()))
    assert refused and {status for status, _ in refused} == {503}, refused[:3]


def a_full_disk(service):
    """The state directory is a small file system of its own."""
    service.kill(signal.SIGTERM)
    service.state = os.path.join(service.dir, "small")
    os.mkdir(service.state)
    if os.geteuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m,mode=0711", "none", service.state]).returncode:
        raise Skip("only root can mount a small file system")
    try:
        service.start()
        held = service.submit("true", hold=True)["id"]
        running = submit_waiting(service)
        filler = os.path.join(service.state, "filler")
        with open(filler, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                pass
        acknowledged = []
        while True:  # what is still free of the log is used up first
            status, answer = service.ask("POST", "/api/v1/jobs", {"command": ["true"], "hold": True, "working_dir": service.dir,
                                                                  "environment": {"X": f"{len(acknowledged)}" * 10000}})
            if status != 201:
                break
            acknowledged.append(answer["id"])
        equal((status, answer["error"]["code"]), (503, "unavailable"))
        assert "full" in answer["error"]["message"], answer
        equal(service.job(running)["state"], "running")
        os.unlink(filler)
        wait_until_ready(service)
        for job in acknowledged:
            equal(service.job(job)["reason"], "held")
        with open(go_file(service), "w"):
            pass
        service.wait(running, "completed")
        check_back(service, running, held)
        for job in acknowledged:
            equal(service.job(job)["reason"], "held")
    finally:
        service.kill()
        subprocess.run(["umount", "-l", service.state], check=False)


def a_directory_that_cannot_be_written_to(service):
    """At the start: it says what is wrong and ends."""
    service.kill(signal.SIGTERM)
    if os.geteuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", "ro,mode=0711", "none", service.state]).returncode:
        raise Skip("only root can mount a file system that is read only")
    try:
        service.start()
        raise AssertionError("it started: " + service.said())
    except AssertionError as trouble:
        assert "did not start" in str(trouble) and "Read-only file system" in str(trouble), trouble
        assert service.state in str(trouble), trouble
    finally:
        subprocess.run(["umount", "-l", service.state], check=False)
    service.start()
    service.wait(service.submit("true")["id"], "completed")


def starts_are_put_off_while_nothing_can_be_written(service):
    """The store takes the start; the order cannot be written. The job waits, and is started when it can be."""
    service.kill(signal.SIGTERM)
    jobs = os.path.join(service.state, "jobs")
    if os.geteuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=0711", "none", jobs]).returncode:
        raise Skip("only root can mount a file system")
    try:
        service.start()
        subprocess.run(["mount", "-o", "remount,ro", jobs], check=True)
        job = service.submit("true")["id"]
        deadline = time.time() + PATIENCE_S
        while True:
            events = service.api("GET", "/events?format=json&limit=1000")["events"]
            told = [event["about"]["error"] for event in events if event["kind"] == "job.put_off"]
            if told:
                break
            assert time.time() < deadline, events
            time.sleep(0.05)
        assert "Read-only file system" in told[0], told
        equal(service.job(job)["state"], "queued")
        subprocess.run(["mount", "-o", "remount,rw", jobs], check=True)
        service.wait(job, "completed")
    finally:
        service.kill()
        subprocess.run(["umount", "-l", jobs], check=False)


if __name__ == "__main__":
    databases = []

    def make(test):
        if "database" not in test.__name__:
            return Service()
        if not postgres.possible():
            raise Skip("no initdb (Debian: postgresql)")
        if not databases:
            databases.append(postgres.Postgres())
        service = Service(store=databases[0].address())
        service.database = databases[0]
        return service

    run_with(make, a_busy_store, a_database_that_is_away, a_database_that_hangs, a_database_restarted_in_the_middle_of_submissions, a_full_disk,
             a_directory_that_cannot_be_written_to, starts_are_put_off_while_nothing_can_be_written)
