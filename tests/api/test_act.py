#!/usr/bin/env python3
"""Decisions become processes, and what processes do becomes known."""
import os
import time

from service import arguments, equal, run

CATCHES = "trap 'echo saved > $STRATA_CHECKPOINT_DIR/c.tmp; mv $STRATA_CHECKPOINT_DIR/c.tmp $STRATA_CHECKPOINT_DIR/c' USR1; "


def the_place_is_in_the_environment(service):
    made = service.submit("sh", "-c", "echo $CUDA_VISIBLE_DEVICES $SLURM_JOB_NODELIST $SLURM_NTASKS $STRATA_ATTEMPT",
                          nodes=2, gpus=4)
    service.wait(made["id"], "completed")
    equal(service.output(f"strata-{made['id']}.out"), "0,1 n[1-2] 2 1\n")


@arguments("--preempt", "least_lost:grace=5:protect=0")
def the_urgent_go_first_and_the_others_come_back(service):
    low = service.submit("sh", "-c", "echo run $SLURM_RESTART_COUNT; sleep 60 & wait", exclusive=True, nodes=3,
                         priority="low", preemptible=True)["id"]
    service.wait(low, "running")
    high = service.submit("true", gpus_per_node=4, nodes=3, priority="high")["id"]
    service.wait(high, "completed")
    job = service.wait(low, "running")
    deadline = time.time() + 30
    while job["attempt"] < 2 and time.time() < deadline:
        job = service.wait(low, "running")
    equal((job["attempt"], job["preempted"]), (2, 1))
    deadline = time.time() + 30
    while "run 1" not in service.output(f"strata-{low}.out") and time.time() < deadline:
        time.sleep(0.05)
    assert "run 1" in service.output(f"strata-{low}.out")


def a_running_job_can_be_cancelled_requeued_and_frozen(service):
    job = service.submit("sleep", "60")["id"]
    service.wait(job, "running")
    equal(service.api("PATCH", f"/jobs/{job}", {"requeue": True})["id"], job)
    deadline = time.time() + 30
    while service.job(job)["attempt"] < 2 and time.time() < deadline:
        time.sleep(0.02)
    service.wait(job, "running")
    service.api("PATCH", f"/jobs/{job}", {"suspend": True})
    service.wait(job, "preempted")
    equal(service.api("DELETE", f"/jobs/{job}", status=202)["stopping"], True)
    equal(service.wait(job, "cancelled")["attempt"], 2)


def time_limits_hold(service):
    job = service.submit("sleep", "60", time_limit=1)["id"]
    ended = service.wait(job, "failed")
    equal(ended["reason"], "time_limit")


def a_program_that_is_not_there_says_so(service):
    job = service.submit("no-such-program")["id"]
    service.wait(job, "failed")
    events = [e for e in service.api("GET", "/events?format=json&limit=1000")["events"] if e["job"] == job]
    assert any("no-such-program" in str(e["about"]) for e in events), events


def checkpoints_are_asked_for_and_known(service):
    job = service.submit("sh", "-c", CATCHES + "for i in 1 2 3 4 5 6 7 8 9; do sleep 1 & wait; done", checkpoint=1)["id"]
    deadline = time.time() + 30
    while time.time() < deadline:
        found = service.api("GET", f"/jobs/{job}/checkpoints")["checkpoints"]
        if found:
            break
        time.sleep(0.1)
    assert found and found[0]["path"].startswith(os.path.join(service.state, "checkpoints")), found


@arguments("--grace", "1s")
def the_grace_holds_for_a_cancel(service):
    job = service.submit("sh", "-c", "trap '' TERM; while :; do sleep 0.1; done")["id"]
    service.wait(job, "running")
    service.api("DELETE", f"/jobs/{job}", status=202)
    equal(service.wait(job, "cancelled", timeout=30)["exit_signal"], 9)


run(the_grace_holds_for_a_cancel, the_place_is_in_the_environment, the_urgent_go_first_and_the_others_come_back,
    a_running_job_can_be_cancelled_requeued_and_frozen, time_limits_hold, a_program_that_is_not_there_says_so,
    checkpoints_are_asked_for_and_known)
