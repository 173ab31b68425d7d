#!/usr/bin/env python3
"""Beginning and end of the service."""
import os
import signal
import subprocess

from service import STRATA, equal, run


def it_ends_when_told_and_jobs_go_on(service):
    job = service.submit("sh", "-c", "sleep 0.5; echo done")["id"]
    service.wait(job, "running")
    equal(service.kill(signal.SIGTERM), 0)
    service.start()
    service.wait(job, "completed")


def a_second_one_on_the_same_state_is_refused(service):
    other = subprocess.run([STRATA, "serve", "--state", service.state, "--socket", service.socket + "2"],
                           capture_output=True, text=True, timeout=60)
    assert other.returncode != 0
    assert "led by another server" in other.stderr, other.stderr
    service.wait(service.submit("true")["id"], "completed")


run(it_ends_when_told_and_jobs_go_on, a_second_one_on_the_same_state_is_refused)
