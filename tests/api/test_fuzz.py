#!/usr/bin/env python3
"""Requests that nobody would send, to a running service: bytes changed, lost, doubled, spliced. It answers or hangs up, and goes on.

STRATA_FUZZ_SECONDS says for how long, STRATA_SEED where chance begins. All nodes are drained, so that nothing that gets through is run."""
import itertools
import json
import os
import random
import socket
import time

from service import equal, run

SECONDS = float(os.environ.get("STRATA_FUZZ_SECONDS", "4"))
SEED = int(os.environ.get("STRATA_SEED", "1"))
JOB = {"command": ["true"], "hold": True, "gpus": 1, "array": "1-3%2", "time_limit": "2h", "environment": {"A": "b"},
       "dependencies": "afterany:1", "begin": "2099-01-01T00:00:00Z", "gpu_type": "a100|h100", "working_dir": "/tmp"}


def seeds():
    bodies = [("POST", "/api/v1/jobs", JOB), ("POST", "/api/v1/jobs", {"jobs": [JOB, JOB]}),
              ("PATCH", "/api/v1/jobs/1", {"hold": True, "priority": "high", "nice": 3, "begin": "now+1hour"}),
              ("PATCH", "/api/v1/nodes/n1", {"state": "drained", "reason": "test"}),
              ("PUT", "/api/v1/users/ann", {"weight": 2, "limits": {"jobs": 3}}), ("DELETE", "/api/v1/jobs/1", None),
              ("PUT", "/api/v1/accounts/lab", {"parent": "lab", "allowed_qos": ["fast"], "raise_priority": True}),
              ("PUT", "/api/v1/qos/fast", {"priority": 5, "default": True, "open": True}), ("DELETE", "/api/v1/qos/fast", None),
              ("PATCH", "/api/v1/partitions/gpu", {"state": "drain", "allowed_users": ["ann"], "allowed_accounts": []}),
              ("POST", "/api/v1/jobs", {**JOB, "account": "lab", "qos": "fast", "partition": "all", "nice": -1}),
              ("POST", "/api/v1/tokens", {"user": "root", "role": "user", "expires_in": 10}),
              ("POST", "/api/v1/reservations", {"job_id": "x", "node": "n1", "gpus": 1}),
              ("POST", "/api/v1/slurm/sbatch", "#!/bin/sh\n#SBATCH --gres=gpu:2 -t 1:00 --hold\ntrue\n"),
              ("GET", "/api/v1/jobs?state=queued,running&user=root&limit=3&after=2", None), ("GET", "/api/v1/queue?limit=2", None),
              ("GET", "/api/v1/jobs/1/why", None), ("GET", "/api/v1/events?format=json&after=1&limit=2", None),
              ("GET", "/api/v1/jobs/1/output?from=0", None), ("GET", "/metrics", None), ("GET", "/openapi.json", None)]
    for (method, path, body), token in itertools.product(bodies, ("", "Authorization: Bearer strata_x\r\n")):
        text = (body if isinstance(body, str) else json.dumps(body)).encode() if body is not None else b""
        head = f"{method} {path} HTTP/1.1\r\nHost: x\r\n{token}Idempotency-Key: k\r\n"
        yield head.encode() + b"Content-Length: %d\r\n\r\n" % len(text) + text
        if text:
            yield head.encode() + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % len(text) + text + b"\r\n0\r\n\r\n"


def mutate(chance, corpus):
    data = bytearray(chance.choice(corpus))
    for _ in range(chance.choice((0, 1, 1, 2, 4, 16))):
        at, kind = chance.randrange(len(data) + 1), chance.randrange(7)
        if kind == 0 and at < len(data):
            data[at] = chance.randrange(256)
        elif kind == 1:
            data[at:at + chance.randrange(1, 30)] = b""
        elif kind == 2:
            data[at:at] = data[at:at + chance.randrange(1, 60)] * chance.choice((1, 2, 50))
        elif kind == 3:
            other = chance.choice(corpus)
            data[at:] = other[chance.randrange(len(other)):]
        elif kind == 4:
            data[at:at] = chance.choice((b"\r\n", b"\0", b": ", b"%", b"\xff", b"-1", b"99999999999999999999", b"{", b"[" * 3000, b'"'))
        elif kind == 5:
            data[at:at] = bytes(chance.randrange(256) for _ in range(chance.randrange(1, 20)))
        elif kind == 6 and at < len(data):
            data[at] ^= 1 << chance.randrange(8)
        data = data or bytearray(b"G")
    return bytes(data)


def send(service, data, chance):
    """True: there was an answer, and it was one."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.settimeout(0.05)
        sock.connect(service.socket)
        try:
            cut = chance.randrange(len(data)) if chance.random() < 0.2 else len(data)
            sock.sendall(data[:cut])
            sock.sendall(data[cut:])
            if chance.random() < 0.5:
                sock.shutdown(socket.SHUT_WR)
            answer = sock.recv(65536)
        except OSError:  # it waits for more, or has hung up
            return False
        assert not answer or answer.startswith(b"HTTP/1."), (data, answer[:100])
        return bool(answer)


def nothing_stops_it(service):
    for name in ("n1", "n2", "n3"):
        service.api("PATCH", f"/nodes/{name}", {"state": "drained"})
    job = service.submit("true", hold=True)["id"]
    corpus, chance = list(seeds()), random.Random(SEED)
    deadline, sent, answered = time.time() + SECONDS, 0, 0
    while time.time() < deadline:
        answered += send(service, mutate(chance, corpus), chance)
        sent += 1
        if sent % 200 == 0:
            equal(service.ask("GET", "/healthz")[0], 200)
            assert service.process.poll() is None, service.said()
    print(f"# seed {SEED}: {sent} requests, {answered} answered", flush=True)
    assert answered > sent / 10
    equal(service.process.poll(), None)
    equal(service.job(job)["id"], job)
    assert "ERROR" not in service.said() and "runtime error" not in service.said(), service.said()[-2000:]
    service.kill()
    service.start()
    equal(service.job(job)["id"], job)


run(nothing_stops_it)
