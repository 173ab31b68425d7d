#!/usr/bin/env python3
"""GET /api/v1/tasks/{id}/events: every follower of a task hears how it goes on, and its end, and then nothing."""
import json
import os
import time

from fake_worker import Worker, fake_service, generate, png
from service import as_nobody, equal, run_with


def events(response):
    """Each as (kind, data), as they come."""
    kind = None
    while line := response.readline().decode():
        name, _, value = line.rstrip("\n").partition(": ")
        if name == "event":
            kind = value
        elif name == "data":
            yield kind, json.loads(value)


def a_follower_hears_it_from_the_line_to_the_end(service):
    generate(service, steps=9)
    generate(service, steps=9)
    connection, response = service.follow("/tasks/T2/events")
    equal((response.status, response.getheader("Content-Type").split(";")[0]), (200, "text/event-stream"))
    stream = events(response)
    kind, first = next(stream)
    equal((kind, first["id"], first["status"], first["position"]), ("progress", 2, "pending", 2))
    worker = Worker(service)
    worker.pick(1000)
    while 2 not in worker.held:
        worker.pick(1000)
    worker.report(steps=3)
    seen = next(data for kind, data in stream if kind == "progress" and data["steps_done"])
    assert seen["status"] == "denoising" and seen["steps"] == 9, seen
    worker.pick()
    equal(worker.ask("PUT", "/tasks/2/preview", png(5))[0], 204)
    equal(next(data for kind, data in stream if kind == "preview"), {"id": 2, "preview": 1})
    worker.finish()
    rest = [(kind, data["status"]) for kind, data in stream if kind == "end"]
    equal(rest, [("end", "finished")])
    equal(response.read(), b"")
    connection.close()


def an_ended_one_is_told_at_once(service):
    generate(service)
    service.api("DELETE", "/tasks/1")
    time.sleep(0.1)
    for _ in range(2):
        connection, response = service.follow("/tasks/1/events")
        equal([(kind, data["status"]) for kind, data in events(response)], [("end", "cancelled")])
        connection.close()
        service.kill()
        service.start()
    equal(service.ask("GET", "/api/v1/tasks/99/events")[0], 404)
    equal(service.ask("GET", "/api/v1/tasks/x/events")[0], 404)


def many_followers_hear_the_same_end(service):
    generate(service, prompt="größe\n")
    follows = [service.follow("/tasks/1/events") for _ in range(20)]
    streams = [events(response) for _, response in follows]
    for stream in streams:
        equal(next(stream)[0], "progress")
    follows[0][0].close()  # one that hangs up
    service.api("DELETE", "/tasks/1")
    for stream in streams[1:]:
        equal([(kind, data["status"], data["cancelled_by"]) for kind, data in stream if kind == "end"], [("end", "cancelled", service.api("GET", "/tasks/1")["user"])])


def it_is_its_owners(service):
    generate(service)
    if os.geteuid() == 0:
        equal(as_nobody(service, "GET", "/api/v1/tasks/1/events")[0], 403)
    service.api("DELETE", "/tasks/1")
    time.sleep(0.1)
    if os.geteuid() == 0:
        equal(as_nobody(service, "GET", "/api/v1/tasks/1/events")[0], 403)


def the_service_ends_while_somebody_follows(service):
    generate(service)
    connection, response = service.follow("/tasks/1/events")
    equal(next(events(response))[0], "progress")
    service.kill(15)
    service.start()
    equal(service.api("GET", "/tasks/1")["status"], "pending")
    connection.close()


run_with(fake_service, a_follower_hears_it_from_the_line_to_the_end, an_ended_one_is_told_at_once, many_followers_hear_the_same_end, it_is_its_owners,
         the_service_ends_while_somebody_follows)
