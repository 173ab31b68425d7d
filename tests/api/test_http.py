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


def head(line, *headers):
    return (line + " HTTP/1.1\r\nHost: x\r\n").encode() + b"".join(one + b"\r\n" for one in headers) + b"\r\n"


def status_of(answer):
    assert answer.startswith(b"HTTP/1.1 "), answer[:200]
    return int(answer[9:12])


def where_a_body_ends_is_clear_or_it_is_refused(service):
    for headers in [(b"Content-Length: 2", b"Content-Length: 3"), (b"Content-Length: 2", b"content-length: 2"),
                    (b"Transfer-Encoding: gzip",), (b"Transfer-Encoding: chunked", b"Content-Length: 2")]:
        answer = raw(service, head("POST /api/v1/jobs", *headers) + b"{} ")
        equal(status_of(answer), 400)
        assert b"where the body ends is not clear" in answer, answer
        assert b"Connection: close" in answer or b"connection: close" in answer.lower(), answer


def a_body_of_too_many_values_is_refused_before_it_costs_anything(service):
    most = 1 << 21
    for text, status in [(b'{"jobs":[' + b"0," * (most - 2) + b"0]}", 400), (b'{"jobs":[' + b"0," * (most - 1) + b"0]}", 413),
                         (b'{"script":"#!/bin/sh\\n' + b"[,\\\"{" * most + b'"}', 400)]:
        got, answer = service.ask("POST", "/api/v1/jobs", text)
        equal((got, "values" in answer["error"]["message"]), (status, status == 413))


def large_headers_are_answered(service):
    equal(status_of(raw(service, head("GET /healthz", b"X: " + b"a" * 16000))), 200)
    equal(status_of(raw(service, head("GET /healthz", b"X: " + b"a" * 40000))), 431)
    equal(status_of(raw(service, head("GET /healthz", *[b"X%d: %s" % (i, b"a" * 100) for i in range(400)]))), 431)
    equal(status_of(raw(service, head("GET /" + "a" * 40000))), 414)


def paths_that_are_not_text_are_refused(service):
    for path in ["/api/v1/jobs/1%00", "/api/v1/jobs/%00", "/api/v1/jobs/%zz", "/api/v1/jobs/%1", "/api/v1/jobs/%ff", "/api/v1/jobs/%1b%5b2J",
                 "/api/v1/jobs/%e2%80%ae", "/api/v1/jobs?user=%ff", "/api/v1/jobs?user=%00", "/api/v1/jobs?user=a%0Ab", "/api/v1/jobs?%ff=1"]:
        status, answer = service.ask("GET", path)
        equal((path, status, answer["error"]["code"]), (path, 400, "invalid"))
        assert answer["error"]["message"].isprintable(), answer
    equal(service.ask("GET", "/api/v1/jobs%00x")[0], 404)
    for sent in [b"\xff\xfe", b"a" * 79 + "\u00e9".encode() * 50]:  # cut in the middle of a character
        for path in (b"/api/v1/jobs/", b"/", b"/api/v1/jobs?state="):
            answer = raw(service, b"GET " + path + sent + b" HTTP/1.1\r\nHost: x\r\n\r\n")
            assert status_of(answer) in (400, 404), answer
            json.loads(answer.partition(b"\r\n\r\n")[2])


def a_name_may_have_a_slash(service):
    service.api("POST", "/reservations", {"job_id": "team/x", "gpus": 1}, 201)
    equal(service.ask("DELETE", "/api/v1/reservations/team/x")[0], 404)
    equal(service.api("DELETE", "/reservations/team%2Fx")["job_id"], "team/x")
    equal(service.api("GET", "/reservations")["reservations"], [])


def what_a_query_says_counts_or_is_refused(service):
    states = "one of queued, scheduled, running, preempted, completed, failed or cancelled"
    for path, words in [("/jobs?state=bogus", f"state is 'bogus'; expected {states}"), ("/queue?state=queued,run", f"state is 'run'; expected {states}"),
                        ("/jobs?limt=3", "the query has no option 'limt'; did you mean 'limit'?"), ("/jobs?limit=0", "limit is 0; expected 1 to 1000"),
                        ("/jobs?limit=1001", "limit is 1001; expected 1 to 1000"), ("/jobs?limit", "limit has no value"), ("/jobs?limit=", "limit is ''"),
                        ("/jobs?limit=1&limit=2", "limit is given twice"), ("/jobs?since=yesterdayish", "yesterdayish"), ("/nodes?x=1", "no option 'x'"),
                        ("/accounting?by=moon", "by is 'moon'; expected one of user, account, partition or day"), ("/events?format=xml", "format is 'xml'; expected one of"),
                        ("/jobs/1/output?follow=perhaps", "follow is 'perhaps'; expected true or false"), ("/queue?ended=2", "ended is '2'")]:
        error = service.api("GET", path, status=400)["error"]
        assert words in error["message"], (path, error)
        equal(error["field"], path.partition("?")[2].partition("=")[0])
    for path in ["/jobs?state=queued,running&user=ann&account=a&since=now-2days&limit=1000&after=0", "/queue?ended=1&limit=1", "/accounting?by=account&since=now-1h",
                 "/events?format=json&after=0&limit=1"]:
        service.api("GET", path)


def accounts_are_accounted_for(service):
    for account in ("red", "blue"):
        service.api("PUT", f"/accounts/{account}", {})
        service.submit("true", account=account, hold=True)
    equal({row["account"] for row in service.api("GET", "/accounting?by=account")["rows"]}, {"red", "blue"})
    equal(len(service.api("GET", "/accounting")["rows"]), 1)


def what_is_waited_for_must_be_there(service):
    job = service.submit("false")["id"]
    service.wait(job, "failed")
    service.kill()
    service.start()  # it is of the history now
    for dependency, status in [(f"afterok:{job}", (201,)), (f"afternotok:{job}", (201,)), ("afterok:77", (404,)), (f"afterok:{job + 50}", (404,)),
                               ("afterok:0", (400, 404)), ("afterok:99999999999999999999", (400,)), ("after", (400,)), ("singleton:1", (400,))]:
        got, answer = service.ask("POST", "/api/v1/jobs", {"command": ["true"], "hold": True, "dependencies": dependency})
        assert got in status, (dependency, got, answer)
        if got != 201:
            equal(answer["error"]["field"], "dependencies")


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
        raise Skip("another user is needed")
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


run(odd_requests_are_refused, a_body_of_too_many_values_is_refused_before_it_costs_anything, where_a_body_ends_is_clear_or_it_is_refused, large_headers_are_answered, paths_that_are_not_text_are_refused,
    a_name_may_have_a_slash, what_a_query_says_counts_or_is_refused, accounts_are_accounted_for, what_is_waited_for_must_be_there, paths_and_methods_are_known_or_not, jobs_run_as_who_submitted_them, half_open_connections_disturb_nobody)
