#!/usr/bin/env python3
"""The jobs behind workers: started when tasks wait, ended when idle; one that cannot start is told of."""
import os
import time

from fake_worker import PROGRAM, Worker, fake_service, generate
from service import Service, arguments, equal, run_with


def make(test):
    if test is a_worker_that_cannot_start_is_told_of:
        return Service("--worker-program", "/bin/false")
    if test is a_worker_that_cannot_reach_the_service_is_told_of:
        return Service("--worker-program", unreachable())
    if test is a_worker_without_enough_memory_is_told_of:
        return Service("--worker-program", hungry())
    return fake_service(test)


def unreachable():
    """A worker that ends as `strata worker` does when it is not let in."""
    with open(PROGRAM + "-4", "w") as file:
        file.write("#!/bin/sh\nexit 4\n")
    os.chmod(PROGRAM + "-4", 0o755)
    return PROGRAM + "-4"


def hungry():
    """A worker whose model does not fit."""
    with open(PROGRAM + "-hungry", "w") as file:
        file.write("#!/usr/bin/python3\nimport time\nheld = bytearray(200 << 20)\ntime.sleep(60)\n")
    os.chmod(PROGRAM + "-hungry", 0o755)
    return PROGRAM + "-hungry"


def task(service, number):
    return service.api("GET", f"/tasks/{number}")


@arguments("--worker-idle", "1s")
def an_idle_worker_ends_and_comes_back(service):
    generate(service)
    worker = Worker(service)
    worker.work()
    deadline = time.time() + 30
    while not worker.pick(300)["stop"]:
        assert time.time() < deadline
    service.api("DELETE", f"/jobs/{worker.job}", None, 202)  # which is how this one ends
    service.wait(worker.job, "cancelled")
    generate(service)
    assert Worker(service).job != worker.job


def a_worker_that_cannot_start_is_told_of(service):
    generate(service)
    deadline = time.time() + 30
    while not (found := task(service, 1))["error"]:
        assert time.time() < deadline
        time.sleep(0.05)
    assert found["error"].startswith("no worker: job "), found
    equal(service.api("GET", "/tasks/1/why")["trouble"], found["error"])
    problem = next(one for one in service.api("GET", "/problems")["problems"] if one["kind"] == "worker")
    equal((problem["grave"], problem["title"], problem["action"]["command"]), (True, "digits draws nothing", "strata models show digits"))
    assert problem["text"].endswith("1 picture waits for it."), problem
    equal(found["status"], "pending")


def a_worker_without_enough_memory_is_told_of(service):
    service.api("PUT", "/models/digits", {"memory": "64M"})
    generate(service)
    deadline = time.time() + 30
    while not (found := task(service, 1))["error"]:
        assert time.time() < deadline
        time.sleep(0.05)
    assert "needed more memory than the 64 MiB that the model has; give it more (`strata models add --memory`)" in found["error"], found


def a_worker_that_waits_for_its_place_is_told_of(service):
    service.api("PUT", "/models/big", {"folder": "/models/big", "gpus": 4}, 201)
    filler = [service.submit("sleep", "600", output="/dev/null", gpus=4)["id"] for _ in range(3)]
    for job in filler:
        service.wait(job, "running")
    generate(service, model="big")
    deadline = time.time() + 30
    while not (why := service.api("GET", "/tasks/1/why"))["worker_jobs"]:
        assert time.time() < deadline
    equal(service.job(why["worker_jobs"][0])["state"], "queued")
    assert f"job {why['worker_jobs'][0]}, has not asked" in why["trouble"], why
    for job in filler:
        service.ask("DELETE", f"/api/v1/jobs/{job}")


def a_worker_that_dies_is_started_again(service):
    generate(service)
    worker = Worker(service)
    worker.pick(1000)
    service.api("DELETE", f"/jobs/{worker.job}", None, 202)
    service.wait(worker.job, "cancelled")
    other = Worker(service, but=[worker.job])
    equal(worker.ask("POST", "/pick", {})[0], 401)
    equal(other.work(), [1])
    equal(task(service, 1)["attempts"], 2)
    equal(service.api("GET", "/models/digits")["workers"], 1)  # never more than allowed


def jobs_of(service):
    return [job for job in service.api("GET", "/queue")["jobs"] if job["name"] == "worker-digits"]


def until(what):
    deadline = time.time() + 30
    while not what():
        assert time.time() < deadline
        time.sleep(0.05)


def workers_are_kept_warm_and_let_go(service):
    service.api("PUT", "/models/digits", {"workers_max": 2})
    status, answer = service.ask("POST", "/api/v1/models/digits/warm", {"workers": 3})
    equal((status, answer["error"]["message"]), (400, "workers is 3; model digits may have up to 2 (workers_max)"))
    equal(service.api("POST", "/models/digits/warm", {"workers": 2})["warm"], 2)
    until(lambda: len(jobs_of(service)) == 2)
    service.kill()
    service.start()
    equal(service.api("GET", "/models/digits")["warm"], 2)
    first = Worker(service)
    second = Worker(service, but=[first.job])
    for worker in (first, second):
        equal(worker.pick(0)["stop"], False)
    service.api("POST", "/models/digits/warm", {"workers": 0})
    for worker in (first, second):
        equal(worker.pick(1000)["stop"], True)


@arguments("--worker-wait-target", "10s")
def a_line_that_takes_long_gets_more_workers(service):
    service.api("PUT", "/models/digits", {"workers_max": 3, "batch": 1})
    generate(service, steps=20)  # nobody knows yet what a step takes: 2 s of 0.1 s each
    worker = Worker(service)
    worker.pick(1000)
    rows = [{"id": 1, "kind": "steps", "steps": 10, "cost_ns": 10 * 10**9}]  # one second each
    equal(worker.ask("POST", "/done", {"rows": rows})[0], 200)
    worker.finish()
    generate(service, steps=5)
    time.sleep(0.5)
    equal(len(jobs_of(service)), 1)  # five seconds are not long
    for _ in range(2):
        generate(service, steps=5)
    until(lambda: len(jobs_of(service)) == 2)
    for _ in range(20):
        generate(service, steps=5)
    until(lambda: len(jobs_of(service)) == 3)
    time.sleep(0.5)
    equal(len(jobs_of(service)), 3)  # never more than allowed


def a_worker_that_cannot_reach_the_service_is_told_of(service):
    generate(service)
    until(lambda: task(service, 1)["error"])
    told = task(service, 1)["error"]
    assert "cannot reach the service at " + service.socket in told and "set worker_user" in told, told


run_with(make, an_idle_worker_ends_and_comes_back, a_worker_that_cannot_start_is_told_of, a_worker_without_enough_memory_is_told_of, a_worker_that_dies_is_started_again,
         a_worker_that_waits_for_its_place_is_told_of, workers_are_kept_warm_and_let_go, a_line_that_takes_long_gets_more_workers,
         a_worker_that_cannot_reach_the_service_is_told_of)
