#!/usr/bin/env python3
"""What becomes of requests, and of what is none."""
import json
import os
import resource
import socket
import time

from service import NOBODY, Skip, as_nobody, equal, run


def raw(service, data, seconds=5):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.settimeout(seconds)
        sock.connect(service.socket)
        sock.sendall(data)
        answer = b""
        try:
            while chunk := sock.recv(65536):
                answer += chunk
                if b"\r\n\r\n" in answer and (b"Content-Length: 0" in answer or answer.rstrip().endswith(b"}")):
                    break
        except OSError:
            pass  # closed, or nothing more comes
        return answer


def odd_requests_are_refused(service):
    for data in [b"POST /api/v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
                 b"GET /api/v1/queue HTTP/1.1\r\nHost : x\r\n\r\n",
                 b"NONSENSE\r\n\r\n",
                 b"GET /" + b"x" * 100000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
                 b"POST /api/v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n"]:
        answer = raw(service, data)
        assert not answer.startswith(b"HTTP/1.1 2"), answer[:200]
    equal(service.ask("GET", "/healthz")[0], 200)


def paths_and_methods_are_known_or_not(service):
    equal(service.ask("GET", "/api/v1/nothing")[0], 404)
    equal(service.ask("PUT", "/api/v1/jobs")[0], 405)
    equal(service.ask("GET", "/api/v1/jobs/")[0], 404)
    equal(service.ask("GET", "/api/v1/jobs/77")[0], 404)
    equal(service.ask("GET", "/api/v1/jobs/..%2f..")[0], 404)
    equal(service.ask("POST", "/api/v1/jobs", "no json")[0], 400)
    equal(service.ask("POST", "/api/v1/jobs", "[1]")[0], 400)
    equal(service.ask("POST", "/api/v1/jobs", "[" * 100000)[0], 400)


def jobs_run_as_who_submitted_them(service):
    if os.geteuid() != 0:
        return
    os.chmod(service.dir, 0o777)
    status, made = as_nobody(service, "POST", "/api/v1/jobs",
                             {"command": ["id", "-un"], "working_dir": service.dir, "output": "who"})
    equal(status, 201)
    service.wait(made["id"], "completed")
    equal(service.output("who"), NOBODY + "\n")


def half_open_connections_disturb_nobody(service):
    wanted, hard = 10000, resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard != resource.RLIM_INFINITY and hard < wanted + 200:
        raise Skip(f"only {hard} descriptors are allowed here (ulimit -Hn); {wanted + 200} are needed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    held = []
    try:
        for _ in range(wanted):
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            while sock.connect_ex(service.socket):
                time.sleep(0.01)  # more than wait to be let in
            sock.sendall(b"POST /api/v1/jobs HTTP/1.1\r\nHost: x\r\n")
            held.append(sock)
        start = time.time()
        equal(service.ask("GET", "/healthz")[0], 200)
        service.wait(service.submit("true")["id"], "completed")
        assert time.time() - start < 20
    finally:
        for sock in held:
            sock.close()


run(odd_requests_are_refused, paths_and_methods_are_known_or_not, jobs_run_as_who_submitted_them, half_open_connections_disturb_nobody)
