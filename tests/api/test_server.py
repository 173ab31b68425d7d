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


def what_is_configured_wrongly_is_named(service):
    for words, said in [(["--order", "nonsense"], "nonsense"), (["--node", "a:gpus=99"], "gpus"),
                        (["--node", "a,a"], "two nodes a"), (["--preempt", "least_lost:grace=x"], "grace")]:
        done = subprocess.run([STRATA, "serve", "--state", service.dir + "/other", *words], capture_output=True,
                              text=True, timeout=60)
        assert done.returncode != 0 and said in done.stderr, (words, done.stderr)


def drained_nodes_stay_drained(service):
    for name in ("n1", "n2", "n3"):
        service.api("PATCH", f"/nodes/{name}", {"state": "drained", "reason": "disk"})
    job = service.submit("true")["id"]
    service.kill()
    service.start()
    node = service.api("GET", "/nodes")["nodes"][0]
    equal((node["name"], node["state"], node["reason"]), ("n1", "drained", "disk"))
    equal(service.job(job)["state"], "queued")
    service.api("PATCH", "/nodes/n2", {"state": "up"})
    equal(service.wait(job, "completed")["attempt"], 1)


run(it_ends_when_told_and_jobs_go_on, a_second_one_on_the_same_state_is_refused, what_is_configured_wrongly_is_named,
    drained_nodes_stay_drained)
