#!/usr/bin/env python3
"""Callers that do not get to the point."""
import socket
import time

from service import PATIENCE_S, arguments, equal, run


def drip(service, data, pause):
    """Sends a byte now and then; the seconds until the other end hangs up."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.settimeout(pause)
        sock.connect(service.socket)
        start = time.time()
        for byte in data:
            try:
                sock.send(bytes([byte]))
                if sock.recv(1000) == b"":
                    break
            except TimeoutError:
                continue
            except OSError:
                break
            assert time.time() - start < PATIENCE_S, "nobody hung up"
        return time.time() - start


@arguments("--request-timeout", "2s")
def slow_senders_are_hung_up_on(service):
    head = b"POST /api/v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n" + b"{" * 5000
    assert 1.5 < drip(service, b"GET /" + b"x" * 5000, 0.2)
    assert 1.5 < drip(service, head, 0.05)
    equal(service.ask("GET", "/healthz")[0], 200)


@arguments("--request-timeout", "1s")
def those_who_wait_for_us_are_not(service):
    job = service.submit("sleep", "3")["id"]
    connection, answer = service.follow(f"/jobs/{job}/output?follow=1")
    equal((answer.read(), service.job(job)["state"]), (b"", "completed"))
    connection.close()


run(slow_senders_are_hung_up_on, those_who_wait_for_us_are_not)
