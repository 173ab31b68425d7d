#!/usr/bin/env python3
"""The protocol of workers: progress, previews and pictures; only jobs that the service started may speak it."""
import os
import socket
import time

from fake_worker import Worker, fake_service, generate, png, raw
from service import PATIENCE_S, arguments, as_nobody, equal, run_with


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
                               ("PUT", "/tasks/1/preview", png()), ("PUT", "/tasks/1/latents?steps=1", b"x"), ("GET", "/tasks/1/latents", None)]:
        equal((path, service.ask(method, "/api/v1/worker" + path, body, token=token)[0]), (path, 403))
        equal((path, service.ask(method, "/api/v1/worker" + path, body)[0]), (path, 403))
    equal(os.listdir(os.path.join(service.state, "results")), [])
    equal(latents(service), [])
    equal(service.ask("POST", "/api/v1/generate", {"prompt": "x"}, token=token)[0], 403)


def who_is_no_worker_is_refused_before_he_has_sent_anything(service):
    """Or any job could make the service write 64 MiB, as often as it likes."""
    job = service.submit("sleep", "60", output="/dev/null")["id"]
    service.wait(job, "running")
    with open(os.path.join(service.state, "jobs", f"{job}.1.token")) as file:
        token = file.read().strip()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.settimeout(PATIENCE_S)
        sock.connect(service.socket)
        sock.sendall(f"PUT /api/v1/worker/tasks/1/latents?steps=1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Length: 60000000\r\n"
                     "Expect: 100-continue\r\n\r\n".encode())
        answer = sock.recv(65536)
    assert answer.startswith(b"HTTP/1.1 403 "), answer


def a_timeline_is_its_owners(service):
    generate(service, steps=2, trace=True)
    worker = Worker(service)
    equal(worker.pick(1000)["tasks"][0]["parameters"]["trace"], True)
    status, answer = service.ask("GET", "/api/v1/tasks/1/trace")
    assert status == 404 and "no timeline yet" in answer["error"]["message"], answer
    deep = b'{"traceEvents": [{"args": ' + b'{"a": ' * 500 + b"1" + b"}" * 500 + b"}]}"
    for bad in (b"", b"{", b"[]", b'{"traceEvents": 1}', b'{"traceEvents": [1, null]}', deep):
        equal((bad[:40], worker.ask("PUT", "/tasks/1/trace", bad)[0]), (bad[:40], 422))
    equal(worker.ask("PUT", "/tasks/2/trace", b'{"traceEvents": []}')[0], 404)
    equal(worker.ask("PUT", "/tasks/1/trace", b'{"traceEvents": [], "otherData": {"n": 1}}')[0], 204)
    worker.finish()
    equal(service.api("GET", "/tasks/1/trace")["otherData"], {"n": 1})
    equal(os.listdir(os.path.join(service.state, "traces")), ["1"])
    if os.geteuid() == 0:
        equal(as_nobody(service, "GET", "/api/v1/tasks/1/trace")[0], 403)
    service.kill()
    service.start()
    equal(service.api("GET", "/tasks/1/trace")["otherData"], {"n": 1})


def latents(service):
    return sorted(os.listdir(os.path.join(service.state, "latents")))


def latents_become(service, wanted):
    """Files go after their tasks are known to have ended."""
    deadline = time.time() + PATIENCE_S
    while (found := latents(service)) != wanted:
        assert time.time() < deadline, found
        time.sleep(0.01)


def saved_latents_go_to_the_next_worker(service):
    generate(service, steps=10)
    generate(service, "another", steps=10)
    worker = Worker(service)
    equal([one["latents"] for one in worker.pick(1000)["tasks"]], [False, False])
    equal(worker.ask("GET", "/tasks/1/latents")[0], 404)
    equal(worker.ask("PUT", "/tasks/1/latents?steps=4", b"after four")[0], 204)
    latents_become(service, ["1.4"])
    equal(worker.ask("PUT", "/tasks/1/latents?steps=6", b"after six")[0], 204)
    equal(worker.ask("PUT", "/tasks/1/latents?steps=5", b"late")[0], 204)  # the newer ones stay
    equal(worker.ask("PUT", "/tasks/2/latents?steps=2", b"another's")[0], 204)
    latents_become(service, ["1.6", "2.2"])
    equal(worker.ask("PUT", "/tasks/3/latents?steps=2", b"nobody's")[0], 404)
    equal(worker.ask("PUT", "/tasks/1/latents?steps=-1", b"x")[0], 400)
    for count, status in ((64 << 20, 204), ((64 << 20) + 1, 413)):  # the larger one is refused before it is sent
        body = bytes(count) if status == 204 else None
        equal(service.ask("PUT", "/api/v1/worker/tasks/1/latents?steps=1", body, {"Content-Length": str(count)}, token=worker.token)[0], status)
    latents_become(service, ["1.6", "2.2"])
    worker.report("steps", 6)
    service.kill()
    for name in ("9.1", "part-1-1", "1.1", "1.2", "1.3", "1.4", "1.5"):  # of a task that is not there, never accepted, older
        with open(os.path.join(service.state, "latents", name), "w") as file:
            file.write("x")
    service.start()
    latents_become(service, ["1.6", "2.2"])
    equal([(task(service, n)["status"], task(service, n)["steps_done"]) for n in (1, 2)], [("pending", 6), ("pending", 2)])
    worker.held = {}
    answer = worker.pick(1000)
    equal([(one["id"], one["steps_done"], one["latents"]) for one in answer["tasks"]], [(1, 6, True), (2, 2, True)])
    equal(worker.ask("GET", "/tasks/1/latents"), (200, "after six"))
    equal(worker.ask("GET", "/tasks/2/latents"), (200, "another's"))
    service.api("DELETE", "/tasks/2")
    worker.finish(only=1)
    equal(task(service, 1)["status"], "finished")
    latents_become(service, [])
    equal(worker.ask("PUT", "/tasks/1/latents?steps=7", b"late")[0], 404)
    latents_become(service, [])


@arguments("--pool-preempt", "--pool-policy", "priority")
def a_task_that_gives_way_keeps_what_it_has_done(service):
    service.api("PUT", "/models/digits", {"batch": 1})
    generate(service, steps=10, priority=1)
    worker = Worker(service)
    worker.pick(1000)
    worker.report("steps", 4)
    generate(service, "urgent", steps=2, priority=9)
    answer = worker.pick(0)
    equal(([one["id"] for one in answer["tasks"]], answer["drop"]), ([2], [1]))
    equal((task(service, 1)["status"], task(service, 1)["steps_done"]), ("pending", 4))
    equal(worker.ask("PUT", "/tasks/1/latents?steps=4", b"after four")[0], 204)
    worker.finish()
    answer = worker.pick(1000)
    equal([(one["id"], one["steps_done"], one["latents"]) for one in answer["tasks"]], [(1, 4, True)])
    equal(worker.ask("GET", "/tasks/1/latents"), (200, "after four"))
    worker.finish()
    latents_become(service, [])
    equal([task(service, n)["status"] for n in (1, 2)], ["finished", "finished"])


run_with(fake_service, saved_latents_go_to_the_next_worker, a_task_that_gives_way_keeps_what_it_has_done, progress_is_shown_to_the_end, hostile_pictures_are_refused, only_workers_may_ask, who_is_no_worker_is_refused_before_he_has_sent_anything, a_timeline_is_its_owners)
