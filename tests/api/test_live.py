#!/usr/bin/env python3
"""Jobs by number and name of their own, while they live and after."""
from service import equal, run


def the_history_is_in_pages_newest_first(service):
    ids = [service.submit("true", name=f"j{i}")["id"] for i in range(7)]
    for job in ids:
        service.wait(job, "completed")
    page = service.api("GET", "/jobs?limit=3")
    equal([job["id"] for job in page["jobs"]], ids[:3:-1])
    page = service.api("GET", f"/jobs?limit=3&after={page['next']}")
    equal([job["id"] for job in page["jobs"]], ids[3:0:-1])
    page = service.api("GET", f"/jobs?limit=3&after={page['next']}")
    equal(([job["id"] for job in page["jobs"]], page["next"]), ([ids[0]], None))
    equal(len(service.api("GET", "/jobs?state=failed,cancelled")["jobs"]), 0)
    equal(service.ask("GET", "/api/v1/jobs?limit=0")[0], 400)


def a_job_is_known_after_a_restart(service):
    made = service.submit("sh", "-c", "exit 7")
    service.wait(made["id"], "failed")
    service.kill()
    service.start()
    job = service.job(made["uuid"])  # from the history now
    equal((job["id"], job["state"], job["exit_code"]), (made["id"], "failed", 7))


run(the_history_is_in_pages_newest_first, a_job_is_known_after_a_restart)
