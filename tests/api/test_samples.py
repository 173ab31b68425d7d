#!/usr/bin/env python3
"""What jobs used over time."""
import os
import shutil
import signal
import subprocess
import time

from service import STRATA, Service, Skip, as_nobody, equal, run_with

BUSY = "i=0; while :; do i=$((i + 1)); done"


def samples(service, job):
    return service.api("GET", f"/jobs/{job}/samples")


def points(service, job, least):
    deadline = time.time() + 60
    while len(samples(service, job)["seconds"]) < least:
        assert time.time() < deadline, samples(service, job)
        time.sleep(0.2)
    return samples(service, job)


def a_job_that_runs_has_points_that_grow(service):
    job = service.submit("sh", "-c", BUSY, memory="2G")["id"]
    equal(samples(service, job)["seconds"], [])
    some = points(service, job, 1)
    equal((some["job"], some["attempt"], some["gpus"], some["gpus_busy"]), (job, 1, 0, []))
    more = points(service, job, len(some["seconds"]) + 1)
    equal(more["seconds"][:len(some["seconds"])], some["seconds"])
    equal({len(more[name]) for name in ("seconds", "cpus", "memory_bytes")}, {len(more["seconds"])})
    assert 0.05 < max(more["cpus"]) < 1.5, more  # one shell that is busy, on a machine that may be, too
    assert 0 < max(more["memory_bytes"]) < 2 ** 31, more


def they_are_kept_when_it_has_ended_and_the_service_was_killed(service):
    job = service.submit("sh", "-c", BUSY)["id"]
    some = points(service, job, 2)
    service.kill(signal.SIGKILL)
    service.start()
    assert len(samples(service, job)["seconds"]) >= 2
    service.api("DELETE", f"/jobs/{job}", status=202)
    service.wait(job, "cancelled")
    kept = samples(service, job)
    equal(kept["seconds"][:2], some["seconds"][:2])
    service.kill(signal.SIGKILL)
    service.start()
    equal(samples(service, job), kept)
    left = [name for name in os.listdir(os.path.join(service.state, "jobs")) if "samples" in name]
    equal(left, [])


def the_queue_tells_what_runs_uses_now(service):
    job = service.submit("sh", "-c", BUSY, memory="2G")["id"]
    points(service, job, 2)
    waits = service.submit("true", hold=True)["id"]
    rows = {row["id"]: row for row in service.api("GET", "/queue?used=1")["jobs"]}
    assert 0.02 < rows[job]["cpus_used"] < 1.5 and 0 < rows[job]["memory_used_bytes"] < 2 ** 31, rows[job]
    assert "gpus_used" not in rows[job] and "cpus_used" not in rows[waits], rows  # nothing can be known of emulated GPUs
    equal([name for row in service.api("GET", "/queue")["jobs"] for name in row if "_used" in name], [])
    few = service.api("GET", "/queue?used=1&fields=id,memory_used_bytes")["jobs"]
    equal([set(row) for row in few], [{"id", "memory_used_bytes"}, {"id"}])
    status, answer = as_nobody(service, "GET", "/api/v1/queue?used=1")
    equal((status, [name for row in answer["jobs"] for name in row if "_used" in name]), (200, []))
    shown = subprocess.run([STRATA, "--socket", service.socket, "top", "--once"], capture_output=True, text=True)
    assert "CPU USE" in shown.stdout and "GPU USE" not in shown.stdout, shown


def no_more_than_200_are_told_at_once(service):
    jobs = service.submit("sleep", "600", array="1-201")["ids"]
    deadline = time.time() + 90

    def used():
        rows = [row for row in service.api("GET", "/queue?used=1")["jobs"] if row["state"] == "running"]
        return len(rows), sum("memory_used_bytes" in row for row in rows)

    while (found := used()) != (201, 200):
        assert time.time() < deadline and found[1] <= 200, found
        time.sleep(1)
    service.api("DELETE", f"/jobs/{jobs[0]}", status=202)
    service.wait(jobs[0], "cancelled")
    while (found := used()) != (200, 200):
        assert time.time() < deadline, found
        time.sleep(1)


def a_job_of_a_moment_has_none(service):
    job = service.submit("true")["id"]
    service.wait(job, "completed")
    none = samples(service, job)
    equal((none["seconds"], none["attempt"], none["from"]), ([], None, None))
    equal(service.ask("GET", "/api/v1/jobs/999/samples")[0], 404)


def they_are_the_owners(service):
    if os.geteuid() != 0:
        raise Skip("it takes root to be somebody else")
    job = service.submit("sleep", "600")["id"]
    service.wait(job, "running")
    for path in (f"/api/v1/jobs/{job}/samples", "/api/v1/jobs/1/../%d/samples" % job):
        status, answer = as_nobody(service, "GET", path)
        assert status in (403, 404), (path, status, answer)
    service.api("DELETE", f"/jobs/{job}", status=202)
    service.wait(job, "cancelled")
    service.kill(signal.SIGTERM)
    service.start()  # it is history now
    equal(as_nobody(service, "GET", f"/api/v1/jobs/{job}/samples")[0], 403)


def gpus_that_nvidia_tells_of_are_there(service):
    library = os.path.join(os.environ.get("STRATA_BUILD", "build"), "tests", "fake_nvml.so")
    if not os.path.exists(library):
        raise Skip("there is no fake_nvml.so")
    place = os.path.join(service.dir, "nvidia")
    os.mkdir(place)
    shutil.copy(library, os.path.join(place, "libnvidia-ml.so.1"))
    service.kill(signal.SIGTERM)
    service.start(env={"LD_LIBRARY_PATH": place, "FAKE_NVML": "4"})
    job = service.submit("sleep", "600", gpus=2)["id"]
    some = points(service, job, 2)
    equal(some["gpus"], 2)
    assert abs(max(some["gpus_busy"]) - 0.75) < 0.01, some  # 25 and 50 per cent
    equal(max(some["gpu_memory_bytes"]), 3 << 30)


def make(test):
    return Service(nodes="n:count=1:cpus=256:memory=64G") if test is no_more_than_200_are_told_at_once else Service(*getattr(test, "arguments", []))


run_with(make, a_job_that_runs_has_points_that_grow, they_are_kept_when_it_has_ended_and_the_service_was_killed, the_queue_tells_what_runs_uses_now,
         no_more_than_200_are_told_at_once, a_job_of_a_moment_has_none, they_are_the_owners, gpus_that_nvidia_tells_of_are_there)
