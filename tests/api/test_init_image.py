#!/usr/bin/env python3
"""Pictures that tasks start from: as base64 and in a form, checked before anything is kept, fetched by the worker that has the task and nobody else, gone with
the task."""
import base64
import os
import struct
import time
import zlib

from fake_worker import Worker, fake_service, generate, png
from service import PATIENCE_S, Connection, arguments, as_nobody, equal, run_with


def coded(picture):
    return base64.b64encode(picture).decode()


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def bomb(width, height, data):
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) + chunk(b"IDAT", data) + chunk(b"IEND", b""))


def kept(service):
    return sorted(os.listdir(os.path.join(service.state, "results")))


def gone(service):
    deadline = time.time() + PATIENCE_S
    while kept(service):
        assert time.time() < deadline, kept(service)
        service.api("POST", "/generate", {"prompt": "a round"}, 201)
        time.sleep(0.02)


def form(service, *parts, boundary="b0undary", status=201):
    """POST as multipart/form-data; the answer."""
    body = b"".join(b"--%s\r\nContent-Disposition: form-data; name=\"%s\"%s\r\n\r\n%s\r\n" %
                    (boundary.encode(), name.encode(), b'; filename="a.png"\r\nContent-Type: image/png' if isinstance(value, bytes) else b"",
                     value if isinstance(value, bytes) else value.encode()) for name, value in parts) + f"--{boundary}--\r\n".encode()
    got, answer = service.ask("POST", "/api/v1/generate", body, {"Content-Type": f"multipart/form-data; boundary={boundary}"})
    equal((got, answer if got != status else None), (status, None))
    return answer


def the_worker_gets_what_was_sent(service):
    picture, other = png(7, 200, 100), png(9, 64, 64)
    first = generate(service, init_image=coded(picture), strength=0.5)["parameters"]
    equal((first["strength"], first["width"], first["height"], len(first["init_image"])), (0.5, 192, 64, 64))
    second = generate(service, init_image="data:image/png;base64," + coded(other), width=512, height=256)["parameters"]
    equal((second["strength"], second["width"], second["height"]), (0.75, 512, 256))
    third = form(service, ("prompt", "größer"), ("steps", "4"), ("denoising_strength", "0.25"), ("image", picture))["parameters"]
    equal((third["init_image"], third["prompt"], third["steps"], third["strength"]), (first["init_image"], "größer", 4, 0.25))
    equal(len(kept(service)), 2)
    service.kill()
    service.start()
    worker = Worker(service)
    worker.pick(1000)
    for id, want in ((1, picture), (3, picture), (2, other)):  # by their sizes
        while id not in worker.held:
            worker.finish()
            assert worker.pick(1000)["tasks"]
        connection = Connection(service.socket)
        connection.request("GET", f"/api/v1/worker/tasks/{id}/init", None, {"Authorization": f"Bearer {worker.token}"})
        answer = connection.getresponse()
        equal((answer.status, answer.getheader("Content-Type"), answer.read() == want), (200, "image/png", True))
        connection.close()


def nobody_else_gets_it(service):
    generate(service, init_image=coded(png(7)))
    generate(service)
    worker = Worker(service)
    equal(worker.ask("GET", "/tasks/1/init")[0], 409)
    worker.pick(1000)
    while 1 not in worker.held:
        worker.pick(1000)
    equal(service.ask("GET", "/api/v1/worker/tasks/1/init")[0], 403)
    if os.geteuid() == 0:
        equal(as_nobody(service, "GET", "/api/v1/worker/tasks/1/init")[0], 403)
    equal(worker.ask("GET", "/tasks/9/init")[0], 409)
    equal(worker.ask("GET", "/tasks/..%2f1/init")[0], 409)
    while 2 not in worker.held:
        worker.finish(only=1)
        worker.pick(1000)
    equal(worker.ask("GET", "/tasks/2/init")[0], 404)


def what_is_no_picture_is_refused_and_nothing_is_kept(service):
    good = png(3)
    big = zlib.compress(b"\0" * (4097 * 4097), 9)
    for init, words in [("%%%", "not base64"), ("", "not base64"), (coded(b"GIF89a......"), "not a PNG"), (coded(good[:40]), "cannot be read"),
                        (coded(good[:-14] + bytes([good[-14] ^ 1]) + good[-13:]), "cannot be read"), (coded(bomb(4096, 4097, big)), "16781312 pixels"),
                        (coded(bomb(65535, 65535, b"")), "65535x65535"), (coded(bomb(0, 1, b"")), "0x1"), (coded(bomb(2, 2, b"nonsense")), "cannot be read"),
                        (coded(bomb(4000, 4000, zlib.compress(b""))), "cannot be read"), ("data:image/png," + coded(good), "base64")]:
        status, answer = service.ask("POST", "/api/v1/generate", {"prompt": "x", "init_image": init})
        assert status in (400, 413, 422), (status, answer, words)
        assert words in answer["error"]["message"] and answer["error"]["field"] == "init_image", (answer, words)
    for strength, words in ((0, "above 0"), (1.5, "1"), (-2, "1")):
        status, answer = service.ask("POST", "/api/v1/generate", {"prompt": "x", "init_image": coded(good), "strength": strength})
        equal((status, words in answer["error"]["message"]), (400, True))
    status, answer = service.ask("POST", "/api/v1/generate", {"prompt": "x", "strength": 0.5})
    equal((status, answer["error"]["field"]), (400, "strength"))
    equal(service.ask("POST", "/api/v1/generate", {"prompt": "x", "init_image": "A" * (23 << 20)})[0], 400)
    connection = Connection(service.socket)
    connection.request("POST", "/api/v1/generate", None, {"Content-Length": str((32 << 20) + 1)})
    equal(connection.getresponse().status, 413)
    connection.close()
    status, answer = service.ask("POST", "/api/v1/generate", {"requests": [{"prompt": "x", "init_image": coded(good)}, {"prompt": "x", "steps": 2000}]})
    equal((status, answer["error"]["field"]), (400, "requests[1].steps"))
    large = coded(bomb(4096, 4096, zlib.compress((b"\0" + b"\0" * 4096) * 4096, 9)))
    status, answer = service.ask("POST", "/api/v1/generate", {"requests": [{"prompt": "x", "init_image": large}] * 100})
    equal((status, answer["error"]["field"]), (413, "requests[4].init_image"))
    equal(kept(service), [])


def a_form_that_makes_no_sense_is_refused(service):
    for parts, word in [([("steps", "4")], "no prompt"), ([("prompt", "x"), ("colour", "red")], "colour"), ([("prompt", "x"), ("steps", "many")], "steps"),
                        ([("prompt", "x"), ("image", b"not a picture")], "not a PNG"), ([("prompt", "x\0y")], "UTF-8"), ([("prompt", b"\xff\xfe")], "UTF-8"),
                        ([("prompt", "x")] * 65, "parts"), ([("requests", "[]")], "requests")]:
        got, answer = 0, None
        for status in (400, 413, 422):
            try:
                answer, got = form(service, *parts, status=status), status
            except AssertionError as trouble:
                answer = answer or trouble
        assert got and word in answer["error"]["message"] + str(answer["error"]["field"]), (parts, answer)
    for body in (b"", b"--b", b"--b\r\n", b"x" * 1000):
        status, answer = service.ask("POST", "/api/v1/generate", body, {"Content-Type": "multipart/form-data; boundary=b"})
        equal((status, bool(answer["error"]["message"])), (422 if status == 422 else 400, True))
    equal(kept(service), [])


@arguments("--task-queue-max", "2")
def what_is_not_taken_in_is_not_kept(service):
    generate(service)
    generate(service)
    generate(service, status=429, init_image=coded(png(3)))
    service.api("DELETE", "/tasks/1")
    service.api("DELETE", "/tasks/2")
    gone(service)


def it_goes_with_the_pictures_of_its_task(service):
    generate(service, init_image=coded(png(7)))
    generate(service, init_image=coded(png(7)))
    equal(len(kept(service)), 1)
    for id in (1, 2):
        service.api("DELETE", f"/tasks/{id}")
        equal(len(kept(service)), 1)
        service.api("DELETE", f"/tasks/{id}/image")
    gone(service)


run_with(fake_service, the_worker_gets_what_was_sent, nobody_else_gets_it, what_is_no_picture_is_refused_and_nothing_is_kept,
         a_form_that_makes_no_sense_is_refused, what_is_not_taken_in_is_not_kept, it_goes_with_the_pictures_of_its_task)
