#!/usr/bin/env python3
"""Nodes, users, events."""
from service import equal, run


def nodes_show_what_is_free(service):
    job = service.submit("sleep", "60", gpus=3, cpus_per_task=2, memory=1 << 30)["id"]
    service.wait(job, "running")
    node = service.api("GET", "/nodes")["nodes"][0]
    equal((node["gpus"], node["gpus_free"], node["cpus_free"], node["memory_free_bytes"], node["jobs"]),
          (4, 1, 6, 31 << 30, [job]))
    equal(node["gpu_free"], [0, 0, 0, 1])


def nodes_name_their_jobs(service):
    """Each its own, in the order of their numbers; a job on two nodes both; one that waits none."""
    wide = service.submit("sleep", "60", gpus=2, nodes=2)["id"]
    service.wait(wide, "running")
    jobs = [service.submit("sleep", "60", gpus=1)["id"] for _ in range(4)]
    for job in jobs:
        service.wait(job, "running")
    service.submit("sleep", "60", hold=True)
    nodes = {node["name"]: node["jobs"] for node in service.api("GET", "/nodes")["nodes"]}
    at = {job: sorted(service.job(job)["node_names"]) for job in (wide, *jobs)}
    equal(len(at[wide]), 2)
    equal(nodes, {name: [job for job in at if name in at[job]] for name in nodes})
    name = at[wide][0]
    equal(service.api("PATCH", f"/nodes/{name}", {"state": "drained"})["jobs"], nodes[name])


def users_are_shown_with_what_they_use(service):
    job = service.submit("sleep", "60", gpus=2)["id"]
    service.wait(job, "running")
    user = service.api("GET", "/users")["users"][0]
    equal((user["running"], user["waiting"], user["gpus"]), (1, 0, 2))


def events_come_in_order_and_can_be_resumed(service):
    job = service.submit("true")["id"]
    service.wait(job, "completed")
    events = service.api("GET", "/events?format=json")["events"]
    kinds = [event["kind"] for event in events if event["job"] == job]
    equal(kinds, ["job.submitted", "job.scheduled", "job.started", "job.ended"])
    last = events[1]["sequence"]
    equal(service.api("GET", f"/events?format=json&after={last}")["events"], events[2:])


def a_dead_node_gives_its_jobs_back(service):
    job = service.submit("sleep", "60", node_list="n2")["id"]
    stays = service.submit("sleep", "60", node_list="n2", requeue=False)["id"]
    service.wait(job, "running")
    service.wait(stays, "running")
    service.api("PATCH", "/nodes/n2", {"state": "down"})
    equal(service.wait(stays, "failed")["reason"], "node_failure")
    equal(service.wait(job, "queued")["attempt"], 1)
    service.api("PATCH", "/nodes/n2", {"state": "up"})
    equal(service.wait(job, "running")["attempt"], 2)


run(nodes_show_what_is_free, nodes_name_their_jobs, users_are_shown_with_what_they_use,
    events_come_in_order_and_can_be_resumed, a_dead_node_gives_its_jobs_back)
