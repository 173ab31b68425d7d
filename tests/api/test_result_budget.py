#!/usr/bin/env python3
"""How long and how many pictures are kept: by age, by bytes, by user; also when the service is killed in between."""
import base64
import os
import threading
import time

from fake_worker import Worker, fake_service, generate, png, raw
from service import PATIENCE_S, Connection, arguments, equal, run_with


def draw(service, worker, count, first=0):
    """Tasks with a picture each, all different; their numbers."""
    ids = []
    for number in range(count):
        ids.append(generate(service)["id"])
        worker.pick(1000)
        worker.finish(png(first + number, 40, 40))
    return ids


def files(service):
    return set(os.listdir(os.path.join(service.state, "results")))


def status(service, task):
    return raw(service, f"/tasks/{task}/image")[0]


def until(what):
    deadline = time.time() + PATIENCE_S
    while not what():
        assert time.time() < deadline
        time.sleep(0.1)


def together(works):
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@arguments("--result-keep", "2s")
def old_pictures_go_and_their_tasks_stay(service):
    generate(service)
    worker = Worker(service)
    worker.work(1)
    ids = [1] + draw(service, worker, 3)
    equal([status(service, task) for task in ids], [200] * 4)
    until(lambda: not files(service))
    for task in ids:
        code, _, body = raw(service, f"/tasks/{task}/image")
        equal(code, 410)
        assert b"the picture is not kept any more" in body, body
        equal(service.api("GET", f"/tasks/{task}")["status"], "finished")


@arguments("--result-max", "400")
def the_oldest_go_when_there_are_too_many(service):
    generate(service)
    worker = Worker(service)
    worker.work(1)
    size = len(png(1, 40, 40))
    ids = draw(service, worker, 400 // size + 3)
    until(lambda: sum(os.path.getsize(os.path.join(service.state, "results", name)) for name in files(service)) <= 400)
    equal(status(service, ids[0]), 410)
    equal(status(service, ids[-1]), 200)
    service.kill()
    service.start()
    equal(status(service, ids[-1]), 200)


@arguments("--result-user-max", "100")
def who_has_many_asks_for_no_more(service):
    generate(service)
    worker = Worker(service)
    worker.work(1)
    size = len(png(0))
    while size < 100:
        draw(service, worker, 1, size)
        size += len(png(0, 40, 40))
    answer = generate(service, status=429)
    assert "of pictures; at most 100 B are allowed (result_user_max)" in answer["error"]["message"], answer
    service.kill()
    service.start()
    generate(service, status=429)  # it is counted again
    service.api("DELETE", "/tasks/1/image")
    service.api("DELETE", "/tasks/2/image")
    equal(status(service, 2), 410)
    generate(service)


@arguments("--result-user-max", "300")
def what_is_removed_twice_counts_once(service):
    """A picture to start from that two tasks share stays a file when one of them lets it go; the other's bytes stay counted."""
    picture = png(7, 40, 40)
    init = base64.b64encode(picture).decode()
    ids = [generate(service, init_image=init)["id"] for _ in range(300 // len(picture) + 1)]
    generate(service, status=429)
    for task in ids:
        service.api("DELETE", f"/tasks/{task}")
    for _ in range(len(ids) + 1):
        until(lambda: service.ask("DELETE", f"/api/v1/tasks/{ids[0]}/image")[0] == 200)
    generate(service)  # one is gone, and there is room again
    generate(service, init_image=init)  # it fills it
    generate(service, status=429)
    for _ in range(20):  # in one round, as likely as not
        together([lambda: service.ask("DELETE", f"/api/v1/tasks/{ids[1]}/image")] * 4)
    generate(service, init_image=init)
    generate(service, status=429)


@arguments("--result-keep", "3s")
def a_kill_in_the_middle_loses_nothing_else(service):
    generate(service)
    worker = Worker(service)
    worker.work(1)
    old = [1] + draw(service, worker, 20)
    until(lambda: len(files(service)) < 21)  # it has begun
    service.kill()
    service.args[service.args.index("--result-keep") + 1] = "1h"
    service.start()
    new = draw(service, worker, 3, 100)
    equal([status(service, task) for task in new], [200] * 3)
    equal({status(service, task) for task in old} <= {200, 410}, True)
    equal({one["status"] for one in service.api("GET", "/tasks?limit=1000")["tasks"]}, {"finished"})


def a_picture_is_no_larger_than_allowed(service):
    generate(service)
    worker = Worker(service)
    whole = png(3, 40, 40)
    end = whole.rindex(b"IEND") - 4
    most = 64 << 20
    status, answer = worker.ask("PUT", "/image", whole[:end] + bytes(most - len(whole)) + whole[end:])
    equal((status, answer["bytes"]), (201, most))
    connection = Connection(service.socket)
    connection.putrequest("PUT", "/api/v1/worker/image")
    connection.putheader("Authorization", f"Bearer {worker.token}")
    connection.putheader("Content-Length", str(most + 1))
    connection.endheaders()  # it is refused before a byte of it is sent
    equal(connection.getresponse().status, 413)
    connection.close()


run_with(fake_service, old_pictures_go_and_their_tasks_stay, the_oldest_go_when_there_are_too_many, who_has_many_asks_for_no_more,
         what_is_removed_twice_counts_once, a_kill_in_the_middle_loses_nothing_else, a_picture_is_no_larger_than_allowed)
