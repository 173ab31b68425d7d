#!/usr/bin/env python3
"""The service's own trace: rounds, commits, what the executor is told and reports."""
from datetime import datetime

from service import equal, run


def named(trace, name):
    return [event for event in trace["traceEvents"] if event.get("name") == name]


def a_job_is_followed_from_its_commit_to_its_end(service):
    job = service.submit("sleep", "0.2")["id"]
    service.wait(job, "completed")
    trace = service.api("GET", "/trace")
    equal(trace["otherData"]["clock"], "realtime")
    assert named(trace, "commit")[0]["args"]["changes"] >= 1
    for name in ("requests", "pass", "carrying out", "start"):
        assert named(trace, name), name
    started, ended = named(trace, "started")[0]["ts"], named(trace, "ended")[0]["ts"]
    assert 150e3 < ended - started < 10e6, (started, ended)  # microseconds: exact, not to the second
    assert named(trace, "start")[0]["ts"] < started
    flows = [event for event in trace["traceEvents"] if event["ph"] in "st" and int(str(event["id"]), 0) == job]
    equal([event["ph"] for event in sorted(flows, key=lambda event: event["ts"])], ["s", "t", "t"])


def what_is_older_may_be_left_out(service):
    service.wait(service.submit("true")["id"], "completed")
    assert named(service.api("GET", "/trace?since=2000-01-01"), "commit")
    equal(named(service.api("GET", "/trace?since=2100-01-01"), "commit"), [])
    equal(service.api("GET", "/trace?since=whenever", status=400)["error"]["field"], "since")


def events_tell_exact_times(service):
    job = service.submit("sleep", "0.3")["id"]
    service.wait(job, "completed")
    events = {event["kind"]: event for event in service.api("GET", "/events?format=json&limit=1000")["events"] if event["job"] == job}
    started, ended = (events["job." + what]["about"][what + "_at"] for what in ("started", "ended"))
    took = [datetime.fromisoformat(text.replace("Z", "+00:00")[:26] + "+00:00") for text in (started, ended)]
    assert 0.25 < (took[1] - took[0]).total_seconds() < 10, (started, ended)
    assert "." in events["job.submitted"]["at"], events


run(a_job_is_followed_from_its_commit_to_its_end, what_is_older_may_be_left_out, events_tell_exact_times)
