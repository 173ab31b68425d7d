#!/usr/bin/env python3
"""strata.client against a real service: jobs, logs, queue, nodes, events over a restart, pictures by a worker that the test plays, sync and async."""
import asyncio
import io
import os
import signal
import socket
import tempfile
import threading
import time

from client_env import raises

import strata  # noqa: E402
from fake_worker import FAKE, Worker, png  # noqa: E402
from service import Service, arguments, equal, run_with  # noqa: E402
from strata.client import answers, find, rows, sse, table  # noqa: E402
from strata.client.find import find_token  # noqa: E402


def client(service):
    return strata.Client(service.socket)


def job(service, *command, **fields):
    return {"command": list(command), "working_dir": service.dir, "environment": {"PATH": "/usr/bin:/bin"}, **fields}


def put(directory, name, text, mode=0o600):
    path = os.path.join(directory, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, mode)
    return path


def a_server_is_found_as_the_command_finds_it(_service):
    with tempfile.TemporaryDirectory() as home:
        env = {"HOME": home}
        equal(find(env=env).socket, "/run/strata/strata.sock" if os.path.exists("/run/strata/strata.sock") else home + "/.local/state/strata/strata.sock")
        put(home, ".config/strata/strata.ini", "color = auto\nsocket = /tmp/c.sock ; ours\n[serve]\nsocket = /tmp/other\n")
        equal(find(env=env).socket, "/tmp/c.sock")
        equal(find(env={**env, "STRATA_SERVER": "http://h:1/"}).url, "http://h:1")
        equal(find(env={**env, "STRATA_SERVER": "http://h:1", "STRATA_SOCKET": "/s"}).socket, "/s")
        equal(find(server="https://h", env={**env, "STRATA_SOCKET": "/s"}).url, "https://h")
        raises(strata.errors.InvalidError, find, server="h:1", env=env)
        raises(strata.errors.InvalidError, find, socket="/" + "x" * 107, env=env)
        token = put(home, ".config/strata/token", "strata_abc\n")
        equal(find(server="http://h", env=env).token, "strata_abc")
        equal(find(server="http://h", env={**env, "STRATA_TOKEN": "strata_t"}).token, "strata_t")
        os.chmod(token, 0o644)
        equal("chmod 600" in str(raises(strata.errors.RefusedError, find_token, env)), True)
        raises(strata.errors.InvalidError, find_token, {"STRATA_TOKEN_FILE": home + "/none"})


def jobs_are_submitted_followed_and_ended(service):
    it = client(service)
    number = it.submit(**job(service, "sh", "-c", "echo one; sleep 0.2; printf two"), name="talk", gpus=1)
    equal("".join(it.logs(number)), "one\ntwo")
    done = it.wait(number, 30)
    equal((done.state, done.exit_code, done.name, done.gpus, done.ended), ("completed", 0, "talk", 1, True))
    assert done.started_at and done.ended_at >= done.started_at and done.raw["uuid"] == done.uuid
    equal(it.output(number), "one\ntwo")
    slow = it.submit(**job(service, "sleep", "600"))
    raises(TimeoutError, it.wait, slow, 0.05)
    it.cancel(slow)
    equal(it.wait(slow, 30).state, "cancelled")
    held = it.submit(**job(service, "true"), hold=True)
    assert any("release" in sentence or "held" in sentence for sentence in it.why(held)), it.why(held)
    equal(it.change(held, hold=False).id, held)
    equal(it.wait(held, 30).state, "completed")
    elements = it.submit_array(**job(service, "true"), array="0-2")
    equal(len(elements), 3)
    equal([it.wait(one, 30).array_index for one in elements], [0, 1, 2])
    equal({row.id for row in it.jobs(state="cancelled")}, {slow})
    many = it.submit_many([job(service, "true"), job(service, "false")])
    equal([it.wait(one, 30).exit_code for one in many], [0, 1])


def the_callers_directory_and_environment_are_the_jobs(service):
    os.environ["STRATA_TEST_WORD"] = "from here"
    here = os.getcwd()
    os.chdir(service.dir)
    try:
        number = client(service).submit('echo "$STRATA_TEST_WORD"; pwd')
        equal("".join(client(service).logs(number)), f"from here\n{service.dir}\n")
    finally:
        os.chdir(here)


def errors_have_the_services_sentence_and_field(service):
    it = client(service)
    wrong = raises(strata.Error, it.submit, **job(service, "true"), gpus=-1)
    equal((wrong.field, wrong.status, isinstance(wrong, ValueError)), ("gpus", 400, True))
    assert "-1" in str(wrong), wrong
    equal(raises(strata.errors.NotFoundError, it.job, 4711).status, 404)
    raises(strata.errors.ConflictError, it.cancel, it.wait(it.submit(**job(service, "true")), 30).id)
    away = strata.Client(service.dir + "/none")
    equal("strata serve" in str(raises(strata.errors.UnavailableError, away.queue)), True)


@arguments("--listen", "127.0.0.1:0")
def over_tcp_a_token_counts(service):
    token = service.api("POST", "/tokens", {}, 201)["token"]
    it = strata.Client(server=f"http://127.0.0.1:{service.port()}", token=token)
    equal(it.wait(it.submit(**job(service, "true")), 30).state, "completed")
    bad = strata.Client(server=f"http://127.0.0.1:{service.port()}", token="strata_no")
    equal(raises(strata.errors.RefusedError, bad.queue).status, 401)


def what_may_be_repeated_is(_service):
    """A server that hangs up on the first two and answers the third."""
    directory = tempfile.mkdtemp()
    path = os.path.join(directory, "sock")
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen()
    heard = []

    def serve():
        while True:
            connection, _ = server.accept()
            head = connection.recv(65536).decode()
            heard.append(head)
            if len(heard) % 3 == 0 or "POST /api/v1/once" in head:
                body = b'{"jobs": [], "error": {"code": "unavailable", "message": "busy"}}'
                status = b"503 Busy" if "once" in head else b"200 OK"
                connection.sendall(b"HTTP/1.1 " + status + b"\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(body) + body)
            connection.close()

    threading.Thread(target=serve, daemon=True).start()
    it = strata.Client(path)
    equal(len(it.queue()), 0)
    equal(len(heard), 3)
    equal(raises(strata.errors.UnavailableError, it.ask, "POST", "/once").status, 503)
    equal(len(heard), 4)  # what may not be repeated is not

    async def again():
        return await strata.AsyncClient(path).queue()
    heard[:] = []
    equal(len(asyncio.run(again())), 0)
    equal(len(heard), 3)


def tables_show_themselves(service):
    it = client(service)
    number = it.submit(**job(service, "sleep", "600"), name="<b>&x")
    for _ in range(200):
        if it.job(number).state == "running":
            break
        time.sleep(0.02)
    queue, nodes = it.queue(), it.nodes()
    text, html = repr(queue), queue._repr_html_()
    assert "&lt;b&gt;&amp;x" in html and "<b>" not in html and html.count("<tr>") == 2, html
    assert text.splitlines()[0].split()[:4] == ["ID", "NAME", "USER", "STATE"] and "running" in text, text
    equal([node.name for node in nodes], ["n1", "n2", "n3"])
    assert "8/8" in repr(nodes) and "32G" in repr(nodes) and "a100" in nodes[0]._repr_html_(), repr(nodes)
    equal(len(queue[:1]), 1)
    bar = io.StringIO()
    with strata.client.Progress("T1", bar) as progress:
        progress.show(1, 4, "denoising")
        progress.show(2, 4, "denoising")
        progress.show(4, 4, "finished", True)
    equal(bar.getvalue(), "T1: 1/4 denoising\nT1: 4/4 finished\n")
    equal(table.size(1536), "1.5K")


def events_go_on_over_a_restart(service):
    it = client(service)
    first = it.wait(it.submit(**job(service, "true")), 30).id
    seen, found = [], threading.Event()

    def follow():
        for event in it.events(after=0):
            seen.append(event)
            if event.kind == "job.ended" and event.job != first:
                found.set()
                return

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    while not any(event.kind == "job.ended" for event in seen):
        time.sleep(0.02)
    service.kill(signal.SIGTERM)
    service.start()
    second = it.submit(**job(service, "true"))
    assert found.wait(30), seen
    numbers = [event.sequence for event in seen]
    equal(numbers, sorted(set(numbers)))
    equal([event.job for event in seen if event.kind == "job.ended"], [first, second])
    assert all(event.at for event in seen)
    last = next(it.events(last=1))
    assert last.sequence >= numbers[-1]


@arguments(*FAKE)
def pictures_come_with_progress_and_preview(service):
    it = client(service)
    picture = it.generate("a seven", steps=4, seed=3)
    equal((picture.status, picture.done, picture.progress, picture.task.seed), ("pending", False, 0.0, 3))
    raises(strata.errors.NotFoundError, picture.preview)
    worker = Worker(service)
    worker.pick(5000)
    equal(worker.ask("PUT", f"/tasks/{picture.id}/preview", png(7))[0], 204)
    worker.report(steps=2)
    equal((picture.refresh().progress, picture.preview(), picture._repr_png_()), (0.5, png(7), png(7)))
    raises(TimeoutError, picture.wait, 0.05)
    worker.pick()
    threading.Timer(0.2, worker.finish, [png(9)]).start()
    shown = io.StringIO()
    picture.show_progress(shown)
    assert "finished" in shown.getvalue(), shown.getvalue()
    equal((picture.image(), picture.images(), picture.progress), (png(9), [png(9)], 1.0))
    picture.save(service.dir + "/x.png")
    equal(os.path.getsize(service.dir + "/x.png"), len(png(9)))
    equal([task.id for task in it.tasks()], [picture.id])
    gone, kept = it.generate_many([{"prompt": "a one"}, {"prompt": "a two", "steps": 3}])
    gone.cancel()
    equal("cancelled" in str(raises(strata.Error, gone.image)), True)
    equal((it.picture(kept.id).task.steps, it.change_task(kept.id, 4).priority), (3, 4))
    assert it.why_task(kept.id)["text"] and "STATUS" in repr(it.tasks())
    equal([model.name for model in it.models()], ["digits"])
    wrong = raises(strata.Error, it.generate, "x", scheduler="eular")
    assert "did you mean" in str(wrong), wrong
    started = it.generate("from a picture", init_image=png(3, 64, 64), strength=0.5)
    equal(len(started.task.parameters["init_image"]), 64)


@arguments(*FAKE)
def the_async_client_does_the_same(service):
    async def main():
        async with strata.AsyncClient(service.socket) as it:
            number = await it.submit(**job(service, "sh", "-c", "echo one; sleep 0.2; echo two"))
            equal([line async for line in it.logs(number)], ["one\n", "two\n"])
            equal((await it.wait(number, 30)).state, "completed")
            both = await asyncio.gather(*(it.submit(**job(service, "true")) for _ in range(8)))
            equal({(await it.wait(one, 30)).state for one in both}, {"completed"})
            equal(len(await it.nodes()), 3)
            try:
                await it.submit(**job(service, "true"), gpus=-1)
                raise AssertionError("it is refused")
            except strata.Error as wrong:
                equal(wrong.field, "gpus")
            async for event in it.events(after=0):
                if event.kind == "job.ended":
                    equal(event.job, number)
                    break
            picture = await it.generate("a seven", steps=2)
            worker = await asyncio.to_thread(Worker, service)
            await asyncio.to_thread(worker.work, 1)
            equal(await picture.image(), png())
            slow = await it.submit(**job(service, "sleep", "600"))
            try:
                await it.wait(slow, 0.05)
                raise AssertionError("it is late")
            except TimeoutError:
                await it.cancel(slow)
    asyncio.run(main())


def streams_are_read_however_they_are_cut(_service):
    text = b": here\n\nid: 7\nevent: job.ended\ndata: {\"a\":\ndata: 1}\n\ndata: x\r\n\r\nevent: nothing\n\n"
    for size in range(1, len(text) + 1):
        reader = sse.Reader()
        got = [message for at in range(0, len(text), size) for message in reader.feed(text[at:at + size])]
        equal(got, [sse.Message("job.ended", '{"a":\n1}', "7"), sse.Message("message", "x", "7")])
    raises(strata.errors.MalformedError, sse.Reader().feed, b"x" * (sse.EVENT_BYTES_MAX + 1))
    equal(rows.when("2026-11-15T14:05:00.123456789Z").microsecond, 123456)
    equal(answers.error_of(answers.Answer(500, {}, b"<html>")).code, 5)


class Nothing:
    """For tests that need no service."""

    def close(self):
        pass

    def said(self):
        return ""


def make(test):
    return Nothing() if test in (a_server_is_found_as_the_command_finds_it, what_may_be_repeated_is, streams_are_read_however_they_are_cut) \
        else Service(*getattr(test, "arguments", []))



run_with(make, a_server_is_found_as_the_command_finds_it, jobs_are_submitted_followed_and_ended, the_callers_directory_and_environment_are_the_jobs,
         errors_have_the_services_sentence_and_field, over_tcp_a_token_counts, what_may_be_repeated_is, tables_show_themselves,
         events_go_on_over_a_restart, pictures_come_with_progress_and_preview, the_async_client_does_the_same, streams_are_read_however_they_are_cut)
