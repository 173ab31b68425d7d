#!/usr/bin/env python3
"""requeue: false means what it says: such a job never runs a second time unless its owner asks for that."""
import os
import signal
import time

from service import Skip, arguments, as_nobody, equal, run


def marking(service, **fields):
    """A job that leaves a line for each time it runs."""
    path = os.path.join(service.dir, "ran")
    return service.submit("sh", "-c", f"echo ran >> {path}; sleep 600", **fields)["id"]


def runs(service):
    with open(os.path.join(service.dir, "ran")) as file:
        return len(file.readlines())


def supervisor_of(service, job):
    """The process that looks after a job: the parent of its first one."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                environment = file.read()
            if f"STRATA_JOB_ID={job}\0".encode() not in environment or service.state.encode() not in environment:
                continue
            with open(f"/proc/{pid}/stat") as file:
                return int(file.read().rsplit(")", 1)[1].split()[1])
        except (OSError, ValueError):
            pass
    raise AssertionError(f"job {job} has no process")


def a_job_whose_supervisor_dies_runs_again_only_if_it_may(service):
    once = marking(service, requeue=False)
    service.wait(once, "running")
    while not os.path.exists(os.path.join(service.dir, "ran")) or not runs(service):
        time.sleep(0.02)
    os.kill(supervisor_of(service, once), signal.SIGKILL)
    job = service.wait(once, "failed")
    equal((job["reason"], job["attempt"], job["exit_code"]), ("node_failure", 1, None))
    time.sleep(0.5)
    equal((service.job(once)["state"], runs(service)), ("failed", 1))


def nor_after_a_restart_of_everything(service):
    once, again = marking(service, requeue=False), service.submit("sleep", "600")["id"]
    service.wait(once, "running")
    service.wait(again, "running")
    while not os.path.exists(os.path.join(service.dir, "ran")) or not runs(service):
        time.sleep(0.02)
    supervisors = [supervisor_of(service, once), supervisor_of(service, again)]
    service.kill()
    for pid in supervisors:
        os.kill(pid, signal.SIGKILL)
    service.start()
    equal(service.wait(once, "failed")["reason"], "node_failure")
    while service.job(again)["attempt"] < 2:
        time.sleep(0.02)
    equal(runs(service), 1)


@arguments("--preempt", "least_lost:grace=2:protect=0")
def nor_when_it_has_to_give_way(service):
    once = marking(service, requeue=False, nodes=3, exclusive=True, priority="low", preemptible=True)
    service.wait(once, "running")
    high = service.submit("sleep", "1", nodes=3, exclusive=True, priority="high")["id"]
    equal(service.wait(once, "cancelled")["reason"], "preempted")
    service.wait(high, "completed")
    equal(runs(service), 1)


def its_owner_may_ask_for_it_and_nobody_else(service):
    if os.geteuid() != 0:
        raise Skip("another user is needed")
    os.chmod(service.dir, 0o777)
    status, made = as_nobody(service, "POST", "/api/v1/jobs", {"command": ["sleep", "600"], "working_dir": service.dir, "requeue": False})
    equal(status, 201)
    service.wait(made["id"], "running")
    error = service.api("PATCH", f"/jobs/{made['id']}", {"requeue": True, "hold": True}, 403)["error"]
    assert error["field"] == "requeue" and "only nobody may" in error["message"], error
    equal(service.job(made["id"])["state"], "running")
    status, _ = as_nobody(service, "PATCH", f"/api/v1/jobs/{made['id']}", {"requeue": True})
    equal(status, 200)
    while service.job(made["id"])["attempt"] < 2:
        time.sleep(0.02)


def what_an_operator_held_its_owner_does_not_release(service):
    if os.geteuid() != 0:
        raise Skip("another user is needed")
    body = {"command": ["true"], "working_dir": "/", "output": "/dev/null", "hold": True}
    own, held = (as_nobody(service, "POST", "/api/v1/jobs", body)[1]["id"] for _ in range(2))
    service.api("PATCH", f"/jobs/{held}", {"hold": False})
    later = as_nobody(service, "POST", "/api/v1/jobs", {**body, "begin": "now+1hour", "hold": False})[1]["id"]
    service.api("PATCH", f"/jobs/{later}", {"hold": True})
    status, answer = as_nobody(service, "PATCH", f"/api/v1/jobs/{later}", {"hold": False})
    equal((status, answer["error"]["field"]), (403, "hold"))
    equal(service.job(later)["reason"], "held")
    equal(as_nobody(service, "PATCH", f"/api/v1/jobs/{own}", {"hold": False})[0], 200)
    service.api("PATCH", f"/jobs/{later}", {"hold": False})


run(a_job_whose_supervisor_dies_runs_again_only_if_it_may, nor_after_a_restart_of_everything, nor_when_it_has_to_give_way,
    its_owner_may_ask_for_it_and_nobody_else, what_an_operator_held_its_owner_does_not_release)
