#!/usr/bin/env python3
"""strata-webhooks by itself: lines in, lines out."""
import json
import os
import socket
import subprocess
import threading
import time

from service import STRATA, equal, run_with
from webhook_listener import Listener

PROGRAM = os.path.join(os.path.dirname(STRATA), "strata-webhooks")


class Nothing:
    """What these tests need of a service."""

    def said(self):
        return ""

    def close(self):
        pass


def send(*messages, addresses="127.0.0.1"):
    lines = "".join((message if isinstance(message, str) else json.dumps({"headers": [], "body": "{}", **message})) + "\n" for message in messages)
    done = subprocess.run([PROGRAM, "0", "0", addresses], input=lines, capture_output=True, text=True, timeout=60)
    return done.returncode, {line["id"]: (line["status"], line["error"]) for line in map(json.loads, done.stdout.splitlines())}, done.stderr


def many_are_sent_together(_):
    listener = Listener()
    start = time.time()
    code, answers, _ = send(*({"id": str(n), "url": listener.url(f"/{n}"), "body": str(n), "headers": ["X-Number: %d" % n]} for n in range(100)))
    equal((code, set(answers.values()), len(answers)), (0, {(204, None)}, 100))
    for path, headers, body in listener.messages:
        equal((path, headers["X-Number"]), ("/" + body.decode(), body.decode()))
    print(f"# 100 messages took {time.time() - start:.2f} s")
    listener.close()


def what_does_not_work_is_said(_):
    closed = socket.socket()
    closed.bind(("127.0.0.1", 0))
    code, answers, _ = send({"id": "a", "url": f"http://127.0.0.1:{closed.getsockname()[1]}/"}, {"id": "b", "url": "http://name.invalid/"},
                            {"id": "c", "url": "gopher://127.0.0.1/"}, {"id": "d", "url": "http://169.254.169.254/latest/meta-data"})
    equal((code, {id: status for id, (status, _) in answers.items()}), (0, dict.fromkeys("abcd", 0)))
    equal(answers["d"][1], "its address is not one that messages may go to")
    assert all(error for _, error in answers.values()), answers


def an_endless_answer_ends(_):
    """Whoever answers for ever holds nothing up for longer than a message may take."""
    server = socket.create_server(("127.0.0.1", 0))

    def talk():
        connection, _ = server.accept()
        connection.recv(10000)
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            while True:
                connection.sendall(b"x" * 65536)
                time.sleep(0.05)
        except OSError:
            pass
    threading.Thread(target=talk, daemon=True).start()
    start = time.time()
    _, answers, _ = send({"id": "a", "url": f"http://127.0.0.1:{server.getsockname()[1]}/"})
    equal(answers["a"][0], 0)
    assert "timed out" in answers["a"][1].lower(), answers
    assert time.time() - start < 40


def odd_lines_end_it(_):
    for line in ("", "[]", "nonsense", '{"id": 1}', '{"id": "a", "url": "http://127.0.0.1/"}'.replace("}", "")):
        code, answers, said = send(line)
        assert code != 0 and answers == {} and said.startswith("strata-webhooks: "), (line, code, answers, said)
    code, _, said = send("x" * (1 << 20))
    assert code != 0 and "more than 1048576 bytes" in said, said
    equal(subprocess.run([PROGRAM], capture_output=True).returncode, 2)


run_with(lambda test: Nothing(), many_are_sent_together, what_does_not_work_is_said, an_endless_answer_ends, odd_lines_end_it)
