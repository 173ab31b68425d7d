#!/usr/bin/env python3
"""The history as a study replays it: what has run to its end, since then, with what it asked for."""
import os
import time

from service import NOBODY, Skip, as_nobody, equal, run


def study(service, since="7d"):
    made = service.api("POST", "/studies", {"policies": ["fifo"], "since": since}, 202)
    while (now := service.api("GET", f"/studies/{made['id']}"))["state"] in ("waiting", "running"):
        time.sleep(0.05)
    return now


def only_what_ran_to_its_end_is_replayed(service):
    service.wait(service.submit("sleep", "0.1", gpus=2, array="1-5")["id"], "completed")
    service.submit("sleep", "600", gpus=1)
    service.submit("true", hold=True)
    deadline = time.time() + 60
    while len(service.api("GET", "/queue")["jobs"]) > 2 and time.time() < deadline:
        time.sleep(0.1)
    result = study(service)["result"]
    equal((result["jobs"], result["left_out"], result["cut"]), (5, 2, False))
    equal([(size["size"], size["jobs"]) for size in result["trials"][1]["sizes"]], [(2.0, 5)])


def users_have_their_names(service):
    if os.geteuid() != 0:
        raise Skip("it takes root to be somebody else")
    service.wait(service.submit("true")["id"], "completed")
    job = as_nobody(service, "POST", "/api/v1/jobs", {"command": ["true"], "working_dir": "/tmp", "output": "/dev/null"})[1]["id"]
    service.wait(job, "completed")
    result = study(service)["result"]
    names = {result["users"][int(user["user"]) - 1] for user in result["trials"][1]["users"]}
    equal(names, {NOBODY, service.job(1)["user"]})


def older_ones_are_left_out(service):
    service.wait(service.submit("true")["id"], "completed")
    assert study(service, "1m")["result"]["jobs"] == 1
    time.sleep(1)
    equal(service.ask("POST", "/api/v1/studies", {"policies": ["fifo"], "since": "93d"})[0], 400)


run(only_what_ran_to_its_end_is_replayed, users_have_their_names, older_ones_are_left_out)
