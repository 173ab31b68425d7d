#!/usr/bin/env python3
"""What waiting jobs ask for can change; what cannot is said, and changes nothing."""
import os
import signal

from service import Skip, as_nobody, equal, rerun, run


def patch(service, job, status=200, **fields):
    return service.api("PATCH", f"/jobs/{job}", fields, status)


def fill(service):
    """All of the cluster is in use."""
    job = service.submit("sleep", "600", exclusive=True, nodes=3)["id"]
    service.wait(job, "running")
    return job


def a_smaller_request_starts_in_its_place(service):
    running = service.submit("sleep", "600", exclusive=True, nodes=2)["id"]
    service.wait(running, "running")
    large = service.submit("sleep", "600", nodes=3, tasks=3, gpus_per_node=1, name="large")["id"]
    later = service.submit("true", nodes=3, tasks=3)["id"]
    changed = patch(service, large, nodes=1, tasks=1, gpus_per_node=2, name="small", comment="fits now")
    equal([changed[key] for key in ("id", "name", "comment", "gpus", "nodes", "cpus")], [large, "small", "fits now", 2, 1, 1])
    job = service.wait(large, "running")
    equal((job["name"], job["gpus"], job["request"]["gpus_per_node"], len(job["node_names"])), ("small", 2, 2, 1))
    equal(service.job(later)["state"], "queued")


def fields_that_stand_for_the_same_replace_each_other(service):
    fill(service)
    job = service.submit("true", gpus=2, memory="1G")["id"]
    patch(service, job, gpus_per_task=1, memory_per_task="2G", tasks=2)
    request = service.job(job)["request"]
    equal({key: request.get(key) for key in ("gpus", "gpus_per_task", "memory", "memory_per_task")},
          {"gpus": None, "gpus_per_task": 1, "memory": None, "memory_per_task": "2G"})
    equal((service.job(job)["gpus"], service.job(job)["memory_bytes"]), (2, 4 << 30))
    patch(service, job, gpus_per_task=None)
    equal(service.job(job)["gpus"], 0)


def it_is_all_there_after_a_crash(service):
    fill(service)
    first = service.submit("true", name="first", hold=True)["id"]
    job = service.submit("sh", "-c", "echo $STRATA_JOB_NAME", name="old", hold=True)["id"]
    patch(service, job, name="new", gpus=1, dependencies=f"afterany:{first}", comment="x")
    patch(service, job, comment="y")
    before = service.job(job)
    service.kill()
    service.start()
    after = service.job(job)
    for key in ("name", "gpus", "comment", "dependencies", "request", "state", "reason"):
        equal((key, after[key]), (key, before[key]))
    equal((after["name"], after["comment"], after["dependencies"]), ("new", "y", f"afterany:{first}"))


def a_script_without_a_name_keeps_its_own(service):
    fill(service)
    for more, name in (({"script_name": "/tmp/train.sh"}, "train.sh"), ({}, "script")):
        job = service.submit(script="#!/bin/sh\ntrue\n", **more)["id"]
        equal(patch(service, job, gpus=1)["name"], name)
        equal(patch(service, job, comment="x")["name"], name)
        equal((service.job(job)["name"], service.job(job)["gpus"]), (name, 1))
        equal(patch(service, job, name="other")["name"], "other")
        equal(patch(service, job, name=None)["name"], name)


def what_may_not_be_changes_nothing(service):
    running = fill(service)
    job = service.submit("true", name="x")["id"]
    before = service.job(job)
    for fields, status, code, words in (
            ({"gpus": 99}, 422, "impossible", "It asks for 99 GPUs"),
            ({"partition": "nowhere"}, 404, "not_found", "nowhere"),
            ({"gpus": 1, "gpus_per_task": 1}, 400, "invalid", "expected one of"),
            ({"memory": "lots"}, 400, "invalid", "memory"),
            ({"dependencies": "afterok:999"}, 404, "not_found", "999"),
            ({"dependencies": f"afterok:{job}"}, 400, "invalid", "submitted before it"),
            ({"gpus": 1, "hold": True}, 400, "invalid", "two requests"),
            ({"script": "#!/bin/sh"}, 400, "invalid", "script"),
            ({"nonsense": 1}, 400, "invalid", "nonsense")):
        error = patch(service, job, status=status, **fields)["error"]
        equal((fields, error["code"]), (fields, code))
        assert words in error["message"], (fields, error)
    far = service.submit("true", *["c" * ((1 << 20) - 120)] * 4)["id"]  # as much as a row has room for
    equal(service.ask("PATCH", f"/api/v1/jobs/{far}", {"comment": "c" * 1000})[0], 413)
    equal(service.job(job), before)
    patch(service, job, gpus=99, queue_anyway=True)
    equal(service.job(job)["reason"], "impossible")
    error = patch(service, running, status=409, nodes=1)["error"]
    equal(error["code"], "stale")
    equal(patch(service, running, comment="long")["comment"], "long")  # a note can change at any time
    gang = service.submit("true", gang="g", gang_size=2)["id"]
    equal(patch(service, gang, status=409, gpus=1)["error"]["code"], "conflict")


def arrays_change_as_one(service):
    fill(service)
    ids = service.submit("true", array="1-100")["ids"]
    answer = service.api("PATCH", f"/jobs/{ids[0]}?elements=all", {"gpus": 1, "name": "sweep"})
    equal((answer["jobs"], answer["name"], answer["gpus"]), (100, "sweep", 1))
    equal(len(service.api("GET", "/queue?collapse=1&state=queued")["jobs"]), 1)
    service.api("PATCH", f"/jobs/{ids[0]}?elements=3-9", {"gpus": 2})
    rows = service.api("GET", "/queue?collapse=1&state=queued")["jobs"]
    equal([(row["array_index"], row["elements"], row["gpus"]) for row in rows], [(1, 2, 1), (3, 7, 2), (10, 91, 1)])
    service.api("PUT", "/accounts/lab", {})
    error = service.api("PATCH", f"/jobs/{ids[0]}?elements=all", {"account": "lab"}, 409)["error"]
    assert "35_[3-9]" in error["message"], error
    service.api("PATCH", f"/jobs/{ids[0]}?elements=3-9", {"account": "lab"})
    equal(service.job(ids[4])["account"], "lab")
    service.kill()
    service.start()
    equal([(row["array_index"], row["elements"], row["gpus"]) for row in service.api("GET", "/queue?collapse=1&state=queued")["jobs"]],
          [(1, 2, 1), (3, 7, 2), (10, 91, 1)])


def what_was_decided_can_be_decided_over(service):
    service.kill(signal.SIGTERM)
    service.args += ["--record", os.path.join(service.dir, "record")]
    service.start()
    running = fill(service)
    first = service.submit("true", gpus=3, nodes=3, tasks=3)["id"]
    second = service.submit("true", dependencies=f"afterany:{first}")["id"]
    patch(service, first, gpus=1, nodes=1, tasks=1, name="small")
    patch(service, second, dependencies=f"afterany:{running}", qos=None)
    service.api("DELETE", f"/jobs/{running}", status=202)
    service.wait(second, "completed")
    service.kill(signal.SIGTERM)
    equal(rerun(service)["differing"], 0)


def rules_are_those_of_its_owner(service):
    if os.geteuid() != 0:
        raise Skip("another user is needed")
    fill(service)
    service.api("PUT", "/partitions/gpu", {"allowed_users": ["root"]})
    job = as_nobody(service, "POST", "/api/v1/jobs", {"command": ["true"], "working_dir": "/"})[1]["id"]
    status, answer = as_nobody(service, "PATCH", f"/api/v1/jobs/{job}", {"partition": "gpu"})
    equal((status, answer["error"]["code"]), (403, "forbidden"))
    equal(patch(service, job, partition="gpu")["partition"], "gpu")  # as an operator may put it there
    service.api("PUT", "/partitions/short", {"time_limit_max": 600})
    status, answer = as_nobody(service, "PATCH", f"/api/v1/jobs/{job}", {"partition": "short"})  # its limit is an hour
    equal((status, answer["error"]["field"]), (400, "time_limit"))
    both = {"partition": "short", "time_limit": 1800}
    equal(as_nobody(service, "PATCH", f"/api/v1/jobs/{job}", both)[0], 400)
    status, answer = as_nobody(service, "PATCH", f"/api/v1/jobs/{job}", {**both, "time_limit": 300, "queue_anyway": True})
    equal((status, answer.get("partition"), answer.get("time_limit_s")), (200, "short", 300))
    mine = service.submit("true")["id"]
    equal(as_nobody(service, "PATCH", f"/api/v1/jobs/{mine}", {"gpus": 1})[0], 403)
    equal(service.job(mine)["gpus"], 0)


run(a_smaller_request_starts_in_its_place, a_script_without_a_name_keeps_its_own, fields_that_stand_for_the_same_replace_each_other, it_is_all_there_after_a_crash, what_may_not_be_changes_nothing,
    arrays_change_as_one, what_was_decided_can_be_decided_over, rules_are_those_of_its_owner)
