#!/usr/bin/env python3
"""The reaper: a service that is followed still ends when it is told to."""
import signal
import time

from service import equal, run


def a_service_that_is_followed_ends(service):
    job = service.submit("sleep", "60")["id"]
    service.wait(job, "running")
    streams = [service.follow(path) for path in ("/events", f"/jobs/{job}/output?follow=1")]
    start = time.time()
    equal(service.kill(signal.SIGTERM), 0)
    assert time.time() - start < 20
    for connection, answer in streams:
        answer.read()  # to its end
        connection.close()
    service.start()
    equal(service.job(job)["state"], "running")


run(a_service_that_is_followed_ends)
