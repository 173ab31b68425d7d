#!/usr/bin/env python3
"""Settings read again while the service runs."""
import os
import signal
import time

from service import PATIENCE_S, equal, run


def said(service, words):
    deadline = time.time() + PATIENCE_S
    while words not in service.said():
        assert time.time() < deadline, service.said()
        time.sleep(0.02)


def with_file(test):
    def wrapped(service):
        path = os.path.join(service.dir, "strata.ini")

        def write(text):
            with open(path, "w") as file:
                file.write("[serve]\n" + text)

        write("time_limit = 10m\n")
        service.kill(signal.SIGTERM)
        service.args += ["--config", path, "--grace", "7s"]
        service.start()
        test(service, write)
    wrapped.__name__ = test.__name__
    return wrapped


def limit(service, **fields):
    return service.job(service.submit("true", hold=True, **fields)["id"])["time_limit_s"]


@with_file
def what_may_change_changes(service, write):
    equal(limit(service), 600)
    kept = service.submit("true", hold=True, time_limit="2h")["id"]
    write("time_limit = 20m\ntime_limit_max = 1h\n")
    service.process.send_signal(signal.SIGHUP)
    said(service, "the settings were read again")
    equal(limit(service), 1200)
    equal(limit(service, time_limit="unlimited"), 3600)
    equal(service.submit("true", time_limit="2h", status=400)["error"]["field"], "time_limit")
    assert "need a restart" not in service.said(), service.said()
    service.kill()
    service.start()
    equal(service.job(kept)["time_limit_s"], 7200)
    service.api("PATCH", f"/jobs/{kept}", {"hold": False})  # what was taken in before still runs
    service.wait(kept, "completed")


@with_file
def who_may_make_tokens_changes_for_requests_that_come(service, write):
    token = service.api("POST", "/tokens", {}, 201)["token"]
    service.api("POST", "/tokens", {}, 403, token=token)
    write("token_from_token = yes\n")
    service.process.send_signal(signal.SIGHUP)
    said(service, "the settings were read again")
    service.api("POST", "/tokens", {}, 201, token=token)


@with_file
def what_cannot_is_named(service, write):
    write("time_limit = 20m\ncluster_name = other\norder = sjf\n")
    service.process.send_signal(signal.SIGHUP)
    said(service, "these need a restart: cluster_name order")
    equal(limit(service), 1200)


@with_file
def a_mistake_changes_nothing(service, write):
    for text, words in [("time_limit = 20m\ngrcae = 5\n", "strata.ini:3: serve has no option 'grcae'"),
                        ("time_limit = 20m\norder = sooner\n", "there is no order 'sooner'"),
                        ("time_limit = 2d\ntime_limit_max = 1d\n", "time_limit is longer than time_limit_max")]:
        write(text)
        service.process.send_signal(signal.SIGHUP)
        said(service, words)
        assert "the settings stay as they were" in service.said(), service.said()
        equal(limit(service), 600)


def passwords_are_not_among_its_words(service):
    service.kill(signal.SIGTERM)
    service.args += ["--cluster-name", "x://ann:hush@here"]
    service.start()
    with open(f"/proc/{service.process.pid}/cmdline") as line:
        words = line.read()
    assert "hush" not in words and "x://ann:****@here" in words, words


run(what_may_change_changes, who_may_make_tokens_changes_for_requests_that_come, what_cannot_is_named, a_mistake_changes_nothing, passwords_are_not_among_its_words)
