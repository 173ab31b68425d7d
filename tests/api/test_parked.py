#!/usr/bin/env python3
"""Requests that are answered later: a caller waits for the end of its task, a worker for the next one."""
import signal
import threading
import time

from fake_worker import Worker, fake_service, generate
from service import equal, run_with


def the_end_can_be_waited_for(service):
    answers = []
    waits = threading.Thread(target=lambda: answers.append(generate(service, query="?wait=60s")))
    waits.start()
    worker = Worker(service)
    worker.work()
    waits.join(60)
    equal(answers[0]["status"], "finished")
    equal(generate(service, query="?wait=100ms")["status"], "pending")  # nobody works on it


def a_worker_waits_for_tasks(service):
    generate(service)
    worker = Worker(service)
    worker.work()
    found = []
    waits = threading.Thread(target=lambda: found.append(worker.pick(30000)))
    waits.start()
    generate(service, "a late one")
    waits.join(30)
    equal([one["id"] for one in found[0]["tasks"]], [2])
    worker.finish()
    began = time.time()
    equal(worker.pick(200)["tasks"], [])
    assert time.time() - began >= 0.2


def a_task_is_waited_for_until_the_service_ends(service):
    answers = []
    waits = threading.Thread(target=lambda: answers.append(service.ask("POST", "/api/v1/generate?wait=60s", {"prompt": "x"})))
    waits.start()
    deadline = time.time() + 30
    while not service.api("GET", "/tasks")["tasks"]:
        assert time.time() < deadline
    service.kill(signal.SIGTERM)
    waits.join(60)
    equal(answers[0][0], 503)
    service.start()
    equal(service.api("GET", "/tasks/1")["status"], "pending")


run_with(fake_service, the_end_can_be_waited_for, a_worker_waits_for_tasks, a_task_is_waited_for_until_the_service_ends)
