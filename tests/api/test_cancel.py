#!/usr/bin/env python3
"""Cancelling a job; elements of arrays are in test_elements.py."""
import time

from service import equal, run


def cancelling_says_what_it_did(service):
    waiting = service.submit("true", hold=True)["id"]
    equal(service.api("DELETE", f"/jobs/{waiting}"), {"id": waiting, "state": "cancelled", "stopping": False})
    service.api("DELETE", f"/jobs/{waiting}", status=409)
    service.api("DELETE", "/jobs/4711", status=404)


def a_stubborn_job_is_killed(service):
    job = service.submit("sh", "-c", "trap '' TERM; echo up; while :; do sleep 1; done")["id"]
    service.wait(job, "running")
    deadline = time.time() + 20
    while "up" not in service.output(f"strata-{job}.out") and time.time() < deadline:
        time.sleep(0.05)
    service.api("DELETE", f"/jobs/{job}", status=202)
    service.wait(job, "cancelled")


a_stubborn_job_is_killed.arguments = ["--preempt", "least_lost:grace=1"]

run(cancelling_says_what_it_did, a_stubborn_job_is_killed)
