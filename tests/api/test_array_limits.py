#!/usr/bin/env python3
"""How many elements of an array run at a time can change while it runs."""
import os
import subprocess
import time

from service import STRATA, equal, run


def how_many_run_at_a_time_can_change(service):
    array = service.submit("sleep", "60", array="1-6%1", cpus_per_task=1)["id"]
    wait_for(lambda: running(service) == 1)
    changed = service.api("PATCH", f"/jobs/{array}", {"array_throttle": 3})
    equal(changed["array_throttle"], 3)
    wait_for(lambda: running(service) == 3)
    env = {**os.environ, "STRATA_SOCKET": service.socket}
    shown = subprocess.run([STRATA, "slurm", "squeue", "-h", "-o", "%i"], env=env, capture_output=True, text=True).stdout
    assert f"{array}_[4-6%3]" in shown, shown  # and squeue knows
    service.kill()
    service.start()
    equal(service.job(array)["array_throttle"], 3)
    service.api("PATCH", f"/jobs/{array}?elements=6", {"array_throttle": 0})  # of all of it, whichever is named
    wait_for(lambda: running(service) == 6)
    other = service.submit("sleep", "60")["id"]
    equal(service.api("PATCH", f"/jobs/{other}", {"array_throttle": 3}, 400)["error"]["message"], f"job {other} is not of an array")
    service.api("PATCH", f"/jobs/{array}", {"array_throttle": 3, "nice": 1}, 400)
    service.api("PATCH", f"/jobs/{array}", {"array_throttle": -1}, 400)


def running(service):
    return sum(job["state"] == "running" for job in service.api("GET", "/queue")["jobs"])


def wait_for(what, seconds=20):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.05)


run(how_many_run_at_a_time_can_change)
