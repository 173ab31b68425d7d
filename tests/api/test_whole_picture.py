#!/usr/bin/env python3
"""Requests that wait for their picture: how they end when there is none, and what they leave behind."""
import json
import time
from concurrent.futures import ThreadPoolExecutor

from fake_worker import Worker, fake_service, png
from service import PATIENCE_S, Connection, arguments, equal, run_with

ROUTES = ("/v1/images/generations", "/sdapi/v1/txt2img")


def a_task(service, number):
    deadline = time.time() + PATIENCE_S
    while service.ask("GET", f"/api/v1/tasks/{number}")[0] == 404:
        assert time.time() < deadline
        time.sleep(0.02)
    return number


def one_that_fails_says_why(service):
    with ThreadPoolExecutor() as pool:
        for number, route in enumerate(ROUTES, 1):
            waits = pool.submit(service.ask, "POST", route, {"prompt": "x"})
            worker = Worker(service)
            while not worker.pick(1000)["tasks"]:
                pass
            worker.report("failed", 0, error="the size cannot be")
            status, answer = waits.result()
            equal((status, answer["error"]["code"], answer["error"]["message"]), (422, "failed", f"task T{number} failed: the size cannot be"))


def one_that_is_cancelled_says_by_whom(service):
    with ThreadPoolExecutor() as pool:
        waits = pool.submit(service.ask, "POST", ROUTES[0], {"prompt": "x"})
        service.api("DELETE", f"/tasks/{a_task(service, 1)}")
        status, answer = waits.result()
        equal((status, answer["error"]["code"]), (422, "cancelled"))
        assert "cancelled by" in answer["error"]["message"], answer


def who_hangs_up_leaves_a_task_that_goes_on(service):
    connection = Connection(service.socket)
    connection.request("POST", ROUTES[0], json.dumps({"prompt": "x"}))
    a_task(service, 1)
    connection.close()
    Worker(service).work()
    equal(service.api("GET", "/tasks/1")["status"], "finished")


def the_service_ends_while_somebody_waits(service):
    with ThreadPoolExecutor() as pool:
        waits = pool.submit(service.ask, "POST", ROUTES[1], {"prompt": "x"})
        a_task(service, 1)
        service.kill(15)
        equal(waits.result()[0], 503)
    service.start()
    equal(service.api("GET", "/tasks/1")["status"], "pending")


@arguments("--task-queue-max", "1")
def a_full_queue_is_said_at_once(service):
    service.api("POST", "/generate", {"prompt": "x"}, 201)
    for route in ROUTES:
        connection = Connection(service.socket)
        connection.request("POST", route, json.dumps({"prompt": "x"}))
        answer = connection.getresponse()
        equal((answer.status, answer.getheader("Retry-After"), json.loads(answer.read())["error"]["code"]), (429, "5", "quota"))
        connection.close()


def all_of_several_come(service):
    with ThreadPoolExecutor() as pool:
        waits = pool.submit(service.ask, "POST", ROUTES[0], {"prompt": "x", "n": 2})
        worker = Worker(service)
        worker.pick(1000)
        hashes = [worker.send(png(1)), worker.send(png(2))]
        worker.report("finished", 1, images=hashes, width=2, height=2)
        equal(len(waits.result()[1]["data"]), 2)


run_with(fake_service, one_that_fails_says_why, one_that_is_cancelled_says_by_whom, who_hangs_up_leaves_a_task_that_goes_on,
         the_service_ends_while_somebody_waits, a_full_queue_is_said_at_once, all_of_several_come)
