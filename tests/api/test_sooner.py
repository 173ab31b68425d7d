#!/usr/bin/env python3
"""What a waiting job could ask for to start earlier, when jobs would start before they are submitted, and who is before whom."""
import datetime
import os
import signal
import subprocess

from service import STRATA, Skip, as_nobody, equal, rerun, run


def when(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def sooner(service, job):
    return {one["text"]: one for one in service.api("GET", f"/jobs/{job}/sooner")["sooner"]}


def busy(service):
    """Three nodes of four GPUs: two are full for two hours, of the third two GPUs for one."""
    for gpus, limit in ((4, "2h"), (4, "2h"), (2, "1h")):
        service.wait(service.submit("sleep", "600", gpus=gpus, time_limit=limit)["id"], "running")


def fewer_gpus_start_at_once(service):
    busy(service)
    job = service.submit("true", gpus=4, time_limit="4h", name="wide")["id"]
    found = sooner(service, job)
    now = when(service.api("GET", "/queue")["at"])
    assert abs(when(found["2 GPUs instead of 4"]["start_at"]) - now) < 30, found
    equal(found["2 GPUs instead of 4"]["change"], {"gpus": 2})
    equal(found["2 GPUs instead of 4"]["node"], "n3")
    assert found["1 GPU instead of 4"]["sooner_s"] > 3000, found
    assert "a time limit of 2h instead of 4h" not in found, found  # nothing is before it: time is not what it waits for
    service.api("PATCH", f"/jobs/{job}", found["2 GPUs instead of 4"]["change"])
    service.wait(job, "completed")


def less_time_fits_before_the_next_one(service):
    busy(service)
    first = service.submit("sleep", "600", gpus=4, time_limit="2h")["id"]  # gets the third node in an hour
    job = service.submit("sleep", "600", gpus=2, time_limit="90m")["id"]
    equal(service.api("GET", f"/jobs/{job}/why")["before"][0]["id"], first)
    found = sooner(service, job)
    assert "a time limit of 45m instead of 1h30m" in found or "a time limit of 45m instead of 90m" in found, found


def nothing_is_left_of_it(service):
    service.kill(signal.SIGTERM)
    service.args += ["--record", os.path.join(service.dir, "record")]
    service.start()
    busy(service)
    job = service.submit("sleep", "600", gpus=4)["id"]
    before = service.api("GET", "/queue")["jobs"]
    for _ in range(3):
        assert sooner(service, job)
    equal([one["id"] for one in service.api("GET", "/queue")["jobs"]], [one["id"] for one in before])
    equal(service.submit("true")["id"], job + 1)
    service.kill(signal.SIGTERM)
    equal(rerun(service)["differing"], 0)


def what_would_not_help_is_not_said(service):
    busy(service)
    for fields in ({"hold": True, "gpus": 4}, {"begin": "now+2h", "gpus": 4}, {"dependencies": "afterok:1", "gpus": 4}, {"array": "1-3", "gpus": 4}):
        equal(sooner(service, service.submit("true", **fields)["id"]), {})
    equal(sooner(service, 1), {})  # it runs
    equal(service.ask("GET", "/api/v1/jobs/99/sooner")[0], 404)


def it_is_the_owners_to_ask(service):
    if os.geteuid() != 0:
        raise Skip("it takes root to be somebody else")
    busy(service)
    job = service.submit("true", gpus=4)["id"]
    equal(as_nobody(service, "GET", f"/api/v1/jobs/{job}/sooner")[0], 403)


def who_is_before_it_and_what_its_share_is(service):
    busy(service)
    first = service.submit("sleep", "600", gpus=4, name="first")["id"]
    second = service.submit("sleep", "600", gpus=4)["id"]
    why = service.api("GET", f"/jobs/{second}/why")
    equal([(one["id"], one["name"]) for one in why["before"]], [(first, "first")])
    assert why["before"][0]["expected_start_at"], why
    equal(why["before_count"], 1)
    share = why["fair_share"]
    equal((share["users_waiting"], share["users_before"], share["weight"]), (1, 0, 1))
    assert share["gpu_hours"] >= 0 and 0 < share["share"] <= 1, share


def submit_says_when_and_submits_nothing(service):
    def strata(*words):
        return subprocess.run([STRATA, "--socket", service.socket, *words], capture_output=True, text=True, cwd=service.dir)
    now = strata("submit", "--when", "--gpus", "1", "--", "true")
    equal((now.returncode, now.stderr), (0, ""))
    assert now.stdout.startswith("it would start at once, on n"), now.stdout
    busy(service)
    later = strata("submit", "--when", "--gpus", "4", "--time", "1h", "--", "true")
    assert later.stdout.startswith("it would start ≈ ") and " on n3" in later.stdout, later.stdout
    never = strata("submit", "--when", "--gpus", "99", "--", "true")
    assert never.returncode != 0 and "99" in never.stderr, never.stderr
    equal(len(service.api("GET", "/queue")["jobs"]), 3)
    both = strata("submit", "--when", "--wait", "--", "true")
    assert both.returncode != 0 and "--wait" in both.stderr, both.stderr


run(fewer_gpus_start_at_once, less_time_fits_before_the_next_one, nothing_is_left_of_it, what_would_not_help_is_not_said, it_is_the_owners_to_ask,
    who_is_before_it_and_what_its_share_is, submit_says_when_and_submits_nothing)
