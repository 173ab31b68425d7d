#!/usr/bin/env python3
"""What the queue, a job and its explanation look like."""
from service import arguments, equal, run


def the_queue_says_why_and_when(service):
    first = service.submit("sleep", "60", exclusive=True, nodes=3, time_limit=100)["id"]
    service.wait(first, "running")
    second = service.submit("true", gpus=4)["id"]
    third = service.submit("true", gpus=400, queue_anyway=True)["id"]
    queue = service.api("GET", "/queue")
    equal([job["id"] for job in queue["jobs"]], [first, second, third])
    equal(queue["counts"]["running"], 1)
    running, waiting, never = queue["jobs"]
    equal((running["state"], running["node_names"]), ("running", ["n1", "n2", "n3"]))
    equal((waiting["reason"], waiting["expected_node"], waiting["promised"]), ("resources", "n1", True))
    equal(waiting["expected_start_at"], running["expected_end_at"])
    equal((never["reason"], never["expected_start_at"]), ("impossible", None))
    equal([j["id"] for j in service.api("GET", "/queue?state=running")["jobs"]], [first])


@arguments("--preempt", "least_lost:grace=5:protect=0")
def what_was_is_remembered(service):
    """How often it gave way, where it ran, who ended it: also over a restart, and when it is long over."""
    low = service.submit("sh", "-c", "trap 'exit 1' TERM; sleep 60 & wait", priority="low", preemptible=True, nodes=3, exclusive=True)["id"]
    service.wait(low, "running")
    high = service.submit("sleep", "60", priority="high", nodes=3, exclusive=True)["id"]
    service.wait(high, "running")
    equal((service.job(low)["preempted"], service.job(low)["node_names"]), (1, []))
    service.kill()
    service.start()
    equal(service.job(low)["preempted"], 1)
    service.api("DELETE", f"/jobs/{high}", status=202)
    service.wait(high, "cancelled")
    ended = service.job(high)
    equal((ended["node_names"], ended["cancelled_by"]), (["n1", "n2", "n3"], ended["user"]))
    listed = next(job for job in service.api("GET", "/jobs")["jobs"] if job["id"] == high)
    equal((listed["node_names"], listed["cancelled_by"]), (["n1", "n2", "n3"], ended["user"]))


run(the_queue_says_why_and_when, what_was_is_remembered)
