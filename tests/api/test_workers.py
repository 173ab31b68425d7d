#!/usr/bin/env python3
"""Leases: lost ones give their tasks back, and a worker goes on with what it holds after a restart."""
import time

from fake_worker import Worker, fake_service, generate, png, raw
from service import arguments, equal, run_with


def task(service, number):
    return service.api("GET", f"/tasks/{number}")


def statuses(service):
    return {one["id"]: one["status"] for one in service.api("GET", "/tasks")["tasks"]}


@arguments("--worker-lease", "1s")
def a_lost_lease_gives_the_task_back(service):
    service.api("PUT", "/models/digits", {"workers_min": 2, "workers_max": 2, "batch": 1})
    first = Worker(service)
    second = Worker(service, but=[first.job])
    generate(service)
    equal(len(first.pick(1000)["tasks"]), 1)
    equal(second.pick()["tasks"], [])
    deadline = time.time() + 30
    while not second.pick(200)["tasks"]:
        assert time.time() < deadline
    equal(first.report("finished", images=[first.send(png(1))])[0], 409)
    equal(task(service, 1)["attempts"], 2)
    second.finish(png(2))
    equal(raw(service, "/tasks/1/image")[2], png(2))


def a_worker_goes_on_after_a_restart(service):
    for number in range(2):
        generate(service, f"number {number}", steps=10)
    worker = Worker(service)
    equal(len(worker.pick(1000)["tasks"]), 2)
    worker.report("steps", 4)
    service.kill()
    service.start()
    equal(statuses(service), {1: "pending", 2: "pending"})
    answer = worker.pick(0, [1, 2], holding_steps=[4, 3])
    equal(sorted((one["id"], one["steps_done"]) for one in answer["tasks"]), [(1, 4), (2, 3)])
    service.kill()
    service.start()
    worker.finish(png(5))  # it was not asked again in between
    equal(statuses(service), {1: "finished", 2: "finished"})
    equal(worker.pick(0, [1, 2])["drop"], [1, 2])


def a_batch_that_was_not_heard_of_comes_again(service):
    generate(service)
    generate(service, "another")
    worker = Worker(service)
    equal(len(worker.pick(1000)["tasks"]), 2)
    equal(len(worker.pick(1000, [])["tasks"]), 2)  # as one that has begun anew
    equal(task(service, 1)["attempts"], 2)
    worker.report("back")
    equal(statuses(service), {1: "pending", 2: "pending"})
    equal(len(worker.pick(1000, [])["tasks"]), 2)
    equal(worker.report("failed", error="no memory")[0], 200)
    equal((task(service, 1)["status"], task(service, 2)["error"]), ("failed", "no memory"))
    equal(worker.ask("POST", "/done", {"rows": [{"id": 1}]})[0], 409)


run_with(fake_service, a_lost_lease_gives_the_task_back, a_worker_goes_on_after_a_restart, a_batch_that_was_not_heard_of_comes_again)
