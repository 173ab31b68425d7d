"""Workers for tests of generation: the service starts a program that does nothing, and the test speaks the protocol with its token."""

import atexit
import http.client
import json
import os
import shutil
import struct
import tempfile
import time
import zlib

from service import PATIENCE_S, Connection, Service

_dir = tempfile.mkdtemp(prefix="strata-worker-")
os.chmod(_dir, 0o755)
PROGRAM = os.path.join(_dir, "worker")
with open(PROGRAM, "w") as _file:
    _file.write("#!/bin/sh\nexec sleep 600\n")
os.chmod(PROGRAM, 0o755)
atexit.register(shutil.rmtree, _dir, ignore_errors=True)
FAKE = ("--worker-program", PROGRAM)


def fake_service(test):
    return Service(*FAKE, *getattr(test, "arguments", []))


def png(shade=0, width=2, height=2):
    """A picture of one shade of grey."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = (b"\0" + bytes([shade]) * width) * height
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) +
            chunk(b"IEND", b""))


class Worker:
    """One that the service has started for a model."""

    def __init__(self, service, model="digits", but=()):
        self.service, self.held = service, {}
        deadline = time.time() + PATIENCE_S
        while True:
            jobs = [job for job in service.api("GET", "/queue")["jobs"]
                    if job["name"] == f"worker-{model}" and job["state"] == "running" and job["id"] not in but]
            if jobs:
                self.job = jobs[0]["id"]
                try:
                    with open(os.path.join(service.state, "jobs", f"{self.job}.{jobs[0]['attempt']}.token")) as file:
                        self.token = file.read().strip()
                    return
                except FileNotFoundError:
                    pass  # a kill of the service came while it was started: this attempt is over, the next one comes
            assert time.time() < deadline, "no worker is started"
            time.sleep(0.02)

    def ask(self, method, path, body=None):
        return self.service.ask(method, "/api/v1/worker" + path, body, token=self.token)

    def pick(self, wait_ms=0, holding=None, **more):
        status, answer = self.ask("POST", "/pick", {"wait_ms": wait_ms, "holding": list(self.held) if holding is None else holding, **more})
        assert status == 200, (status, answer)
        self.held = {task["id"]: task for task in answer["tasks"]}
        return answer

    def report(self, kind="steps", steps=1, only=None, **more):
        """About all that it holds."""
        rows = [{"id": id, "kind": kind if only in (None, id) else "steps", "steps": steps, "cost_ns": 1000000, **(more if only in (None, id) else {})}
                for id in self.held]
        status, answer = self.ask("POST", "/done", {"rows": rows})
        if status == 200 and kind != "steps":
            self.held = {id: task for id, task in self.held.items() if only not in (None, id)}
        return status, answer

    def send(self, picture):
        status, answer = self.ask("PUT", "/image", picture)
        assert status == 201, (status, answer)
        return answer["hash"]

    def finish(self, picture=None, only=None):
        picture = picture or png()
        status, answer = self.report("finished", 1, only, images=[self.send(picture)], width=2, height=2)
        assert status == 200, (status, answer)

    def work(self, count=1):
        """Makes so many pictures; the ids, in order."""
        done = []
        deadline = time.time() + PATIENCE_S
        while len(done) < count:
            if self.pick(1000)["tasks"]:
                ids = list(self.held)
                self.finish()
                done += ids
            assert time.time() < deadline, done
        return done


def generate(service, prompt="a seven", status=201, headers=None, query="", **fields):
    return service.api("POST", "/generate" + query, {"prompt": prompt, **fields}, status, headers=headers)


def raw(service, path, headers=None):
    """Status, headers and bytes."""
    connection = Connection(service.socket)
    try:
        connection.request("GET", "/api/v1" + path, None, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


__all__ = ["FAKE", "PROGRAM", "Worker", "fake_service", "generate", "http", "json", "png", "raw"]
