#!/usr/bin/env python3
"""A service with few file descriptors starts as many jobs as it can look after, says why the others wait, and goes on by itself."""
import resource
import time

from service import Service, equal, run_with


class Poor:
    """A service that may open 64 files, and no more."""

    def __init__(self):
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, limits[1]))
        try:
            self.service = Service(preexec=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)

    def said(self):
        return self.service.said()

    def close(self):
        self.service.close()


def more_jobs_than_descriptors_all_run(poor):
    service = poor.service
    jobs = [service.submit("sleep", "0.5", cpus_per_task=0)["id"] for _ in range(150)]
    reasons = set()
    deadline = time.time() + 120
    while left := [job for job in service.api("GET", "/queue?limit=1000")["jobs"]]:
        assert time.time() < deadline, f"{len(left)} jobs are left, the first is {left[0]['state']} ({left[0]['reason']})"
        reasons |= {job["reason"] for job in left if job["state"] == "queued"}
        time.sleep(0.1)
    for job in jobs:
        done = service.job(job)
        equal((done["state"], done["attempt"]), ("completed", 1))
    assert "service_limit" in reasons, reasons


def why_says_so(poor):
    service = poor.service
    jobs = [service.submit("sleep", "600", cpus_per_task=0)["id"] for _ in range(60)]
    deadline = time.time() + 60
    while (last := service.job(jobs[-1]))["reason"] != "service_limit":
        assert time.time() < deadline, last
        time.sleep(0.05)
    why = service.api("GET", f"/jobs/{jobs[-1]}/why")
    assert "open files" in str(why), why
    for job in jobs:
        service.ask("DELETE", f"/api/v1/jobs/{job}")


def a_job_without_cpus_takes_a_little_of_a_node(poor):
    """Or any number of them would start at once."""
    job = poor.service.job(poor.service.submit("true", cpus_per_task=0, hold=True)["id"])
    equal(job["cpus"], 1)


run_with(lambda test: Poor(), more_jobs_than_descriptors_all_run, why_says_so, a_job_without_cpus_takes_a_little_of_a_node)
