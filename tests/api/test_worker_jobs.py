#!/usr/bin/env python3
"""The jobs behind workers: started when tasks wait, ended when idle; one that cannot start is told of."""
import time

from fake_worker import Worker, fake_service, generate
from service import Service, arguments, equal, run_with


def make(test):
    return Service("--worker-program", "/bin/false") if test is a_worker_that_cannot_start_is_told_of else fake_service(test)


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
    equal(found["status"], "pending")


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


run_with(make, an_idle_worker_ends_and_comes_back, a_worker_that_cannot_start_is_told_of, a_worker_that_dies_is_started_again,
         a_worker_that_waits_for_its_place_is_told_of)
