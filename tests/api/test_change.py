#!/usr/bin/env python3
"""Changing a job."""
import os
import time

from service import Skip, as_nobody, equal, run


def a_held_job_waits_and_is_released(service):
    job = service.submit("true", hold=True)["id"]
    equal(service.job(job)["reason"], "held")
    equal(service.api("PATCH", f"/jobs/{job}", {"hold": False})["state"], "queued")
    service.wait(job, "completed")
    error = service.api("PATCH", f"/jobs/{job}", {"hold": True}, 409)["error"]
    assert "completed" in error["message"], error


def waiting_jobs_change_their_place(service):
    blocker = service.submit("sleep", "1", exclusive=True, nodes=3)["id"]
    service.wait(blocker, "running")
    jobs = [service.submit("sleep", "0.2", exclusive=True, nodes=3)["id"] for _ in range(2)]
    changed = service.api("PATCH", f"/jobs/{jobs[1]}", {"priority": "high", "time_limit": 90})
    equal((changed["priority"], changed["time_limit_s"]), ("high", 90))
    first, second = service.wait(jobs[1], "completed"), service.wait(jobs[0], "completed")
    assert first["started_at"] <= second["started_at"]


def a_running_job_gets_less_time(service):
    job = service.submit("sleep", "60")["id"]
    service.wait(job, "running")
    service.api("PATCH", f"/jobs/{job}", {"time_limit": 1})
    equal(service.wait(job, "failed")["reason"], "time_limit")
    error = service.api("PATCH", f"/jobs/{job}", {"priority": "high"}, 409)["error"]
    assert "failed" in error["message"], error


def ticks(service, job):
    return service.output(f"strata-{job}.out").count("tick")


def a_frozen_job_stays_frozen_until_it_is_let_go(service):
    job = service.submit("sh", "-c", "while :; do echo tick; sleep 0.1; done")["id"]
    service.wait(job, "running")
    service.api("PATCH", f"/jobs/{job}", {"suspend": True})
    frozen = service.wait(job, "preempted")
    equal((frozen["reason"], frozen["attempt"]), ("suspended", 1))
    for restart in (False, True):  # it stays so when the service comes back
        if restart:
            service.kill()
            service.start()
        equal(service.job(job)["state"], "preempted")
        before = ticks(service, job)
        time.sleep(0.5)
        equal(ticks(service, job), before)
    service.api("PATCH", f"/jobs/{job}", {"suspend": False})
    equal(service.wait(job, "running")["attempt"], 1)
    deadline = time.time() + 20
    while ticks(service, job) == before and time.time() < deadline:
        time.sleep(0.05)
    assert ticks(service, job) > before


def events_say_what_was_done_to_a_job(service):
    job = service.submit("sleep", "60")["id"]
    service.wait(job, "running")
    service.api("PATCH", f"/jobs/{job}", {"suspend": True})
    service.wait(job, "preempted")
    service.api("PATCH", f"/jobs/{job}", {"suspend": False})
    service.wait(job, "running")
    service.api("PATCH", f"/jobs/{job}", {"time_limit": 3000})
    service.api("PATCH", f"/jobs/{job}", {"requeue": True})
    events = [event for event in service.api("GET", "/events?format=json&limit=1000")["events"] if event["job"] == job]
    about = [event["about"] for event in events if event["kind"] == "job.changed"]
    by = about[0]["by"]
    equal(about[:2] + about[3:], [{"by": by, "did": what} for what in ("suspend", "resume", "requeue")])
    equal((about[2].get("did"), about[2]["to"]), (None, {"time_limit_s": 3000}))
    equal([event["about"] for event in events if event["kind"] == "job.stopping"][:1], [{"how": "suspend"}])


def who_is_held_is_promised_no_start(service):
    first = service.submit("sleep", "60", exclusive=True, nodes=3, time_limit=100)["id"]
    service.wait(first, "running")
    job = service.submit("true", gpus=4)["id"]
    assert service.job(job)["promised"]
    held = service.api("PATCH", f"/jobs/{job}", {"hold": True})
    equal((held["reason"], held["promised"], held["expected_start_at"]), ("held", False, None))


def a_change_is_made_as_a_whole_or_not_at_all(service):
    job = service.submit("true", begin="now+1h")["id"]
    before = service.job(job)
    for change, status in [({"hold": True, "signal": "USR1"}, 400), ({"hold": True, "suspend": True}, 400),
                           ({"nice": 5, "signal": "USR1"}, 409), ({"time_limit": 60, "requeue": True}, 409),
                           ({"hold": True, "time_limit": 0}, 400)]:
        service.api("PATCH", f"/jobs/{job}", change, status)
        after = service.job(job)
        for field in ("reason", "nice", "time_limit_s", "request"):
            equal((change, after[field]), (change, before[field]))


def what_an_operator_holds_its_owner_does_not_release(service):
    if os.getuid() != 0:
        raise Skip("it takes root to be somebody else")
    status, made = as_nobody(service, "POST", "/api/v1/jobs",
                             {"command": ["true"], "working_dir": "/", "output": "/dev/null", "begin": "now+1h"})
    equal(status, 201)
    path = f"/api/v1/jobs/{made['id']}"
    for change in ({"hold": True}, {"hold": False}):
        equal(as_nobody(service, "PATCH", path, change)[0], 200)
    service.api("PATCH", f"/jobs/{made['id']}", {"hold": True})
    words = service.api("GET", f"/jobs/{made['id']}/why")["sentences"]
    assert f"`strata release {made['id']}` lets it start; only an operator may." in words, words
    status, answer = as_nobody(service, "PATCH", "/api/v1/nodes/n1", {"state": "drained"})
    equal((status, answer["error"]["message"]), (403, "the role operator is needed (drain, resume); nobody has the role user"))
    for change in ({"hold": False}, {"suspend": False}, {"hold": True}):
        status, answer = as_nobody(service, "PATCH", path, change)
        equal((change, status, service.job(made["id"])["reason"]), (change, 403, "held"))
        equal(service.job(made["id"])["request"]["held_by"], "operator")
    service.api("PATCH", f"/jobs/{made['id']}", {"hold": False})
    equal(service.job(made["id"])["reason"], "begin_time")


run(who_is_held_is_promised_no_start, events_say_what_was_done_to_a_job, a_change_is_made_as_a_whole_or_not_at_all, what_an_operator_holds_its_owner_does_not_release, a_held_job_waits_and_is_released, waiting_jobs_change_their_place, a_running_job_gets_less_time,
    a_frozen_job_stays_frozen_until_it_is_let_go)
