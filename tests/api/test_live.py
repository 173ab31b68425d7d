#!/usr/bin/env python3
"""Jobs by number and name of their own, while they live and after."""
import datetime
import time

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


def moment(job, key):
    return datetime.datetime.fromisoformat(job[key].replace("Z", "+00:00")).timestamp()


def a_cancelled_job_has_ended_when_it_did(service):
    waits, runs = service.submit("true", hold=True)["id"], service.submit("sleep", "600")["id"]
    began = moment(service.wait(runs, "running"), "started_at")
    time.sleep(2.2)
    asked = time.time()
    service.api("DELETE", f"/jobs/{waits}")
    service.api("DELETE", f"/jobs/{runs}", None, 202)
    never, stopped = service.wait(waits, "cancelled"), service.wait(runs, "cancelled")
    seen = time.time()
    equal((never["started_at"], moment(stopped, "started_at")), (None, began))
    assert began + 2 <= moment(stopped, "ended_at") <= seen, stopped  # in whole seconds
    assert asked - 1 < moment(never, "ended_at") <= seen, (asked, never)
    service.kill()
    service.start()
    equal([service.job(job)["ended_at"] for job in (waits, runs)], [never["ended_at"], stopped["ended_at"]])


run(the_history_is_in_pages_newest_first, a_job_is_known_after_a_restart, a_cancelled_job_has_ended_when_it_did)
