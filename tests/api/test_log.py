#!/usr/bin/env python3
"""The log of the service and of its supervisors: one form, one line each, filtered by level."""
import json
import os
import signal

from service import equal, run


def again(service, *words):
    service.kill(signal.SIGTERM)
    service.args += words
    with open(os.path.join(service.dir, "log"), "w"):
        pass
    service.start()


def lines(service):
    return [json.loads(line) for line in service.said().splitlines()]


def where_no_terminal_is_it_is_logfmt(service):
    first = service.said().splitlines()[0]
    assert first.startswith("time=20") and ' level=info component=service msg="serving on ' in first, first


def json_lines_carry_the_job(service):
    again(service, "--log-format", "json")
    job = service.submit("python3", "-c", "x = bytearray(200 << 20); import time; time.sleep(60)", memory="50M")["id"]
    service.wait(job, "failed")
    about = [line for line in lines(service) if line["component"] == "supervisor"]
    equal([(line["level"], line["job"], line["attempt"]) for line in about], [("warning", job, 1)])
    assert "bytes of memory" in about[0]["msg"], about
    equal(lines(service)[0]["component"], "service")
    assert all(set(line) >= {"time", "level", "component", "msg"} for line in lines(service)), service.said()


def a_level_leaves_out_what_is_below(service):
    again(service, "--log-level", "error")
    service.wait(service.submit("true")["id"], "completed")
    equal(service.said(), "")


if __name__ == "__main__":
    run(where_no_terminal_is_it_is_logfmt, json_lines_carry_the_job, a_level_leaves_out_what_is_below)
