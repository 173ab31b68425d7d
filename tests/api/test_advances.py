#!/usr/bin/env python3
"""Nodes and GPUs that are kept from a time to a time: jobs are planned around them, and told of them."""
import datetime
import time

from service import equal, run


def at(seconds):
    return datetime.datetime.fromtimestamp(time.time() + seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def reserve(service, name, status=201, **fields):
    return service.api("PUT", f"/reservations/{name}", fields, status)


def a_job_that_would_run_into_it_waits_and_says_so(service):
    reserve(service, "disks", nodes=["all"], **{"from": at(3600)}, duration=7200, reason="new disks")
    short = service.submit("true", time_limit=1800)["id"]
    long = service.submit("true", time_limit=7200)["id"]
    service.wait(short, "completed")
    job = service.job(long)
    equal((job["state"], job["reason"]), ("queued", "reserved"))
    why = " ".join(service.api("GET", f"/jobs/{long}/why")["sentences"])
    assert "The reservation disks keeps n1, n2, n3 from" in why and "new disks" in why, why
    assert "with a time limit of 59m it could be done by then" in why, why
    expected = service.api("GET", f"/jobs/{long}/why")["expected_start_at"]
    equal(expected, at(3600 + 7200)[:-4] + expected[-4:])
    service.api("PATCH", f"/jobs/{long}", {"time_limit": 1800})
    service.wait(long, "completed")


def other_nodes_are_used(service):
    reserve(service, "disks", nodes=["n[1-2]"], duration=3600)
    job = service.submit("sleep", "60", gpus=4)["id"]
    equal(service.wait(job, "running")["node_names"], ["n3"])
    equal(service.api("GET", "/nodes")["nodes"][0]["reservations"], ["disks"])


def those_whom_it_is_for_use_it(service):
    me = service.job(service.submit("true", hold=True)["id"])["user"]
    reserve(service, "course", nodes=["all"], duration=3600, users=[me, "eve"])
    service.wait(service.submit("true")["id"], "completed")


def single_gpus_are_kept(service):
    made = reserve(service, "demo", gpus=[{"node": "n1", "gpu_ids": [0, 1]}], duration=3600)
    equal((made["nodes"], made["gpus"]), ([], [{"node": "n1", "gpu_ids": [0, 1]}]))
    job = service.submit("sleep", "60", gpus=2, node_list="n1")["id"]
    equal(service.wait(job, "running")["gpu_ids"], {"n1": [2, 3]})


def they_are_kept_over_a_restart_and_can_be_changed_and_deleted(service):
    made = reserve(service, "disks", nodes=["n1"], **{"from": at(600)}, to=at(1200), repeat="daily", accounts=["lab"], reason="why not")
    service.kill()
    service.start()
    equal(service.api("GET", "/reservations")["reservations"], [made])
    changed = reserve(service, "disks", 200, nodes=["n2"], duration=60)
    equal(service.api("GET", "/reservations")["reservations"], [changed])
    equal(service.api("DELETE", "/reservations/disks")["name"], "disks")
    equal(service.api("GET", "/reservations")["reservations"], [])
    service.wait(service.submit("true", time_limit=86400)["id"], "completed")


def one_that_is_over_lets_jobs_start_and_a_repeated_one_comes_again(service):
    reserve(service, "once", nodes=["all"], duration=2)
    reserve(service, "again", nodes=["n1"], duration=1, repeat="weekly")
    service.wait(service.submit("true", gpus=4)["id"], "completed")
    for _ in range(100):
        left = service.api("GET", "/reservations")["reservations"]
        if len(left) == 1 and not left[0]["active"]:
            break
        time.sleep(0.1)
    equal([(one["name"], one["active"]) for one in left], [("again", False)])
    begin = datetime.datetime.strptime(left[0]["from"], "%Y-%m-%dT%H:%M:%SZ")
    assert 6.9 < (begin - datetime.datetime.utcnow()).total_seconds() / 86400 <= 7.05, left


def what_makes_no_sense_is_refused(service):
    def field(**fields):
        return reserve(service, "x", 400, **fields)["error"]["field"]

    equal(field(nodes=["n1"]), "to")
    equal(field(nodes=["n1"], to=at(9), duration=9), "to")
    equal(field(nodes=["n1"], to=at(-9)), "to")
    equal(field(nodes=["n1"], **{"from": at(20)}, to=at(10)), "to")
    equal(field(duration=9), "nodes")
    equal(field(nodes=["n1"], duration=86401, repeat="daily"), "repeat")
    equal(field(nodes=["n1"], duration=9, repeat="hourly"), "repeat")
    equal(field(nodes=["n1"], duration=9, users=["a,b"]), "users")
    equal(reserve(service, "x", 404, nodes=["n9"], duration=9)["error"]["message"], "there is no node 'n9'; `strata nodes` lists them")
    equal(reserve(service, "x", 404, gpus=[{"node": "n1", "gpu_ids": [4]}], duration=9)["error"]["message"], "node n1 has no GPU 4")
    service.api("POST", "/reservations", {"job_id": "theirs", "gpus": 1}, 201)
    reserve(service, "theirs", 409, nodes=["n1"], duration=9)
    reserve(service, "ours", nodes=["n1"], duration=9)
    service.api("POST", "/reservations", {"job_id": "ours", "gpus": 1}, 409)
    reserve(service, "n" * 127, nodes=["n1"], duration=9)
    reserve(service, "n" * 128, 400, nodes=["n1"], duration=9)


def there_are_no_more_than_may_be(service):
    for number in range(256):
        reserve(service, f"r{number}", nodes=["n1"], duration=9999)
    assert "there are 256 reservations" in reserve(service, "r256", 413, nodes=["n1"], duration=9999)["error"]["message"]
    reserve(service, "r255", 200, nodes=["n1"], duration=9998)


run(a_job_that_would_run_into_it_waits_and_says_so, other_nodes_are_used, those_whom_it_is_for_use_it, single_gpus_are_kept,
    they_are_kept_over_a_restart_and_can_be_changed_and_deleted, one_that_is_over_lets_jobs_start_and_a_repeated_one_comes_again,
    what_makes_no_sense_is_refused, there_are_no_more_than_may_be)
