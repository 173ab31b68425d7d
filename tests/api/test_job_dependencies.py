#!/usr/bin/env python3
"""Dependencies mean the same whether the other job ended a moment ago, before a restart, or has been forgotten by the scheduler."""
import os

from service import Skip, as_nobody, equal, run


def restart(service):
    service.kill()
    service.start()


def on_jobs_that_ended_before_a_restart(service):
    good, bad = service.submit("true")["id"], service.submit("false")["id"]
    service.wait(good, "completed")
    service.wait(bad, "failed")
    restart(service)
    for kind, other, state, reason in (("afterok", good, "completed", "none"), ("afterany", bad, "completed", "none"),
                                       ("after", bad, "completed", "none"), ("afternotok", bad, "completed", "none"),
                                       ("afterok", bad, "queued", "dependency_never"),
                                       ("afternotok", good, "queued", "dependency_never")):
        job = service.wait(service.submit("true", dependencies=f"{kind}:{other}")["id"], state)
        equal((kind, job["reason"]), (kind, reason))
    job = service.submit("true", dependencies=f"afterok:{bad}", cancel_if_never=True)["id"]
    service.wait(job, "cancelled")
    job = service.submit("true", dependencies=f"afterok:{bad}?afterok:{good}")["id"]
    service.wait(job, "completed")


def who_waits_in_vain_waits_on_after_a_restart(service):
    bad = service.submit("false")["id"]
    service.wait(bad, "failed")
    never = service.submit("true", dependencies=f"afterok:{bad}")["id"]
    equal(service.job(never)["reason"], "dependency_never")
    restart(service)
    equal((service.job(never)["state"], service.job(never)["reason"]), ("queued", "dependency_never"))
    why = service.api("GET", f"/jobs/{never}/why")
    assert str(bad) in str(why), why


def on_arrays_of_which_some_have_ended(service):
    made = service.submit("sh", "-c", "[ $SLURM_ARRAY_TASK_ID != 5 ] || exit 1; [ $SLURM_ARRAY_TASK_ID != 7 ] || sleep 3",
                          array="5,6,7")
    service.wait(made["ids"][0], "failed")
    service.wait(made["ids"][1], "completed")
    restart(service)
    array = made["array_id"]
    whole = {kind: service.submit("true", dependencies=f"{kind}:{array}")["id"] for kind in ("afterok", "afternotok", "afterany")}
    one = {index: service.submit("true", dependencies=f"afterok:{array}_{index}")["id"] for index in (5, 6, 7)}
    equal(service.job(whole["afterok"])["reason"], "dependency_never")
    equal(service.job(one[5])["reason"], "dependency_never")
    service.wait(one[6], "completed")
    for job in (whole["afternotok"], whole["afterany"], one[7]):
        service.wait(job, "completed")
    restart(service)
    equal(service.job(whole["afterok"])["reason"], "dependency_never")
    equal(service.job(service.submit("true", dependencies=f"afterok:{array}")["id"])["reason"], "dependency_never")
    service.wait(service.submit("true", dependencies=f"afternotok:{array}")["id"], "completed")


def on_what_there_is_not(service):
    made = service.submit("true", array="1-2", hold=True)
    for text in ("afterok:999", f"afterok:{made['array_id']}_3", f"afterok:{made['ids'][1] + 1}"):
        error = service.submit("true", dependencies=text, status=404)["error"]
        equal(error["field"], "dependencies")
        assert "which does not exist" in error["message"], error
    equal(len(service.api("GET", "/queue")["jobs"]), 2)


def on_jobs_of_others_is_allowed(service):
    if os.geteuid() != 0:
        raise Skip("another user is needed")
    os.chmod(service.dir, 0o777)
    mine = service.submit("sleep", "0.3")["id"]
    status, made = as_nobody(service, "POST", "/api/v1/jobs",
                             {"command": ["true"], "working_dir": service.dir, "dependencies": f"afterok:{mine}"})
    equal(status, 201)
    service.wait(made["id"], "completed")


def after_its_start_holds_although_the_other_is_queued_again(service):
    first = service.submit("sleep", "600")["id"]
    service.wait(first, "running")
    service.api("PATCH", f"/jobs/{first}", {"requeue": True, "hold": True})
    service.wait(first, "queued")
    held = service.submit("true", dependencies=f"after:{first}", hold=True)["id"]
    restart(service)
    service.api("PATCH", f"/jobs/{held}", {"hold": False})
    service.wait(held, "completed")


def each_element_waits_for_its_partner_after_a_restart_too(service):
    first = service.submit("true", array="1-3", hold=True)["ids"]
    second = service.submit("true", array="1-3", hold=True, dependencies=f"aftercorr:{first[0]}")["ids"]
    service.api("PATCH", f"/jobs/{first[0]}", {"hold": False})
    service.wait(first[0], "completed")
    restart(service)
    for job in second:
        service.api("PATCH", f"/jobs/{job}", {"hold": False})
    service.wait(second[0], "completed")
    equal([service.job(job)["reason"] for job in second[1:]], ["dependency"] * 2)
    service.api("PATCH", f"/jobs/{first[2]}", {"hold": False})
    service.wait(second[2], "completed")
    equal(service.job(second[1])["reason"], "dependency")


run(each_element_waits_for_its_partner_after_a_restart_too, on_jobs_that_ended_before_a_restart, who_waits_in_vain_waits_on_after_a_restart, on_arrays_of_which_some_have_ended,
    on_what_there_is_not, on_jobs_of_others_is_allowed, after_its_start_holds_although_the_other_is_queued_again)
