#!/usr/bin/env python3
"""When jobs would start, without submitting them."""
import datetime
import os
import signal

from service import Skip, as_nobody, equal, rerun, run


def trials(service, *jobs, **more):
    return service.api("POST", "/trial", {"jobs": [{"working_dir": service.dir, **job} for job in jobs]}, **more)["trials"]


def when(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def a_trial_says_when_and_where(service):
    first = service.submit("sleep", "600", gpus=4, time_limit=7200)["id"]
    service.wait(first, "running")
    for _ in range(2):
        service.submit("sleep", "600", gpus=4, time_limit=3600)
    job = {"command": ["true"], "time_limit": 1800}
    none, four, many, long = trials(service, job, {**job, "gpus": 4}, {**job, "gpus": 8, "nodes": 2}, {**job, "time_limit": "31d"})
    assert abs(when(none["start_at"]) - when(service.api("GET", "/queue")["at"])) < 30, none
    equal(none["time_limit_s"], 1800)
    after = max(when(one["expected_end_at"]) for one in service.api("GET", "/queue")["jobs"] if one["expected_end_at"] and one["time_limit_s"] == 3600)
    assert abs(when(four["start_at"]) - after) < 5 and four["node"] in ("n1", "n2", "n3"), (four, after)
    assert when(many["start_at"]) >= after, many
    equal(long["error"]["field"], "time_limit")


def nothing_is_left_of_it(service):
    service.kill(signal.SIGTERM)
    service.args += ["--record", os.path.join(service.dir, "record")]
    service.start()
    equal(len(trials(service, *[{"command": ["true"], "gpus": gpus, "hold": gpus == 2} for gpus in range(5)])), 5)
    trials(service, {"command": ["true"], "array": "1-50"}, {"command": ["true"], "request_key": "a"}, {"command": ["true"], "gang": "g", "gang_size": 2})
    equal(service.api("GET", "/queue")["jobs"], [])
    equal(service.api("GET", "/jobs")["jobs"], [])
    equal([event for event in service.api("GET", "/events?format=json")["events"] if event["kind"].startswith("job.")], [])
    job = service.submit("true")["id"]
    equal(job, 1)  # no number was used up
    service.wait(job, "completed")
    trials(service, {"command": ["true"]})
    equal(service.submit("true")["id"], 2)
    service.wait(2, "completed")
    service.kill(signal.SIGTERM)
    equal(rerun(service)["differing"], 0)  # what was decided around it can be decided over


def what_no_node_could_take_is_said(service):
    never, later = trials(service, {"command": ["true"], "gpus": 99}, {"command": ["true"], "gpus": 99, "queue_anyway": True})
    equal(never["error"]["code"], "impossible")
    assert "all nodes together have 12" in never["error"]["message"], never
    equal((later["start_at"], "error" in later), (None, False))


def each_is_tried_by_itself(service):
    wrong, good, odd = service.api("POST", "/trial", {"jobs": [{"command": ["true"], "gpus": -1}, {"command": ["true"], "gpus": 4}, 7]})["trials"]
    equal((wrong["error"]["field"], "error" in good, odd["error"]["code"]), ("gpus", False, "invalid"))
    assert "-1" in wrong["error"]["message"], wrong
    three = trials(service, *[{"command": ["true"], "gpus": 4}] * 4)
    assert len({one["start_at"] for one in three}) <= 2, three  # all of them now: none waits for another


def there_are_few_at_once(service):
    equal(len(trials(service, *[{"command": ["true"]}] * 8)), 8)
    for body in ({"jobs": []}, {"jobs": [{"command": ["true"]}] * 9}, {}, {"jobs": {}}):
        equal(service.ask("POST", "/api/v1/trial", body)[0], 400)
    equal(service.ask("POST", "/api/v1/trial", "nonsense")[0], 400)


def it_goes_through_the_same_door(service):
    if os.geteuid() != 0:
        raise Skip("it takes root to be somebody else")
    status, answer = as_nobody(service, "POST", "/api/v1/trial", {"jobs": [{"command": ["true"], "priority": "high", "working_dir": "/"}]})
    equal((status, answer["trials"][0]["error"]["code"]), (200, "forbidden"))


run(what_no_node_could_take_is_said, a_trial_says_when_and_where, nothing_is_left_of_it, each_is_tried_by_itself, there_are_few_at_once, it_goes_through_the_same_door)
