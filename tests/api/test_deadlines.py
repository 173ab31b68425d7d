"""Deadlines: a job that waits until it could not end in time any more is cancelled; one that runs goes on."""

import time

from service import Service, equal, run_with

FULL = {"nodes": 3, "exclusive": True}


def a_job_that_cannot_end_in_time_is_cancelled(service):
    blocker = service.submit("sleep", "60", **FULL)["id"]
    service.wait(blocker, "running")
    late = service.submit("true", time_limit="1h", deadline="now+3602s", **FULL)["id"]
    patient = service.submit("true", time_limit="1h", deadline="now+2h", **FULL)["id"]
    ended = service.wait(late, "cancelled")
    equal(ended["cancelled_by"], "deadline")
    equal(service.job(patient)["state"], "queued")


def one_that_runs_goes_on(service):
    job = service.submit("sleep", "3", time_limit="1h", deadline="now+3601s")["id"]
    equal(service.wait(job, "completed")["state"], "completed")


def a_range_of_an_array_is_cancelled_at_once(service):
    blocker = service.submit("sleep", "60", **FULL)["id"]
    service.wait(blocker, "running")
    first = service.submit("true", array="0-4", time_limit="1h", deadline="now+1h", **FULL)["id"]
    for job in range(first, first + 5):
        service.wait(job, "cancelled")


def it_outlives_a_restart(service):
    blocker = service.submit("sleep", "60", **FULL)["id"]
    service.wait(blocker, "running")
    late = service.submit("true", time_limit="1h", deadline="now+3605s", **FULL)["id"]
    service.kill()
    service.start()
    service.wait(late, "cancelled")


def without_a_time_limit_it_gets_what_is_left(service):
    job = service.submit("sleep", "60", deadline="now+10min", hold=True)["id"]
    left = service.job(job)["time_limit_s"]
    assert 595 <= left <= 600, left


def a_text_that_is_no_time_is_refused(service):
    answer = service.api("POST", "/jobs", {"command": ["true"], "deadline": "soon"}, 400)
    equal(answer["error"]["field"], "deadline")


run_with(lambda test: Service(), a_job_that_cannot_end_in_time_is_cancelled, one_that_runs_goes_on,
         a_range_of_an_array_is_cancelled_at_once, it_outlives_a_restart, without_a_time_limit_it_gets_what_is_left,
         a_text_that_is_no_time_is_refused)
