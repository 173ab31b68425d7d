#!/usr/bin/env python3
"""What the queue, a job and its explanation look like."""
from service import equal, run


def the_queue_says_why_and_when(service):
    first = service.submit("sleep", "60", exclusive=True, nodes=3, time_limit=100)["id"]
    service.wait(first, "running")
    second = service.submit("true", gpus=4)["id"]
    third = service.submit("true", gpus=400)["id"]
    queue = service.api("GET", "/queue")
    equal([job["id"] for job in queue["jobs"]], [first, second, third])
    equal(queue["counts"]["running"], 1)
    running, waiting, never = queue["jobs"]
    equal((running["state"], running["node_names"]), ("running", ["n1", "n2", "n3"]))
    equal((waiting["reason"], waiting["expected_node"], waiting["promised"]), ("resources", "n1", True))
    equal(waiting["expected_start_at"], running["expected_end_at"])
    equal((never["reason"], never["expected_start_at"]), ("impossible", None))
    equal([j["id"] for j in service.api("GET", "/queue?state=running")["jobs"]], [first])


run(the_queue_says_why_and_when)
