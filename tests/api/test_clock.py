#!/usr/bin/env python3
"""The machine's clock is set while jobs run, and the service is away while they do: times and charges stay sane."""
import datetime
import os
import time

from service import STRATA, Connection, Service, Skip, equal, run_with

HOUR = 3600
NODES = "n:cpus=8:memory=32G:gpus=4:gpu_type=a100"


class Clocked:
    """A service whose wall clock can be set."""

    def __init__(self):
        preload = os.path.join(os.environ.get("STRATA_BUILD", "build"), "tests", "clock_preload.so")
        if "address" in STRATA or "thread" in STRATA:
            raise Skip("a sanitizer wants to be loaded first")
        self.file = f"/tmp/strata-clock-{os.getpid()}"
        self.set(0)
        os.environ.update(LD_PRELOAD=os.path.abspath(preload), STRATA_TEST_CLOCK=self.file)
        try:
            self.service = Service(nodes=NODES)
        finally:
            self.env = {name: os.environ.pop(name) for name in ("LD_PRELOAD", "STRATA_TEST_CLOCK")}

    def set(self, seconds):
        with open(self.file + ".new", "w") as file:
            file.write(str(seconds))
        os.rename(self.file + ".new", self.file)

    def restart(self):
        self.service.start(self.env)

    def said(self):
        return self.service.said()

    def close(self):
        self.service.close()
        os.unlink(self.file)


def seconds(job):
    began, ended = (datetime.datetime.fromisoformat(job[key].replace("Z", "+00:00")) for key in ("started_at", "ended_at"))
    return (ended - began).total_seconds()


def gpu_seconds(service):
    """As the fair share has it; a job that waits makes sure that its user is listed."""
    service.submit("true", hold=True)
    return sum(user["gpu_hours"] for user in service.api("GET", "/users")["users"]) * HOUR


def set_while_a_job_runs(clocked, shift):
    service = clocked.service
    job = service.submit("sleep", "2", gpus=4)["id"]
    service.wait(job, "running")
    clocked.set(shift)
    ended = service.wait(job, "completed")
    assert 1 <= seconds(ended) <= 30, (ended["started_at"], ended["ended_at"])
    assert ended["cpu_user_ms"] < 60000, ended
    assert 1 <= gpu_seconds(service) / 4 <= 30, gpu_seconds(service)
    after = service.submit("true", gpus=1)["id"]
    service.wait(after, "completed")
    charged = service.api("GET", "/accounting")
    assert "gpu_seconds" not in str(charged) or max(row.get("gpu_seconds", 0) for row in charged.get("accounting", [{}])) < 200, charged


def the_clock_is_set_forward_by_a_year(clocked):
    set_while_a_job_runs(clocked, 365 * 24 * HOUR)


def the_clock_is_set_back_by_a_day(clocked):
    set_while_a_job_runs(clocked, -24 * HOUR)


def the_clock_is_set_forward_and_right_again(clocked):
    service = clocked.service
    clocked.set(24 * HOUR)
    service.wait(service.submit("true")["id"], "completed")
    clocked.set(0)
    job = service.submit("sleep", "2", gpus=4)["id"]
    ended = service.wait(job, "completed")
    assert 1 <= seconds(ended) <= 30, (ended["started_at"], ended["ended_at"])
    assert 1 <= gpu_seconds(service) / 4 <= 30, gpu_seconds(service)


def a_job_that_runs_while_the_service_is_away_is_charged_for_that_time(clocked):
    service = clocked.service
    before = service.submit("true", gpus=1)["id"]  # something is stored of the user's usage already
    service.wait(before, "completed")
    long = service.submit("sleep", "600", gpus=4)["id"]
    short = service.submit("sleep", "2")["id"]
    service.wait(long, "running")
    service.wait(short, "running")
    service.kill()
    time.sleep(4)
    clocked.restart()
    used = gpu_seconds(service)
    assert 4 * 4 <= used <= 4 * 60, used
    service.api("DELETE", f"/jobs/{long}", status=202)
    service.wait(long, "cancelled")
    used = gpu_seconds(service)
    service.kill()
    clocked.restart()
    assert abs(gpu_seconds(service) - used) < 0.1 * used, (used, gpu_seconds(service))  # neither lost nor twice


def usage_in_two_accounts_is_kept_apart(clocked):
    service = clocked.service
    for account in ("one", "two"):
        service.api("PUT", f"/accounts/{account}", {})
        service.wait(service.submit("sleep", "1", gpus=4, account=account)["id"], "completed")
    used = gpu_seconds(service)
    service.kill()
    clocked.restart()
    assert abs(gpu_seconds(service) - used) < 0.05 * used, (used, gpu_seconds(service))


def a_link_to_a_picture_expires(clocked):
    service = clocked.service
    status, answer = service.ask("POST", "/v1/images/generations", {"prompt": "a seven", "steps": 2, "response_format": "url"})
    equal(status, 200)
    path = answer["data"][0]["url"].removeprefix("http://localhost")

    def get():
        connection = Connection(service.socket)
        connection.request("GET", path)
        found = connection.getresponse().status
        connection.close()
        return found

    equal(get(), 200)
    clocked.set(HOUR - 60)
    equal(get(), 200)
    clocked.set(HOUR + 60)
    equal(get(), 410)


run_with(lambda test: Clocked(), the_clock_is_set_forward_by_a_year, the_clock_is_set_back_by_a_day, the_clock_is_set_forward_and_right_again,
         a_job_that_runs_while_the_service_is_away_is_charged_for_that_time, usage_in_two_accounts_is_kept_apart,
         a_link_to_a_picture_expires)
