#!/usr/bin/env python3
"""Many at once share commits; what is due happens when it is due."""
import threading
import time
from datetime import datetime, timedelta, timezone

from crashing import Crashing
from service import equal, run


def metric(service, name):
    for line in service.ask("GET", "/metrics")[1].splitlines():
        if line.startswith(name + " "):
            return float(line.split()[1])
    raise AssertionError(name)


def submissions_that_come_together_share_a_commit(service):
    before = metric(service, "strata_commits_total")
    made = []

    def submit():
        for _ in range(20):
            made.append(service.submit("true", hold=True)["id"])

    threads = [threading.Thread(target=submit) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    equal(len(set(made)), 320)
    commits = metric(service, "strata_commits_total") - before
    assert commits < 320, commits
    print(f"# 320 submissions, {commits:.0f} commits")


def begin_times_are_kept(service):
    begin = datetime.now(timezone.utc) + timedelta(seconds=2)
    job = service.submit("true", begin=begin.strftime("%Y-%m-%dT%H:%M:%SZ"))["id"]
    equal(service.job(job)["reason"], "begin_time")
    service.wait(job, "completed")
    assert datetime.now(timezone.utc) >= begin.replace(microsecond=0)


def a_job_starts_at_once(service):
    times = []
    for _ in range(10):
        start = time.time()
        job = service.submit("true")["id"]
        service.wait(job, "running", "completed")
        times.append(time.time() - start)
    print(f"# submitted to started: median {sorted(times)[5] * 1000:.0f} ms")


def the_clock_is_set_back(service):
    """By an hour, with jobs that run, wait and are due: they go on, and what comes later is still in order."""
    service.close()
    service = Crashing()
    try:
        running = service.submit("sleep", "1.5")["id"]
        service.wait(running, "running")
        after = service.submit("true", dependencies=f"afterok:{running}")["id"]
        service.set_clock(-3600)
        first = service.submit("true")["id"]
        service.wait(first, "completed")
        service.wait(running, "completed")
        service.wait(after, "completed")
        begin = datetime.now(timezone.utc) - timedelta(seconds=3598)
        due = service.submit("true", begin=begin.strftime("%Y-%m-%dT%H:%M:%SZ"))["id"]
        service.wait(due, "completed")
        service.set_clock(-7200)
        service.kill()
        service.start()
        service.wait(service.submit("true")["id"], "completed")
        sequence = [event["sequence"] for event in service.api("GET", "/events?format=json&limit=1000")["events"]]
        equal(sequence, sorted(set(sequence)))
    finally:
        service.close()


run(submissions_that_come_together_share_a_commit, begin_times_are_kept, a_job_starts_at_once, the_clock_is_set_back)
