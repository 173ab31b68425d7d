#!/usr/bin/env python3
"""Jobs say what they could go on from, by a rename or by asking; the next run finds it."""
import json
import os
import time

from service import Skip, arguments, as_nobody, equal, run

SAVES = ("echo 12345 > $STRATA_CHECKPOINT_DIR/c.tmp; mv $STRATA_CHECKPOINT_DIR/c.tmp $STRATA_CHECKPOINT_DIR/c; ")


def until(check, what):
    deadline = time.time() + 30
    while time.time() < deadline:
        found = check()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError("never: " + what)


def checkpoints(service, job):
    return service.api("GET", f"/jobs/{job}/checkpoints")["checkpoints"]


def record(service, job):
    with open(os.path.join(service.state, "checkpoints", f"{job}.json")) as file:
        return json.load(file)


def running(service, script="sleep 60", **fields):
    job = service.submit("sh", "-c", script, **fields)["id"]
    service.wait(job, "running")
    return job


def put(path, size=7):
    with open(path, "w") as file:
        file.write("x" * size)
    return path


def one_found_in_the_directory_has_its_real_size(service):
    job = running(service, SAVES + "sleep 60")
    found = until(lambda: checkpoints(service, job), "the checkpoint")[0]
    equal((found["size_bytes"], found["step"]), (6, None))
    said = record(service, job)
    equal((said["path"], said["size_bytes"], said["attempt"]), (found["path"], 6, 1))


def one_that_is_reported_is_known_recorded_and_found_by_the_next_run(service):
    job = running(service, "echo $SLURM_RESTART_COUNT $STRATA_CHECKPOINT; sleep 60")
    path = put(os.path.join(service.state, "checkpoints", str(job), "one"))
    made = service.api("POST", f"/jobs/{job}/checkpoints", {"path": path, "step": 40}, 201)
    equal((made["id"], made["attempt"], made["step"], made["size_bytes"]), (job, 1, 40, 7))
    found = checkpoints(service, job)
    equal([(one["path"], one["step"], one["size_bytes"]) for one in found], [(path, 40, 7)])
    said = record(service, job)
    equal((said["path"], said["step"], said["size_bytes"], said["attempt"]), (path, 40, 7, 1))
    service.api("PATCH", f"/jobs/{job}", {"requeue": True})
    until(lambda: f"1 {path}\n" in service.output(f"strata-{job}.out"), "the second run with it")
    equal(checkpoints(service, job)[0]["step"], 40)  # that the file was seen as well changes nothing


def the_step_that_was_reported_stays_in_the_record(service):
    """Reported at once, before the supervisor has looked: its look tells the same file again, without a step."""
    job = running(service, "sleep 600")
    path = put(os.path.join(service.state, "checkpoints", str(job), "seven"))
    service.api("POST", f"/jobs/{job}/checkpoints", {"path": path, "step": 7}, 201)
    until(lambda: len([1 for event in service.api("GET", "/events?format=json&limit=1000")["events"]
                       if event["kind"] == "job.checkpoint"]) > 1, "the look of the supervisor")
    equal((record(service, job)["step"], checkpoints(service, job)[0]["step"]), (7, 7))
    service.kill()
    service.start()
    equal([(one["path"], one["step"]) for one in checkpoints(service, job)], [(path, 7)])


def after_a_restart_the_oldest_is_still_deleted(service):
    job = running(service, "sleep 600")
    paths = [put(os.path.join(service.state, "checkpoints", str(job), name)) for name in "ab"]
    for step, path in enumerate(paths):
        service.api("POST", f"/jobs/{job}/checkpoints", {"path": path, "step": step}, 201)
    service.kill()
    service.start()
    equal([one["path"] for one in checkpoints(service, job)], paths[::-1])
    third = put(os.path.join(service.state, "checkpoints", str(job), "c"))
    service.api("POST", f"/jobs/{job}/checkpoints", {"path": third, "step": 9}, 201)
    until(lambda: not os.path.exists(paths[0]), "the oldest deleted")
    equal([one["path"] for one in checkpoints(service, job)], [third, paths[1]])


@arguments("--preempt", "least_lost:grace=2:protect=0")
def how_often_it_gave_way_outlasts_a_restart(service):
    low = running(service, "trap 'exit 0' TERM; sleep 600 & wait", nodes=3, exclusive=True, priority="low", preemptible=True)
    high = service.submit("sleep", "0.2", nodes=3, exclusive=True, priority="high")["id"]
    service.wait(high, "completed")
    service.wait(low, "running")
    equal(service.job(low)["preempted"], 1)
    for _ in range(2):
        service.kill()
        service.start()
        equal(service.wait(low, "running")["preempted"], 1)


@arguments("--listen", "127.0.0.1:0")
def a_job_does_it_with_its_own_token_and_nothing_else(service):
    job = running(service, "cat $STRATA_TOKEN_FILE > token.new; mv token.new token; echo 1 > $STRATA_CHECKPOINT_DIR/.x; sleep 60")
    other = running(service)
    token = until(lambda: os.path.exists(os.path.join(service.dir, "token")) and service.output("token"), "the token")
    report = {"path": put(os.path.join(service.dir, "own")), "step": 3}

    def ask(method, path, body=None, token=token):
        return service.ask(method, "/api/v1" + path, body, tcp=True, token=token)[0]

    equal(ask("POST", f"/jobs/{job}/checkpoints", report), 201)
    equal(checkpoints(service, job)[0]["step"], 3)
    equal(ask("GET", f"/jobs/{job}"), 200)
    equal(ask("POST", f"/jobs/{other}/checkpoints", report), 403)
    equal(ask("DELETE", f"/jobs/{other}"), 403)
    equal(ask("POST", "/jobs", {"command": ["true"], "working_dir": "/"}), 403)
    equal(ask("POST", "/tokens", {}), 403)
    equal(ask("GET", f"/jobs/{job}", token=token[:-1] + ("0" if token[-1] != "0" else "1")), 401)
    equal(ask("GET", f"/jobs/{job}", token=token.replace(f"_{job}.", f"_{other}.")), 401)
    service.kill()
    service.start()  # nothing is remembered of it but the key
    equal(ask("POST", f"/jobs/{job}/checkpoints", {**report, "step": 4}), 201)
    service.api("PATCH", f"/jobs/{job}", {"requeue": True})
    until(lambda: service.job(job)["attempt"] == 2, "the second run")
    service.wait(job, "running")
    equal(ask("POST", f"/jobs/{job}/checkpoints", {**report, "step": 5}), 401)  # of the first run
    second = until(lambda: service.output("token") != token and service.output("token"), "the second token")
    equal(ask("POST", f"/jobs/{job}/checkpoints", {**report, "step": 5}, token=second), 201)
    service.api("DELETE", f"/jobs/{job}", status=202)
    service.wait(job, "cancelled")
    equal(ask("POST", f"/jobs/{job}/checkpoints", report, token=second), 401)


def what_cannot_be_is_refused(service):
    job = running(service)
    elsewhere = put(os.path.join(service.dir, "elsewhere"))

    def refused(status, job=job, **report):
        answer = service.api("POST", f"/jobs/{job}/checkpoints", report, status)
        return answer["error"]["message"]

    assert "required" in refused(400, step=3) or "path" in refused(400, step=3)
    assert "absolute" in refused(400, path="elsewhere")
    assert "absolute" in refused(400, path=service.dir + "/x/../elsewhere")
    assert "cannot read" in refused(400, path=service.dir + "/nothing")
    refused(400, path=elsewhere, step=-2)
    refused(404, job=77777, path=elsewhere)
    equal(checkpoints(service, job), [])
    service.api("POST", f"/jobs/{job}/checkpoints", {"path": elsewhere, "step": 5, "size_bytes": 99}, 201)
    assert "step 4" in refused(400, path=elsewhere, step=4)
    equal(checkpoints(service, job)[0]["size_bytes"], 99)
    waiting = service.submit("true", hold=True)["id"]
    assert "expected one that has run" in refused(409, job=waiting, path=elsewhere)


def another_user_reports_neither_for_others_nor_what_they_cannot_read(service):
    if os.geteuid() != 0:
        raise Skip("another user is needed")
    job = running(service)
    readable, secret = put(os.path.join(service.dir, "readable")), put(os.path.join(service.dir, "secret"))
    os.chmod(secret, 0o640)  # for root's group, in which the other is not
    os.chmod(service.dir, 0o777)
    equal(as_nobody(service, "POST", f"/api/v1/jobs/{job}/checkpoints", {"path": readable})[0], 403)
    theirs = as_nobody(service, "POST", "/api/v1/jobs", {"command": ["sleep", "60"], "working_dir": service.dir})[1]["id"]
    service.wait(theirs, "running")
    status, answer = as_nobody(service, "POST", f"/api/v1/jobs/{theirs}/checkpoints", {"path": secret})
    equal(status, 400)
    assert "Permission denied" in answer["error"]["message"], answer
    equal(as_nobody(service, "POST", f"/api/v1/jobs/{theirs}/checkpoints", {"path": readable})[0], 201)


def forgetting_deletes_what_is_the_jobs_own_and_nothing_else(service):
    job = running(service)
    place = os.path.join(service.state, "checkpoints", str(job))
    outside = put(os.path.join(service.dir, "outside"))
    os.symlink(service.dir, os.path.join(place, "link"))
    os.mkdir(os.path.join(place, "own"))
    put(os.path.join(place, "own", "a"))
    for path in (outside, os.path.join(place, "link", "outside"), os.path.join(place, "own")):
        service.api("POST", f"/jobs/{job}/checkpoints", {"path": path}, 201)
    # two are kept: the oldest was condemned, and is not in the directory
    equal(len(checkpoints(service, job)), 2)
    service.api("DELETE", f"/jobs/{job}/checkpoints")
    until(lambda: not os.path.exists(os.path.join(place, "own")), "the job's own to be deleted")
    until(lambda: not os.path.exists(place + ".json"), "the record to be deleted")
    assert os.path.exists(outside)
    equal(checkpoints(service, job), [])


def a_directory_with_nothing_in_it_goes_with_the_job(service):
    job = service.submit("sh", "-c", "test -d $STRATA_CHECKPOINT_DIR")["id"]
    service.wait(job, "completed")
    assert not os.path.exists(os.path.join(service.state, "checkpoints", str(job)))


run(the_step_that_was_reported_stays_in_the_record, after_a_restart_the_oldest_is_still_deleted, how_often_it_gave_way_outlasts_a_restart,
    one_found_in_the_directory_has_its_real_size, one_that_is_reported_is_known_recorded_and_found_by_the_next_run,
    a_job_does_it_with_its_own_token_and_nothing_else, what_cannot_be_is_refused, another_user_reports_neither_for_others_nor_what_they_cannot_read,
    forgetting_deletes_what_is_the_jobs_own_and_nothing_else, a_directory_with_nothing_in_it_goes_with_the_job)
