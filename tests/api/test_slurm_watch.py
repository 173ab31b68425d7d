"""What the executor's thread does when the way to Slurm is a bad one."""

import time

from fake_slurm import OnFake
from service import PATIENCE_S, equal, run_with

OTHER = {"state": "RUNNING", "held": False, "comment": "(null)", "status": 0, "start": 1, "end": 0}


def until(done, what):
    deadline = time.time() + PATIENCE_S
    while not done():
        assert time.time() < deadline, what
        time.sleep(0.02)


def an_answer_that_is_lost_is_no_second_start(service):
    service.flag("lose")
    job = service.submit("sh", "-c", f"echo run >> {service.dir}/runs")["id"]
    service.wait(job, "completed")
    equal(service.output("runs"), "run\n")
    equal(len(service.there()), 1)


def a_claim_without_a_number_is_found_again(service):
    """The service dies when Slurm has the job and it does not know the number."""
    service.flag("lose")
    job = service.submit("sh", "-c", f"echo run >> {service.dir}/runs")["id"]
    until(service.there, "submission")
    service.kill()
    service.start()
    service.wait(job, "completed")
    equal(service.output("runs"), "run\n")
    equal(len(service.there()), 1)


def one_that_never_arrived_is_submitted_again(service):
    service.flag("away")
    job = service.submit("true")["id"]
    until(lambda: "executor" in service.said(), "trouble")
    service.kill()
    service.flag("away", False)
    service.start()
    service.wait(job, "completed")
    equal(len(service.there()), 1)


def nothing_is_lost_while_nobody_answers(service):
    job = service.submit("sleep", "1")["id"]
    service.wait(job, "running")
    service.flag("away")
    time.sleep(1.5)
    equal(service.job(job)["state"], "running")
    service.flag("away", False)
    service.wait(job, "completed")


def what_slurm_forgot_is_run_again(service):
    """Nobody knows how it ended, so it is as if its node had failed."""
    job = service.submit("sleep", "100")["id"]
    service.wait(job, "running")
    service.change("1", state="GONE")
    until(lambda: len(service.there()) == 2, "second attempt")
    service.wait(job, "running")
    assert service.there()["2"]["comment"].startswith(f"strata:{job}.2."), service.there()["2"]


def a_refusal_is_told(service):
    job = service.submit(script="#!/bin/sh\n# refuse me\n")["id"]
    service.wait(job, "failed")
    events = service.api("GET", "/events?format=json")["events"]
    assert any("not available" in str(event) for event in events), events


def one_that_is_cancelled_at_once(service):
    service.flag("away")
    job = service.submit("sleep", "100")["id"]
    service.ask("DELETE", f"/api/v1/jobs/{job}")
    service.flag("away", False)
    service.wait(job, "cancelled")
    assert not any(each["state"] in ("RUNNING", "COMPLETED") for each in service.there().values())


def freezing_and_letting_go(service):
    job = service.submit("sleep", "100")["id"]
    service.wait(job, "running")
    service.api("PATCH", f"/jobs/{job}", {"suspend": True})
    until(lambda: service.there()["1"]["state"] == "SUSPENDED", "suspension")
    service.api("PATCH", f"/jobs/{job}", {"suspend": False})
    until(lambda: service.there()["1"]["state"] == "RUNNING", "resumption")
    service.api("DELETE", f"/jobs/{job}", status=202)
    service.wait(job, "cancelled")
    equal(service.there()["1"]["state"], "CANCELLED")


if __name__ == "__main__":
    run_with(lambda test: OnFake(), an_answer_that_is_lost_is_no_second_start, a_claim_without_a_number_is_found_again,
             one_that_never_arrived_is_submitted_again, nothing_is_lost_while_nobody_answers, what_slurm_forgot_is_run_again,
             a_refusal_is_told, one_that_is_cancelled_at_once, freezing_and_letting_go)
