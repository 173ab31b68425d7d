#!/usr/bin/env python3
"""Generation tasks: durable, fair, in order, cancelled one by one, finished once; with a worker that speaks the protocol and computes nothing."""
import os
import time

import postgres
from fake_worker import FAKE, Worker, fake_service, generate, png, raw
from service import NOBODY, Service, Skip, arguments, as_nobody, equal, run_with


def make(test):
    if test.__name__.endswith("_postgres"):
        if not postgres.possible():
            raise Skip("there is no PostgreSQL here")
        return Service(*FAKE, store=postgres.Postgres().address())
    return fake_service(test)


def task(service, number):
    return service.api("GET", f"/tasks/{number}")


def statuses(service):
    return {one["id"]: one["status"] for one in service.api("GET", "/tasks")["tasks"]}


def need_root():
    if os.geteuid() != 0:
        raise Skip("it takes root to be somebody else")


def a_picture_has_its_etag_and_can_be_removed(service):
    generate(service)
    generate(service, "another")
    worker = Worker(service)
    worker.pick(1000)
    worker.finish(png(9))
    (image,) = task(service, 1)["images"]
    status, headers, body = raw(service, "/tasks/1/image")
    equal((status, headers["Content-Type"], headers["ETag"], body), (200, "image/png", f'"{image["hash"]}"', png(9)))
    equal(raw(service, "/tasks/1/image/0")[2], png(9))
    equal(raw(service, "/tasks/1/image/1")[0], 404)
    equal(raw(service, "/tasks/1/image", {"If-None-Match": headers["ETag"]})[0], 304)
    service.kill()
    service.start()
    equal(raw(service, "/tasks/1/image")[2], png(9))
    file = os.path.join(service.state, "results", image["hash"])
    equal(os.stat(file).st_mode & 0o777, 0o600)
    service.api("DELETE", "/tasks/1/image")  # task 2 has the same picture
    equal((raw(service, "/tasks/1/image")[0], task(service, 1)["images"], os.path.exists(file)), (410, [], True))
    service.api("DELETE", "/tasks/2/image")
    deadline = time.time() + 10
    while os.path.exists(file):
        assert time.time() < deadline
        time.sleep(0.02)


def one_of_many_is_cancelled(service):
    for number in range(4):
        generate(service, f"number {number}")
    worker = Worker(service)
    equal(len(worker.pick(1000)["tasks"]), 4)
    gone = service.api("DELETE", "/tasks/2")
    equal((gone["status"], gone["cancelled_by"]), ("cancelled", gone["user"]))
    equal(service.ask("DELETE", "/api/v1/tasks/2")[0], 409)
    equal(service.ask("DELETE", "/api/v1/tasks/99")[0], 404)
    equal(worker.report()[0], 200)  # it has not heard of it
    answer = worker.pick()
    equal((sorted(one["id"] for one in answer["tasks"]), answer["drop"]), ([1, 3, 4], [2]))
    worker.finish()
    equal(statuses(service), {1: "finished", 2: "cancelled", 3: "finished", 4: "finished"})


def a_higher_priority_goes_first(service):
    service.api("PUT", "/models/digits", {"batch": 1})
    for number in range(3):
        generate(service, f"number {number}")
    equal(service.api("PATCH", "/tasks/3", {"priority": 9})["priority"], 9)
    service.kill()
    service.start()
    equal(task(service, 3)["position"], 1)
    equal(Worker(service).work(3), [3, 1, 2])
    equal(service.ask("PATCH", "/api/v1/tasks/1", {"priority": 9})[0], 409)
    equal(service.ask("PATCH", "/api/v1/tasks/1", {"priority": 11})[0], 400)


def two_users_take_turns(service):
    need_root()
    service.api("PUT", "/models/digits", {"batch": 1})
    for number in range(4):
        generate(service, f"number {number}")
    for number in range(4):
        equal(as_nobody(service, "POST", "/api/v1/generate", {"prompt": f"theirs {number}"})[0], 201)
    worker = Worker(service)
    owners = [task(service, number)["user"] for number in worker.work(8)]
    for pair in range(0, 8, 2):
        equal(set(owners[pair:pair + 2]), {"root", NOBODY})


def nothing_is_lost_nor_finished_twice(service):
    """The service is killed after every step of a task's life."""
    acknowledged, finished = [], {}

    def again():
        service.kill()
        service.start()

    for number in range(3):
        acknowledged.append(generate(service, f"number {number}", headers={"Idempotency-Key": f"k{number}"})["id"])
        again()
        equal(generate(service, f"number {number}", 200, {"Idempotency-Key": f"k{number}"})["id"], acknowledged[-1])
    equal([task(service, number)["position"] for number in acknowledged], [1, 2, 3])
    service.api("DELETE", f"/tasks/{acknowledged[1]}")
    again()
    worker = Worker(service)
    while len(finished) < 2:
        tasks = [one["id"] for one in worker.pick(1000)["tasks"]]
        assert acknowledged[1] not in tasks and not set(tasks) & set(finished), (tasks, finished)
        again()
        worker.report("steps", 1)
        again()
        sent = worker.send(png(len(finished)))
        again()
        rows = [{"id": one, "kind": "finished", "images": [sent]} for one in tasks]
        equal(worker.ask("POST", "/done", {"rows": rows})[0], 200)
        again()
        equal(worker.ask("POST", "/done", {"rows": rows})[0], 409)  # once
        for one in tasks:
            finished[one] = task(service, one)["images"]
        worker.held = {}
    equal(statuses(service), {1: "finished", 2: "cancelled", 3: "finished"})
    for one in finished:
        equal(raw(service, f"/tasks/{one}/image")[0], 200)


def lists_have_pages_and_filters(service):
    for number in range(5):
        generate(service, f"number {number}")
    service.api("DELETE", "/tasks/2")
    worker = Worker(service)
    equal(len(worker.pick(1000)["tasks"]), 4)
    worker.report()
    page = service.api("GET", "/tasks?limit=2")
    equal(([one["id"] for one in page["tasks"]], page["next"]), ([5, 4], 4))
    page = service.api("GET", "/tasks?limit=3&after=4")
    equal(([one["id"] for one in page["tasks"]], page["next"]), ([3, 2, 1], 1))
    equal([one["id"] for one in service.api("GET", "/tasks?status=denoising")["tasks"]], [5, 4, 3, 1])
    equal([one["id"] for one in service.api("GET", "/tasks?status=cancelled,finished")["tasks"]], [2])
    equal(service.api("GET", "/tasks?status=pending")["tasks"], [])
    equal(service.api("GET", "/tasks?user=nosuch")["tasks"], [])
    equal(service.api("GET", "/tasks?model=nosuch")["tasks"], [])
    equal(service.ask("GET", "/api/v1/tasks?limit=1001")[0], 400)


def what_it_cost_goes_to_the_fair_share(service):
    service.api("PUT", "/models/big", {"folder": "/models/big", "gpus": 2}, 201)
    generate(service, model="big")
    worker = Worker(service, "big")
    worker.pick(1000)
    user = task(service, 1)["user"]
    service.api("PUT", f"/users/{user}", {})  # so that it is listed

    def hours():
        return sum(one["gpu_hours"] for one in service.api("GET", "/users")["users"] if one["name"] == user)

    before = hours()
    row = {"id": 1, "kind": "finished", "steps": 20, "cost_ns": 1800 * 10**9, "images": [worker.send(png())]}
    equal(worker.ask("POST", "/done", {"rows": [row]})[0], 200)
    assert 0.99 < hours() - before < 1.01, (before, hours())  # half an hour on two GPUs
    service.kill()
    service.start()
    assert 0.99 < hours() - before < 1.01, (before, hours())
    equal(task(service, 1)["cost_ns"], 1800 * 10**9)


def a_picture_that_no_task_names_goes_after_a_while(service):
    generate(service)
    worker = Worker(service)
    worker.work()
    kept = task(service, 1)["images"][0]["hash"]
    lost = worker.send(png(77))
    folder = os.path.join(service.state, "results")
    for hash in (kept, lost):
        os.utime(os.path.join(folder, hash), (1, 1))
    service.kill()
    service.start()
    deadline = time.time() + 30
    while os.listdir(folder) != [kept]:
        assert time.time() < deadline, os.listdir(folder)
        time.sleep(0.05)


@arguments("--keep", "1s")
def old_tasks_and_their_pictures_go(service):
    generate(service)
    generate(service, "another")
    worker = Worker(service)
    worker.pick(1000)
    worker.finish(png(1), only=1)
    generate(service, "the newest")
    folder = os.path.join(service.state, "results")
    deadline = time.time() + 30
    while service.ask("GET", "/api/v1/tasks/1")[0] != 404 or os.listdir(folder):
        assert time.time() < deadline
        time.sleep(0.1)
    equal(set(statuses(service)), {2, 3})


def nothing_is_lost_nor_finished_twice_postgres(service):
    nothing_is_lost_nor_finished_twice(service)


run_with(make, nothing_is_lost_nor_finished_twice_postgres, a_picture_has_its_etag_and_can_be_removed, one_of_many_is_cancelled,
         a_higher_priority_goes_first, two_users_take_turns, nothing_is_lost_nor_finished_twice, lists_have_pages_and_filters,
         what_it_cost_goes_to_the_fair_share, a_picture_that_no_task_names_goes_after_a_while, old_tasks_and_their_pictures_go)
