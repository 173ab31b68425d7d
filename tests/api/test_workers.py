#!/usr/bin/env python3
"""Leases: lost ones give their tasks back, and a worker goes on with what it holds after a restart."""
import time

import postgres
from fake_worker import FAKE, Worker, fake_service, generate, png, raw
from service import Service, Skip, arguments, equal, run_with


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


@arguments("--worker-lease", "1s")
def one_that_hangs_makes_room_for_another(service):
    """Its job is ended: else a model that may have one worker would have none for ever."""
    generate(service)
    first = Worker(service)
    equal(len(first.pick(1000)["tasks"]), 1)
    second = Worker(service, but=[first.job])
    equal(service.wait(first.job, "cancelled")["state"], "cancelled")
    equal(second.work(), [1])
    equal(first.ask("POST", "/pick", {})[0] in (401, 403), True)


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


@arguments("--worker-lease", "1s")
def a_beat_keeps_the_lease_of_a_long_call(service):
    service.api("PUT", "/models/digits", {"workers_min": 2, "workers_max": 2, "batch": 1})
    first = Worker(service)
    second = Worker(service, but=[first.job])
    generate(service)
    answer = first.pick(1000)
    equal((len(answer["tasks"]), answer["lease_ms"]), (1, 1000))
    for _ in range(15):
        equal(first.ask("POST", "/beat", {"holding": [1], "holding_steps": [0]}), (200, {}))
        equal(second.pick(200)["tasks"], [])
    first.finish(png(1))
    equal((task(service, 1)["status"], task(service, 1)["attempts"]), ("finished", 1))
    generate(service)
    equal(len(second.pick(1000)["tasks"]), 1)
    equal(second.ask("POST", "/beat", {"holding": [17, 1]})[0], 200)  # of what it has not nothing comes
    equal(first.pick(0, [])["tasks"], [])


def a_beat_says_what_is_held_after_a_restart(service):
    service.api("PUT", "/models/digits", {"workers_min": 2, "workers_max": 2, "batch": 1})
    generate(service, steps=10)
    first = Worker(service)
    second = Worker(service, but=[first.job])
    first.pick(1000)
    first.report("steps", 4)
    service.kill()
    service.start()
    equal(second.pick(500)["tasks"], [])  # the first one may have it
    equal(first.ask("POST", "/beat", {"holding": [1], "holding_steps": [4]})[0], 200)
    equal(second.pick(500)["tasks"], [])
    found = task(service, 1)
    equal((found["status"], found["steps_done"], found["attempts"]), ("denoising", 4, 1))
    equal(first.report("steps", 3)[0], 200)
    first.finish(png(4))
    equal(task(service, 1)["status"], "finished")


@arguments("--worker-lease", "2s")
def who_does_not_say_what_it_holds_is_waited_for_a_while(service):
    service.api("PUT", "/models/digits", {"workers_min": 2, "workers_max": 2, "batch": 1})
    generate(service, steps=10)
    first = Worker(service)
    second = Worker(service, but=[first.job])
    first.pick(1000)
    service.kill()
    service.start()
    deadline = time.time() + 30
    while not second.pick(1000)["tasks"]:
        assert time.time() < deadline
    equal(first.ask("POST", "/beat", {"holding": [1], "holding_steps": [4]})[0], 200)  # too late
    equal(first.pick(0, [1])["drop"], [1])
    second.finish(png(4))


def a_store_that_is_away_makes_no_token_wrong(service):
    generate(service)
    worker = Worker(service)
    equal(len(worker.pick(1000)["tasks"]), 1)
    service.database.stop()
    deadline = time.time() + 30
    while (answer := worker.ask("POST", "/beat", {}))[0] == 200:  # until somebody notices
        assert time.time() < deadline
    equal((answer[0], answer[1]["error"]["code"]), (503, "unavailable"))
    time.sleep(1.5)  # longer than a lease
    equal(worker.ask("POST", "/beat", {})[0], 503)
    service.database.start()
    while worker.ask("POST", "/beat", {})[0] != 200:
        assert time.time() < deadline
        time.sleep(0.02)
    worker.finish(png(1))  # what it has computed is not lost
    equal(task(service, 1)["status"], "finished")


def asking_costs_little_and_who_waits_joins_soon(service):
    service.api("PUT", "/models/digits", {"batch": 2})
    generate(service, steps=1000)
    worker = Worker(service)
    equal(worker.pick(1000)["steps"], 1)  # nothing is known of a step yet

    def next_steps(ask_ns, cost_ns=2000000):
        equal(worker.report("steps", 1, cost_ns=cost_ns)[0], 200)
        return worker.pick(ask_ns=ask_ns)["steps"]
    equal(next_steps(1000000), 125)  # nobody waits: 250 ms
    equal(next_steps(10000000), 250)  # that is 2 % of it
    generate(service, "another shape", steps=5, n=2)  # it waits, and there is room
    equal(next_steps(1000000), 25)
    equal(next_steps(10000), 1)
    generate(service, "the same shape", steps=50)
    equal((next_steps(1000000), len(worker.held)), (50, 2))  # together 4 ms; the second has 50 left
    equal(next_steps(1, 100000000000), 1)


def batches_are_as_large_as_workers_found_to_pay(service):
    for _ in range(6):
        generate(service, steps=10)
    generate(service, steps=10, n=2)  # of another shape
    worker = Worker(service)
    equal(len(worker.pick(1000)["tasks"]), 4)
    equal(worker.report("back", 0, cap=2)[0], 200)
    equal(len(worker.pick(1000)["tasks"]), 2)
    generate(service, steps=10)  # what was learned stays
    equal(worker.report("back", 0, cap=2)[0], 200)
    equal(len(worker.pick(1000)["tasks"]), 2)
    equal(worker.report("back", 0, cap=33)[0], 400)
    equal(worker.report("back", 0, cap=32)[0], 200)
    equal(len(worker.pick(1000)["tasks"]), 4)  # never more than the model's batch
    equal(worker.report("back", 0, cap=1)[0], 200)
    equal(len(worker.pick(1000)["tasks"]), 1)
    equal(worker.report("back", 0)[0], 200)  # it is to be learned anew
    equal(len(worker.pick(1000)["tasks"]), 4)


def the_next_worker_knows_what_pays(service):
    for _ in range(4):
        generate(service, steps=10)
    first = Worker(service)
    equal(len(first.pick(1000)["tasks"]), 4)
    equal(first.report("back", 0, cap=3)[0], 200)
    service.api("POST", "/models/digits/pause", {})  # which writes its row
    service.api("POST", "/models/digits/resume", {})
    service.api("DELETE", f"/jobs/{first.job}", status=202)
    second = Worker(service, but=[first.job])
    equal(len(second.pick(1000)["tasks"]), 3)
    equal(second.report("back", 0)[0], 200)  # it has not found anything yet
    equal(len(second.pick(1000, [])["tasks"]), 3)
    service.kill()
    service.start()
    equal(len(second.pick(1000, [])["tasks"]), 3)


def make(test):
    if test is not a_store_that_is_away_makes_no_token_wrong:
        return fake_service(test)
    if not postgres.possible():
        raise Skip("there is no PostgreSQL")
    database = postgres.Postgres()
    service = Service(*FAKE, "--worker-lease", "1s", store=database.address())
    service.database = database
    return service


run_with(make, batches_are_as_large_as_workers_found_to_pay, the_next_worker_knows_what_pays,
         asking_costs_little_and_who_waits_joins_soon, a_store_that_is_away_makes_no_token_wrong,
         a_beat_keeps_the_lease_of_a_long_call, a_beat_says_what_is_held_after_a_restart,
         who_does_not_say_what_it_holds_is_waited_for_a_while, a_lost_lease_gives_the_task_back,
         one_that_hangs_makes_room_for_another, a_worker_goes_on_after_a_restart, a_batch_that_was_not_heard_of_comes_again)
