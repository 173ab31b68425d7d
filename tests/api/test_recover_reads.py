#!/usr/bin/env python3
"""A read of the store that fails while the service starts: it says so and ends, or tries again; no job is lost or told wrongly."""
import os

from crashing import Crashing
from service import PATIENCE_S, equal, run_with

POINTS = int(os.environ.get("STRATA_READ_POINTS", 40))


def fill(service):
    """Jobs of every kind that recovery reads, and what is to be found of each."""
    service.api("PUT", "/accounts/lab", {})
    over = service.submit("true")["id"]
    service.wait(over, "completed")
    running = service.submit("sleep", "1000")["id"]
    service.wait(running, "running")
    waiting = [service.submit("true", hold=True, account="lab")["id"] for _ in range(5)]
    waiting.append(service.submit("true", dependencies=f"afterok:{running}")["id"])
    return [over, running, *waiting]


def look(service, job):
    """The read that fails may be the first one after the start: then the answer says so, and the next is right."""
    status, answer = service.ask("GET", f"/api/v1/jobs/{job}")
    if status == 200:
        return answer
    assert status in (422, 500) and "strata.db" in answer["error"]["message"], answer
    return service.job(job)


def facts(service, jobs):
    kept = ("id", "state", "user", "account", "attempt", "created", "command", "dependencies", "hold", "nodes")
    return [{key: job.get(key) for key in kept} for job in (look(service, job) for job in jobs)]


def start(service):
    """Whether it came up; when not, it has said why."""
    try:
        service.start()
        return True
    except AssertionError:
        assert service.process.wait(PATIENCE_S) not in (0, None) and not service.process.returncode < 0, service.said()[service.before:]
        assert service.said()[service.before:].strip(), "it ended without a word"
        return False


def each_read_of_a_start_fails_once(service):
    jobs = fill(service)
    want = facts(service, jobs)
    service.kill()
    service.fail_read(1 << 60)
    service.start()
    total = service.reads()
    equal(facts(service, jobs), want)
    service.kill()
    refused = 0
    for number in range(1, total + 1, max(1, total // POINTS)):
        service.fail_read(number)
        if start(service):
            equal(facts(service, jobs), want)
            service.kill()
        else:
            refused += 1
        service.fail_read(0)
        service.start()
        equal(facts(service, jobs), want)
        service.kill()
    print(f"# {total} reads in a start; it was refused at {refused}", flush=True)
    assert refused, "no read that failed was noticed"
    service.start()


if __name__ == "__main__":
    run_with(lambda test: Crashing(), each_read_of_a_start_fails_once)
