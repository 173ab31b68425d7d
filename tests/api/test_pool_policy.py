#!/usr/bin/env python3
"""Which task is next: the order that users would notice under every policy, weights, limits and one fair share for jobs and tasks."""
import os
import time

from fake_worker import FAKE, Worker, fake_service, generate
from service import Service, arguments, equal, run_with

NOW = time.time()
# two users' tasks, in the order in which they are asked for: user, priority, steps, deadline
ASKED = [("ann", 5, 8, 900), ("ann", 5, 2, 800), ("ann", 7, 4, 700), ("ben", 5, 6, 300), ("ben", 9, 2, 200), ("ben", 5, 4, 100)]
USERS = {"ann": "nobody", "ben": "daemon"}
ORDERS = {
    "fifo": [1, 2, 3, 4, 5, 6],
    "priority": [5, 3, 1, 2, 4, 6],
    "fair": [1, 4, 2, 5, 3, 6],
    "fair:within=priority": [3, 5, 1, 4, 2, 6],
    "round_robin": [1, 4, 2, 5, 3, 6],
    "shortest": [2, 5, 3, 6, 4, 1],
    "deadline:admission=no": [6, 5, 4, 3, 2, 1],
    "resource_aware": [1, 2, 3, 4, 5, 6],
}


def token(service, user):
    return service.api("POST", "/tokens", {"user": USERS[user], "role": "operator"}, 201)["token"]


def order_under(policy, same_size=False):
    service = Service(*FAKE, "--pool-policy", policy)
    try:
        tokens = {user: token(service, user) for user in USERS}
        service.api("PUT", "/models/digits", {"batch": 1, "workers_max": 1})
        service.api("POST", "/models/digits/pause", {})
        for user, priority, steps, deadline in ASKED:
            deadline = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(NOW + deadline))
            generate(service, headers={"Authorization": f"Bearer {tokens[user]}"}, priority=priority, steps=4 if same_size else steps,
                     deadline=deadline)
        service.api("POST", "/models/digits/resume", {})
        return Worker(service).work(len(ASKED))
    finally:
        service.close()


def every_policy_gives_its_order(service):
    for policy, order in ORDERS.items():
        equal((policy, order_under(policy, policy.startswith("fair"))), (policy, order))
    equal(order_under("fair"), [1, 4, 5, 6, 2, 3])  # after her long one he has as much as she had


def a_plug_in_gives_its_order(service):
    os.environ["STRATA_PLUGINS"] = os.path.join(os.environ["STRATA_BUILD"], "tests", "policy_frames.so")
    try:
        equal(order_under("frames:attribute=steps"), [2, 5, 3, 6, 4, 1])
    finally:
        del os.environ["STRATA_PLUGINS"]


def usage(service, user):
    return next((one["gpu_hours"] for one in service.api("GET", "/users")["users"] if one["name"] == user), 0)


@arguments("--nodes", "n0:cpus=8:gpus=2")
def tasks_are_charged_and_their_worker_is_not(service):
    headers = {"Authorization": "Bearer " + token(service, "ann")}
    service.api("PUT", "/models/digits", {"gpus": 2, "workers_max": 1, "batch": 2})
    generate(service, headers=headers)
    generate(service, headers=headers)
    worker = Worker(service)
    owner = service.api("GET", f"/jobs/{worker.job}")["user"]
    users = {one["name"]: one for one in service.api("GET", "/users")["users"]}
    equal(users["nobody"]["tasks"], 2)  # a user who has only tasks
    equal(len(worker.pick(1000)["tasks"]), 2)
    before = usage(service, "nobody")
    rows = [{"id": id, "kind": "steps", "steps": 1, "cost_ns": 1800 * 10**9} for id in worker.held]
    equal(worker.ask("POST", "/done", {"rows": rows})[0], 200)
    gained = usage(service, "nobody") - before
    assert abs(gained - 2.0) < 0.001, gained  # two tasks of half an hour on two GPUs
    time.sleep(1.5)  # two GPUs for so long would be 0.0008 hours
    if owner != "nobody":
        equal(usage(service, owner), 0)
    assert usage(service, "nobody") <= before + gained, (before, gained)
    service.kill()
    service.start()
    worker.pick(1000)
    time.sleep(1.2)
    assert abs(usage(service, "nobody") - before - gained) < 0.0005, usage(service, "nobody")
    # jobs and tasks have one ledger: whoever used nothing goes first now
    factors = {one["name"]: one["factor"] for one in service.api("GET", "/users")["users"]}
    assert factors["nobody"] < 1, factors


@arguments("--nodes", "n0:cpus=8:gpus=2")
def a_worker_is_charged_to_nobody_in_time(service):
    """The same job as a user's own is charged."""
    service.api("PUT", "/models/digits", {"gpus": 1, "workers_min": 1, "workers_max": 1})
    worker = Worker(service)
    owner = service.api("GET", f"/jobs/{worker.job}")["user"]
    job = service.submit("sleep", "60", gpus=1)["id"]
    service.wait(job, "running")
    time.sleep(1.5)
    user = service.api("GET", f"/jobs/{job}")["user"]
    assert usage(service, user) > 0.0003, usage(service, user)
    if owner != user:
        equal(usage(service, owner), 0)
    else:
        assert usage(service, user) < 0.0009, usage(service, user)


@arguments("--pool-policy", "fair")
def weights_and_limits_are_those_of_jobs(service):
    service.api("PUT", "/users/nobody", {"weight": 3})
    service.api("PUT", "/users/daemon", {"limits": {"waiting": 4}})
    service.api("PUT", "/models/digits", {"batch": 1, "workers_max": 1})
    service.api("POST", "/models/digits/pause", {})
    for user in ("ann", "ben"):
        headers = {"Authorization": "Bearer " + token(service, user)}
        for _ in range(4):
            generate(service, headers=headers)
    status, answer = service.ask("POST", "/api/v1/generate", {"prompt": "x"}, headers=headers)
    equal(status, 429)
    service.api("POST", "/models/digits/resume", {})
    worker = Worker(service)
    first = worker.work(8)
    equal(sorted(first[:5]), [1, 2, 3, 4, 5])  # three for one of a third of the weight, and who is first begins


def share(service):
    """Somebody who has used much of one model, and somebody who has not, in the line of another: who is first?"""
    service.api("PUT", "/models/digits", {"batch": 1, "workers_max": 1})
    service.api("PUT", "/models/other", {"folder": "/nowhere", "batch": 1, "workers_max": 1}, 201)
    ann, ben = ({"Authorization": "Bearer " + token(service, user)} for user in ("ann", "ben"))
    service.api("POST", "/models/other/pause", {})
    for _ in range(3):
        generate(service, model="other", headers=ann)
        generate(service, model="other", headers=ben)
    generate(service, headers=ann)
    worker = Worker(service)
    worker.pick(1000)
    equal(worker.report("steps", 1)[0], 200)
    worker.pick(1000)
    rows = [{"id": id, "kind": "failed", "steps": 1, "cost_ns": 3600 * 10**9, "error": "no"} for id in worker.held]
    equal(worker.ask("POST", "/done", {"rows": rows})[0], 200)
    service.api("POST", "/models/other/resume", {})
    return Worker(service, "other").work(6)


@arguments("--pool-policy", "fair", "--pool-scope", "model")
def each_model_has_its_own_share(service):
    equal(share(service), [1, 2, 3, 4, 5, 6])


@arguments("--pool-policy", "fair", "--pool-scope", "shared")
def or_all_have_one(service):
    equal(share(service), [2, 4, 6, 1, 3, 5])


run_with(fake_service, every_policy_gives_its_order, a_plug_in_gives_its_order, tasks_are_charged_and_their_worker_is_not,
         a_worker_is_charged_to_nobody_in_time, weights_and_limits_are_those_of_jobs, each_model_has_its_own_share, or_all_have_one)
