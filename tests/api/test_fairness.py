#!/usr/bin/env python3
"""What users who compete had, against their shares, for Prometheus."""
import os
import time

from service import Skip, as_nobody, equal, run

JOB = {"command": ["sleep", "600"], "working_dir": "/", "environment": {"PATH": "/usr/bin:/bin"}, "output": "/dev/null"}


def fairness(service):
    lines = dict(line.rsplit(" ", 1) for line in service.ask("GET", "/metrics")[1].splitlines() if not line.startswith("#"))
    return tuple(float(lines["strata_" + name]) for name in ("fair_share_deviation", "users_competing", "users_starved"))


def who_is_alone_has_what_is_theirs(service):
    service.wait(service.submit("sleep", "600", gpus=4)["id"], "running")
    time.sleep(0.2)
    equal(fairness(service), (0, 1, 0))


def who_has_had_nothing_while_another_had_all_is_starved(service):
    if os.geteuid() != 0:
        raise Skip("it takes root to be somebody else")
    service.wait(service.submit("sleep", "600", gpus=12, nodes=3)["id"], "running")
    equal(as_nobody(service, "POST", "/api/v1/jobs", {**JOB, "gpus": 4})[0], 201)
    time.sleep(0.2)
    deviation, competing, starved = fairness(service)
    assert abs(deviation - 0.5) < 1e-6, deviation
    equal((competing, starved), (2, 1))
    equal(fairness(service), (deviation, competing, starved))  # within a quarter of a minute it is not worked out again


def weights_say_what_is_theirs(service):
    if os.geteuid() != 0:
        raise Skip("it takes root to be somebody else")
    service.api("PUT", "/users/root", {"weight": 4})
    service.wait(service.submit("sleep", "600", gpus=12, nodes=3)["id"], "running")
    equal(as_nobody(service, "POST", "/api/v1/jobs", {**JOB, "gpus": 4})[0], 201)
    time.sleep(0.2)
    assert abs(fairness(service)[0] - 0.2) < 1e-6, fairness(service)


run(who_is_alone_has_what_is_theirs, who_has_had_nothing_while_another_had_all_is_starved, weights_say_what_is_theirs)
