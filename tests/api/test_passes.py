#!/usr/bin/env python3
"""The passes of the scheduler that are remembered."""
from service import equal, run


def passes_in_which_something_happened_are_kept(service):
    first = len(service.api("GET", "/passes")["passes"])
    job = service.submit("true")["id"]
    service.wait(job, "completed")
    for _ in range(20):
        service.api("GET", "/queue")
    passes = service.api("GET", "/passes")["passes"]
    mine = [one for one in passes[first:] if one["started"]]
    equal(len(mine), 1)
    equal((mine[0]["started"], mine[0]["stopped"], mine[0]["waiting"]), (1, 0, 0))
    assert 0 < mine[0]["took_s"] < 10, mine
    assert service.job(job)["submitted_at"][:16] <= mine[0]["at"][:19], mine
    assert len(passes) - first < 20, passes  # asking alone leaves none


def a_stop_is_told_apart(service):
    job = service.submit("sleep", "60")["id"]
    service.wait(job, "running")
    service.ask("DELETE", f"/api/v1/jobs/{job}")
    service.wait(job, "cancelled")
    equal(sum(one["stopped"] for one in service.api("GET", "/passes")["passes"]), 1)


run(passes_in_which_something_happened_are_kept, a_stop_is_told_apart)
