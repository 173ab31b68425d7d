#!/usr/bin/env python3
"""The history, and one job of it."""
from service import equal, run


def the_history_has_the_newest_first_page_by_page(service):
    ids = [service.submit("true", name=f"j{number}")["id"] for number in range(5)]
    for job in ids:
        service.wait(job, "completed")
    first = service.api("GET", "/jobs?limit=3")
    equal([job["id"] for job in first["jobs"]], ids[:1:-1])
    equal(first["next"], ids[2])
    rest = service.api("GET", f"/jobs?limit=3&after={first['next']}")
    equal(([job["id"] for job in rest["jobs"]], rest["next"]), (ids[1::-1], None))


def it_can_be_narrowed(service):
    held = service.submit("true", hold=True)["id"]
    failed = service.submit("false")["id"]
    service.wait(failed, "failed")
    equal([job["id"] for job in service.api("GET", "/jobs?state=failed")["jobs"]], [failed])
    equal([job["id"] for job in service.api("GET", "/jobs?state=failed,queued")["jobs"]], [failed, held])
    equal(service.api("GET", "/jobs?user=nobody-here")["jobs"], [])
    equal(service.api("GET", "/jobs?since=now%2B1hour")["jobs"], [])
    equal(service.api("GET", "/jobs?until=now-1hour")["jobs"], [])
    equal(len(service.api("GET", "/jobs?until=now%2B1hour")["jobs"]), 2)
    equal([job["id"] for job in service.api("GET", "/jobs?name=FAL*")["jobs"]], [failed])
    equal(service.api("GET", "/jobs?partition=none")["jobs"], [])
    equal(service.api("GET", "/jobs?until=never", status=400)["error"]["field"], "until")
    equal(service.api("GET", "/jobs?state=asleep", status=400)["error"]["field"], "state")


def times_that_are_none_are_null(service):
    job = service.wait(service.submit("true")["id"], "completed")
    equal((job["expected_end_at"], job["expected_start_at"]), (None, None))
    waits = service.job(service.submit("true", hold=True)["id"])
    equal((waits["expected_end_at"], waits["started_at"], waits["ended_at"]), (None, None, None))


def a_job_is_found_by_number_and_uuid(service):
    made = service.submit("true")
    service.wait(made["id"], "completed")
    for restart in (False, True):
        if restart:  # from then on only the store knows it
            service.kill()
            service.start()
        for name in (made["id"], made["uuid"]):
            job = service.job(name)
            equal((job["id"], job["uuid"], job["state"]), (made["id"], made["uuid"], "completed"))
            equal((job["node_names"], list(job["gpu_ids"])), ([job["place"][0]["node"]], [job["place"][0]["node"]]))
    equal(service.api("GET", "/jobs/4711", status=404)["error"]["message"], "there is no job 4711")


run(the_history_has_the_newest_first_page_by_page, it_can_be_narrowed, times_that_are_none_are_null, a_job_is_found_by_number_and_uuid)
