#!/usr/bin/env python3
"""The protocol of workers: progress, previews and pictures; only jobs that the service started may speak it."""
import os

from fake_worker import Worker, fake_service, generate, png, raw
from service import equal, run_with


def task(service, number):
    return service.api("GET", f"/tasks/{number}")


def progress_is_shown_to_the_end(service):
    generate(service, steps=3)
    worker = Worker(service)
    equal(worker.pick(1000)["tasks"][0]["steps_done"], 0)
    equal(task(service, 1)["status"], "encoding")
    equal(worker.report("steps", 2)[0], 200)
    found = task(service, 1)
    equal((found["status"], found["steps_done"], found["attempts"]), ("denoising", 2, 1))
    equal(worker.pick()["tasks"][0]["steps_done"], 2)
    equal(service.ask("GET", "/api/v1/tasks/1/preview")[0], 404)
    equal(worker.ask("PUT", "/tasks/1/preview", png(3))[0], 204)
    equal(raw(service, "/tasks/1/preview")[2], png(3))
    equal(worker.ask("PUT", "/tasks/2/preview", png(3))[0], 404)
    equal(worker.ask("PUT", "/tasks/1/preview", b"x" * (256 << 10))[0], 422)
    equal(worker.ask("PUT", "/tasks/1/preview", None)[0], 422)
    worker.finish(png(9))
    found = task(service, 1)
    equal((found["status"], found["steps_done"], len(found["images"])), ("finished", 3, 1))
    assert found["started_at"] and found["ended_at"] and found["cost_ns"] == 2000000, found
    said = [event["about"] for event in service.api("GET", "/events?format=json")["events"] if event["kind"] == "task"]
    equal([one["status"] for one in said], ["pending", "encoding", "denoising", "finished"])
    equal(service.api("GET", "/tasks/1/why")["text"], "it does not wait: it is finished")


def hostile_pictures_are_refused(service):
    generate(service)
    worker = Worker(service)
    worker.pick(1000)
    good = png(1)
    for bad in (b"", b"GIF89a", good[:-1], good[:20], good[:16] + b"\0\0\0\0" + good[20:], good[:16] + b"\0\0\x20\x01" + good[20:]):
        equal((bad, worker.ask("PUT", "/image", bad)[0]), (bad, 422))
    status, answer = worker.report("finished", images=["0" * 64])
    equal(status, 404)
    assert "was not sent" in answer["error"]["message"], answer
    equal(worker.report("finished", images=["../../store"])[0], 404)
    equal(task(service, 1)["status"], "encoding")
    worker.finish()
    equal(task(service, 1)["status"], "finished")


def only_workers_may_ask(service):
    job = service.submit("sleep", "60", output="/dev/null")["id"]
    service.wait(job, "running")
    with open(os.path.join(service.state, "jobs", f"{job}.1.token")) as file:
        token = file.read().strip()
    for method, path, body in [("POST", "/pick", {}), ("POST", "/done", {"rows": [{"id": 1}]}), ("PUT", "/image", png()),
                               ("PUT", "/tasks/1/preview", png())]:
        equal(service.ask(method, "/api/v1/worker" + path, body, token=token)[0], 403)
        equal(service.ask(method, "/api/v1/worker" + path, body)[0], 403)
    equal(os.listdir(os.path.join(service.state, "results")), [])
    equal(service.ask("POST", "/api/v1/generate", {"prompt": "x"}, token=token)[0], 403)


run_with(fake_service, progress_is_shown_to_the_end, hostile_pictures_are_refused, only_workers_may_ask)
