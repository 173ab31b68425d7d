#!/usr/bin/env python3
"""Many at once share commits; what is due happens when it is due."""
import threading
import time
from datetime import datetime, timedelta, timezone

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


run(submissions_that_come_together_share_a_commit, begin_times_are_kept, a_job_starts_at_once)
