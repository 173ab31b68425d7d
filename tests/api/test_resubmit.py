#!/usr/bin/env python3
"""A job that has ended can be submitted again, as it was."""
import os

from service import equal, run


def one_that_has_ended_is_submitted_again_as_it_was(service):
    out = os.path.join(service.dir, "out-%j")
    first = service.submit(script="#!/bin/sh\necho $GREETING $1\n", arguments=["there"], environment={"GREETING": "hello"}, output=out, name="again",
                           nice=3)["id"]
    service.wait(first, "completed")
    second = service.api("POST", f"/jobs/{first}/resubmit", status=201)["id"]
    assert second > first, second
    service.wait(second, "completed")
    with open(os.path.join(service.dir, f"out-{second}")) as file:
        equal(file.read(), "hello there\n")
    equal((service.job(second)["name"], service.job(second)["nice"]), ("again", 3))
    service.kill()
    service.start()
    service.wait(service.api("POST", f"/jobs/{first}/resubmit", status=201)["id"], "completed")
    waiting = service.submit("true", hold=True)["id"]
    assert "has not ended" in service.api("POST", f"/jobs/{waiting}/resubmit", status=409)["error"]["message"]
    service.api("POST", "/jobs/999999/resubmit", status=404)


def an_element_that_has_ended_keeps_its_index(service):
    array = service.submit("sh", "-c", "exit $STRATA_ARRAY_TASK_ID", array="0-3%2")["id"]
    service.wait(array + 3, "failed")
    again = service.api("POST", f"/jobs/{array}_3/resubmit", status=201)["id"]
    ended = service.wait(again, "failed")
    equal((ended["exit_code"], ended["array_index"]), (3, 3))


run(one_that_has_ended_is_submitted_again_as_it_was, an_element_that_has_ended_keeps_its_index)
