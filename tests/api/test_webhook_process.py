#!/usr/bin/env python3
"""The process that sends messages: without rights, and no loss when it ends."""
import os
import signal
import time

from service import PATIENCE_S, Service, equal, run_with
from webhook_listener import LOOPBACK, Listener


def senders(service):
    """Process ids of the service's own."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as stat, open(f"/proc/{pid}/cmdline") as line:
                if int(stat.read().rsplit(")", 1)[1].split()[1]) == service.process.pid and "strata-webhooks" in line.read():
                    found.append(int(pid))
        except OSError:
            pass
    return found


def it_has_no_rights(service):
    listener = Listener()
    equal(senders(service), [])  # nobody asked for it
    service.submit("true", webhook=listener.url())
    listener.wait()
    (pid,) = senders(service)
    with open(f"/proc/{pid}/status") as file:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in file)
    if os.geteuid() == 0:
        assert "0" not in status["Uid"].split() and "0" not in status["Gid"].split() and not status["Groups"].strip(), status
    equal((status["NoNewPrivs"], int(status["CapEff"], 16)), ("1", 0))
    files = sorted(os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd"))
    assert not any(service.dir in name and not name.endswith("/log") for name in files), files
    listener.close()


def messages_of_one_that_was_killed_are_sent_again(service):
    listener = Listener()
    service.submit("true", webhook=listener.url())
    listener.wait()
    (pid,) = senders(service)
    os.kill(pid, signal.SIGSTOP)
    service.submit("true", webhook=listener.url())
    deadline = time.time() + PATIENCE_S
    while service.job(2)["state"] != "completed":
        assert time.time() < deadline
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    equal([message["job"]["id"] for message in listener.wait(2)], [1, 2])
    listener.close()


def one_that_does_not_go_on_holds_up_nobody(service):
    """It is stopped, and there is more to tell it than fits into a pipe: the service decides, and ends when it is told to."""
    listener = Listener()
    service.submit("true", webhook=listener.url())
    listener.wait()
    (pid,) = senders(service)
    os.kill(pid, signal.SIGSTOP)
    service.api("POST", "/models/digits/pause", {})
    tasks = [service.api("POST", "/generate", {"prompt": "\x01" * 16000, "webhook": listener.url()}, 201)["id"] for _ in range(8)]
    for task in tasks:
        service.api("DELETE", f"/tasks/{task}")
    equal(len(service.api("GET", "/webhooks")["waiting"]), 8)
    equal(service.kill(signal.SIGTERM), 0)
    service.start()  # nothing is lost
    listener.wait(9)
    listener.close()


def it_ends_with_the_service(service):
    listener = Listener()
    service.submit("true", webhook=listener.url())
    listener.wait()
    (pid,) = senders(service)
    service.kill()
    deadline = time.time() + PATIENCE_S
    while os.path.exists(f"/proc/{pid}"):
        assert time.time() < deadline, "it goes on without the service"
        time.sleep(0.02)
    service.start()
    listener.close()


run_with(lambda test: Service(*LOOPBACK), it_has_no_rights, messages_of_one_that_was_killed_are_sent_again,
         one_that_does_not_go_on_holds_up_nobody, it_ends_with_the_service)
