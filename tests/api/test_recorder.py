#!/usr/bin/env python3
"""The record of a service: what it decided comes out again, whatever happened; and it is no burden."""
import os
import random
import time

from service import PATIENCE_S, Service, equal, rerun, run_with

PLACES = [{"cpus_per_task": 1}, {"gpus": 1}, {"gpus": 4, "cpus_per_task": 8}, {"nodes": 2, "tasks": 2, "gpus_per_node": 1}]


class Recorded(Service):
    def __init__(self, *args):
        super().__init__(*args)
        self.kill()
        self.args += ["--record", os.path.join(self.dir, "record")]
        self.start()


def people(service):
    service.api("PUT", "/accounts/lab", {"weight": 2})
    service.api("PUT", "/users/root", {"account": "lab", "limits": {"jobs": 8}})
    service.api("PUT", "/qos/fast", {"priority": 10, "usage_factor": 2})
    service.api("GET", "/users")


def live(service, chance):
    """A bit of everything, in an order of its own."""
    jobs = []
    for number in range(40):
        fields = dict(chance.choice(PLACES), time_limit="60s", priority=chance.choice(["low", "normal", "high"]))
        if jobs and chance.random() < 0.2:
            fields["dependency"] = f"after{chance.choice(['ok', 'any', ''])}:{chance.choice(jobs)}"
        if chance.random() < 0.2:
            fields["qos"] = "fast"
        if chance.random() < 0.3:
            fields["preemptible"] = True
        if chance.random() < 0.1:
            fields["array"] = "0-3%2"
        answer = service.submit("sleep", f"{chance.uniform(0, 0.3):.2f}", **fields)
        jobs.append(answer.get("id") or answer["ids"][0])
        one = chance.choice(jobs)
        do = chance.choice([{"hold": True}, {"hold": False}, {"requeue": True}, {"suspend": True}, {"suspend": False},
                            {"time_limit": "5m"}, {"priority": "high"}, "cancel", None, None, None])
        if do == "cancel":
            service.ask("DELETE", f"/api/v1/jobs/{one}")
        elif do:
            service.ask("PATCH", f"/api/v1/jobs/{one}", do)
        if number == 20:
            service.api("PATCH", "/nodes/n1", {"state": "drained", "reason": "a look inside"})
        if number == 30:
            service.api("PATCH", "/nodes/n1", {"state": "up"})
        if chance.random() < 0.1:
            service.api("GET", f"/jobs/{one}/why")
    return jobs


def everything_comes_out_again(service):
    chance = random.Random(7)
    people(service)
    for kill in (True, True, False):
        live(service, chance)
        if kill:
            service.kill()
            service.start()
    deadline = time.time() + PATIENCE_S
    while any(job["state"] == "running" for job in service.api("GET", "/queue")["jobs"]) and time.time() < deadline:
        time.sleep(0.1)
    found = rerun(service)
    equal(found["differing"], 0)
    equal(found["clusters"], 3)
    assert found["starts"] > 40, found
    print(f"# {found['events']} events, {found['passes']} passes, {found['starts']} starts, {found['decisions']} decisions")


def a_record_that_is_full_ends_and_is_put_aside(service):
    service.kill()
    service.args += ["--record-max", "1MiB"]
    service.start()
    jobs = [{"command": ["true"], "hold": True, "name": "x" * 100}] * 5000
    service.api("POST", "/jobs", {"jobs": jobs}, 201)
    service.wait(service.submit("true")["id"], "completed")  # the service goes on
    assert "as large as record_max allows" in service.said(), service.said()
    size = os.path.getsize(os.path.join(service.dir, "record"))
    equal(rerun(service)["differing"], 0)
    service.kill()
    service.start()
    equal(os.path.getsize(os.path.join(service.dir, "record.old")), size)


def one_that_cannot_be_written_is_said_at_once(service):
    service.kill()
    service.args[-1] = "/nowhere/record"
    try:
        service.start()
        raise AssertionError("it started")
    except AssertionError as trouble:
        assert "the record /nowhere/record cannot be used: No such file" in str(trouble), trouble


run_with(lambda test: Recorded(), everything_comes_out_again, a_record_that_is_full_ends_and_is_put_aside,
         one_that_cannot_be_written_is_said_at_once)
