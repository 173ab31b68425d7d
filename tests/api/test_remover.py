#!/usr/bin/env python3
"""Checkpoints are deleted by a thread of their own, and what was asked for is done before the service ends."""
import os
import signal
import time

from service import PATIENCE_S, equal, run

FILES = 3000


def saved(service):
    """A running job whose checkpoint is a directory of many files."""
    job = service.submit("sleep", "600")["id"]
    service.wait(job, "running")
    directory = os.path.join(service.state, "checkpoints", str(job))
    path, draft = os.path.join(directory, "many"), os.path.join(directory, ".many")
    os.mkdir(draft)
    for number in range(FILES):
        with open(os.path.join(draft, str(number)), "w"):
            pass
    os.rename(draft, path)
    deadline = time.time() + PATIENCE_S
    while not service.api("GET", f"/jobs/{job}/checkpoints")["checkpoints"]:  # its supervisor sees it
        assert time.time() < deadline, "nobody sees the checkpoint"
        time.sleep(0.05)
    return job, path


def a_large_one_goes_and_the_service_goes_on(service):
    job, path = saved(service)
    service.api("DELETE", f"/jobs/{job}/checkpoints")
    service.wait(service.submit("true")["id"], "completed")
    deadline = time.time() + PATIENCE_S
    while os.path.exists(path):
        assert time.time() < deadline, "the checkpoint is still there"
        time.sleep(0.05)
    equal(service.api("GET", f"/jobs/{job}/checkpoints")["checkpoints"], [])


def it_is_gone_when_the_service_has_ended(service):
    job, path = saved(service)
    service.api("DELETE", f"/jobs/{job}/checkpoints")
    service.wait(service.submit("true")["id"], "completed")  # a round later the effect has been carried out
    equal(service.kill(signal.SIGTERM), 0)
    assert not os.path.exists(path), os.listdir(path)[:3]


run(a_large_one_goes_and_the_service_goes_on, it_is_gone_when_the_service_has_ended)
