#!/usr/bin/env python3
"""The record of a service: what it decided comes out again, whatever happened; and it is no burden."""
import os
import random
import re
import time

from fake_worker import FAKE, Worker
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


def pools_come_out_again(service):
    """Several users and models, cancels, other priorities, a lost worker, a kill: nothing is decided otherwise."""
    chance = random.Random(11)
    nobody, daemon = (service.api("POST", "/tokens", {"user": user, "role": "user"}, 201)["token"] for user in ("nobody", "daemon"))
    service.api("PUT", "/accounts/lab", {"weight": 3})
    service.api("PUT", "/users/nobody", {"account": "lab", "weight": 2})
    service.api("PUT", "/models/digits", {"workers_min": 2, "workers_max": 2, "batch": 3})
    workers = [Worker(service)]
    workers.append(Worker(service, but=[workers[0].job]))
    ids = []
    for number in range(60):
        token = chance.choice([None, nobody, daemon])
        status, answer = service.ask("POST", "/api/v1/generate", {"prompt": f"number {number}", "steps": chance.choice([2, 4]),
                                                                 "width": chance.choice([28, 56]), "n": 1}, token=token)
        equal(status, 201)
        ids.append(answer["id"])
        do = chance.choice(["cancel", "priority", "why", None])
        one = chance.choice(ids)
        if do == "cancel":
            service.ask("DELETE", f"/api/v1/tasks/{one}")
        elif do == "priority":
            service.ask("PATCH", f"/api/v1/tasks/{one}", {"priority": chance.randrange(0, 11)})
        elif do == "why":
            service.ask("GET", f"/api/v1/tasks/{one}/why")
        worker = chance.choice(workers)
        if worker.pick()["tasks"]:
            chance.choice([lambda: worker.report("steps", 1), worker.finish, lambda: worker.report("failed", error="no"),
                           lambda: worker.report("back"), lambda: None])()
        if number == 30:
            service.kill()
            service.start()
    service.ask("DELETE", f"/api/v1/jobs/{workers[1].job}")  # with what it holds
    deadline = time.time() + PATIENCE_S
    while any(one["status"] not in ("finished", "failed", "cancelled") for one in service.api("GET", "/tasks?limit=1000")["tasks"]):
        if workers[0].pick(200)["tasks"]:
            workers[0].finish()
        assert time.time() < deadline
    found = rerun(service)
    equal(found["differing"], 0)
    equal(found["pools"], 3)  # the one that was there, with another size of batches, after the kill
    assert found["tasks"] >= 60 and found["batches"] > 20, found
    print(f"# {found['tasks']} tasks, {found['picks']} picks, {found['batches']} batches")
    path = os.path.join(service.dir, "record")
    with open(path) as file:
        lines = file.read().split("\n")
    lines = [re.sub(r'"user":"[a-z]+"', '"user":"somebody"', line) if line.startswith('{"event":"pool_add"') else line for line in lines]
    with open(path, "w") as file:
        file.write("\n".join(lines))
    found = rerun(service)
    assert found["differing"] > 0, found
    assert '"event":"pool_pick"' in found["first"]["decided"], found["first"]


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


run_with(lambda test: Recorded(*FAKE), everything_comes_out_again, pools_come_out_again, a_record_that_is_full_ends_and_is_put_aside,
         one_that_cannot_be_written_is_said_at_once)
