#!/usr/bin/env python3
"""Callers that do not get to the point, and those that want all the room there is."""
import json
import os
import pwd
import re
import resource
import select
import socket
import time

from service import NOBODY, PATIENCE_S, Skip, arguments, as_nobody, equal, run


def limit(name):
    with open(os.path.join(os.environ.get("STRATA_SOURCE", "."), "include/strata/limits.h")) as file:
        return int(re.search(rf"{name}\s*=\s*(\d+)", file.read())[1])


SHARE = limit("STRATA_SERVER_CONNECTIONS_EACH_MAX")
TOGETHER = 16  # threads that let callers in: of so many that come together any may be the first


def raise_limit(wanted):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard != resource.RLIM_INFINITY and hard < wanted:
        raise Skip(f"only {hard} descriptors are allowed here (ulimit -Hn); {wanted} are needed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def connect(service, port=None, data=b"GET /api/v1/queue HTTP/1.1\r\nHost: x\r\n"):
    """A connection that says half of what it wants."""
    sock = socket.socket(socket.AF_INET if port else socket.AF_UNIX, socket.SOCK_STREAM)
    while sock.connect_ex(("127.0.0.1", port) if port else service.socket):
        time.sleep(0.005)  # more than wait to be let in
    try:
        sock.sendall(data)
    except OSError:
        pass  # hung up on already
    return sock


def is_open(sock):
    """False: the other end has hung up."""
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    if not poll.poll(0):
        return True
    try:
        return sock.recv(65536, socket.MSG_PEEK) != b""
    except OSError:
        return False


def settle(socks, wanted):
    deadline = time.time() + PATIENCE_S
    while (count := sum(map(is_open, socks))) > wanted and time.time() < deadline:
        time.sleep(0.05)
    return count


def one_of_the_oldest_is_gone(socks):
    gone = [n for n, sock in enumerate(socks) if not is_open(sock)]
    assert len(gone) == 1 and gone[0] < TOGETHER, gone


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


@arguments("--request-timeout", "10min")
def a_user_has_a_share_and_the_newest_gets_in(service):
    raise_limit(SHARE + 200)
    held = [connect(service) for _ in range(SHARE)]
    equal(settle(held, SHARE), SHARE)
    held.append(connect(service))  # one more
    equal(settle(held, SHARE), SHARE)
    one_of_the_oldest_is_gone(held)
    equal(service.ask("GET", "/healthz")[0], 200)
    for sock in held:
        sock.close()


@arguments("--request-timeout", "10min")
def what_waits_for_us_is_not_given_up_for_it(service):
    raise_limit(SHARE + 200)
    stream = b"GET /api/v1/events HTTP/1.1\r\nHost: x\r\n\r\n"
    held = []
    for _ in range(SHARE):
        held.append(connect(service, data=stream))
        held[-1].settimeout(PATIENCE_S)
        assert held[-1].recv(1000).startswith(b"HTTP/1.1 200"), len(held)
    with connect(service, data=b"") as more:
        more.settimeout(PATIENCE_S)
        answer = more.recv(1000)
    assert answer.startswith(b"HTTP/1.1 429 "), answer
    equal(json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"], "quota")
    equal(settle(held, SHARE), SHARE)
    if os.geteuid() == 0:
        equal(as_nobody(service, "GET", "/api/v1/nodes")[0], 200)
    for sock in held:
        sock.close()


@arguments("--request-timeout", "10min", "--listen", "127.0.0.1:0")
def one_user_locks_nobody_out(service):
    """16,000 connections of one user: most of them are hung up on, and all others get in."""
    wanted = 16000
    raise_limit(wanted + 500)
    if os.geteuid() != 0:
        raise Skip("only root can be two users")
    port, token = service.port(), service.api("POST", "/tokens", {}, 201)["token"]
    here, there = os.pipe()
    go_here, go_there = os.pipe()
    child = os.fork()
    if child == 0:
        entry = pwd.getpwnam(NOBODY)
        os.setgid(entry.pw_gid)
        os.setuid(entry.pw_uid)
        held = [connect(service) for _ in range(wanted)]
        os.write(there, b"x")
        os.read(go_here, 1)
        os.write(there, b"%d\n" % settle(held, SHARE))
        os._exit(0)
    took = []
    while not select.select([here], [], [], 0)[0] or len(took) < 50:
        start = time.time()
        equal(service.ask("GET", "/api/v1/nodes")[0], 200)
        equal(service.ask("GET", "/api/v1/nodes", tcp=True, token=token)[0], 200)
        took.append(time.time() - start)
        if len(took) % 10 == 0:
            equal(as_nobody(service, "GET", "/api/v1/nodes")[0], 200)  # the newest gets in
    os.read(here, 1)
    os.write(go_there, b"x")
    still = int(os.read(here, 100))
    os.waitpid(child, 0)
    print(f"# {wanted} connections of one user: {still} stay; two requests of others took {max(took) * 1000:.0f} ms at most, {len(took)} times", flush=True)
    assert 0 < still <= SHARE, still


@arguments("--request-timeout", "10min", "--listen", "127.0.0.1:0")
def an_address_has_a_share_until_a_token_is_shown(service):
    raise_limit(2 * SHARE + 500)
    port, token = service.port(), service.api("POST", "/tokens", {}, 201)["token"]
    strangers = [connect(service, port) for _ in range(SHARE + 1)]
    equal(settle(strangers, SHARE), SHARE)
    one_of_the_oldest_is_gone(strangers)
    stream = f"GET /api/v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
    known = []
    for _ in range(SHARE + 1):
        known.append(connect(service, port, stream))
        known[-1].settimeout(PATIENCE_S)
        first = known[-1].recv(1000)[:12]
        equal(first, b"HTTP/1.1 200" if len(known) <= SHARE else b"HTTP/1.1 429")
    equal(service.ask("GET", "/healthz", tcp=True)[0], 200)
    if os.geteuid() == 0:
        equal(as_nobody(service, "GET", "/api/v1/nodes")[0], 200)  # the socket has room of its own
    for sock in strangers + known:
        sock.close()


run(a_user_has_a_share_and_the_newest_gets_in, what_waits_for_us_is_not_given_up_for_it, one_user_locks_nobody_out,
    an_address_has_a_share_until_a_token_is_shown, slow_senders_are_hung_up_on, those_who_wait_for_us_are_not)
