#!/usr/bin/env python3
"""What there is, and who has it."""
from service import equal, run


def the_topology_says_what_nodes_are_made_of(service):
    nodes = service.api("GET", "/topology")["nodes"]
    equal([(node["name"], node["cpus"], len(node["gpus"])) for node in nodes], [(f"n{i}", 8, 4) for i in (1, 2, 3)])
    equal({gpu["type"] for node in nodes for gpu in node["gpus"]}, {"a100"})


def gpus_say_who_has_them(service):
    job = service.submit("sleep", "60", gpus=2)["id"]
    service.wait(job, "running")
    service.api("POST", "/reservations", {"job_id": "theirs", "gpus": 1}, 201)
    gpus = service.api("GET", "/gpus")["gpus"]
    equal(len(gpus), 12)
    equal(sum(gpu["jobs"] == [job] for gpu in gpus), 2)
    equal(sum(gpu["reservations"] == ["theirs"] for gpu in gpus), 1)
    equal(sum(gpu["free"] for gpu in gpus), 9)


run(the_topology_says_what_nodes_are_made_of, gpus_say_who_has_them)
