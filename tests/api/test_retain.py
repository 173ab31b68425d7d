#!/usr/bin/env python3
"""Ended jobs are forgotten after a while, with all that belongs to them; others stay."""
import time

from service import PATIENCE_S, arguments, equal, run


def ids(service):
    return {job["id"] for job in service.api("GET", "/jobs?limit=1000")["jobs"]}


@arguments("--keep", "2s")
def ended_jobs_are_forgotten(service):
    first = service.api("POST", "/jobs", {"jobs": [{"command": ["true"], "working_dir": service.dir}] * 300}, 201)
    old = set(first["ids"])
    running = service.submit("sleep", "60")["id"]
    held = service.submit("true", hold=True)["id"]
    assert old <= ids(service)
    deadline = time.time() + PATIENCE_S
    while ids(service) & old and time.time() < deadline:
        time.sleep(0.2)
    equal(ids(service), {running, held})
    events = service.api("GET", "/events?format=json&limit=1000")["events"]
    equal([event for event in events[:-1] if event["job"] in old], [])  # the newest stays: the next has the number after it
    service.wait(running, "running")
    service.kill()
    service.start()  # what is left is enough to go on from
    equal(service.job(running)["state"], "running")
    assert service.submit("true")["id"] > held


@arguments("--keep", "0")
def or_never(service):
    job = service.submit("true")["id"]
    service.wait(job, "completed")
    time.sleep(1.5)
    assert job in ids(service)


run(ended_jobs_are_forgotten, or_never)
