#!/usr/bin/env python3
"""Killed at any moment: nothing that was acknowledged is lost, nothing runs twice."""
import http.client
import os
import random
import sqlite3
import sys
import threading
import time

from service import arguments, equal, run

ROUNDS = int(os.environ.get("STRATA_CRASH_ROUNDS", "12"))


def jobs_go_on_while_the_service_is_away(service):
    job = service.submit("sh", "-c", "sleep 1; echo done")["id"]
    waiting = service.submit("true", dependencies=f"afterok:{job}")["id"]
    held = service.submit("true", hold=True, priority="high")["id"]
    service.wait(job, "running")
    service.kill()
    time.sleep(2.5)
    back = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    service.start()
    ended = service.wait(job, "completed")
    equal(ended["attempt"], 1)
    assert ended["started_at"] < ended["ended_at"] < back, "it ended while nobody looked"
    service.wait(waiting, "completed")
    equal(service.job(held)["reason"], "held")
    service.api("PATCH", f"/jobs/{held}", {"hold": False})
    service.wait(held, "completed")
    equal(service.output(f"strata-{job}.out"), "done\n")


def submit_until_killed(service, acknowledged, path):
    while True:
        try:
            made = service.submit("sh", "-c", f"echo $STRATA_JOB_ID >> {path}; exit 0")
            acknowledged.append(made["id"])
        except (OSError, http.client.HTTPException, AssertionError):
            return


def killed_again_and_again(service):
    path = os.path.join(service.dir, "ran")
    acknowledged = []
    seed = int(os.environ.get("STRATA_SEED", "1"))
    chance = random.Random(seed)
    for _ in range(ROUNDS):
        clients = [threading.Thread(target=submit_until_killed, args=(service, acknowledged, path)) for _ in range(4)]
        for client in clients:
            client.start()
        time.sleep(chance.uniform(0.02, 0.4))
        service.kill()
        for client in clients:
            client.join()
        service.start()
    for job in acknowledged:
        service.wait(job, "completed")
    with open(path) as file:
        ran = [int(line) for line in file]
    lost = set(acknowledged) - set(ran)
    twice = {job for job in set(ran) if ran.count(job) > 1}
    print(f"# seed {seed}: killed {ROUNDS} times, {len(acknowledged)} of {len(acknowledged)} acknowledged jobs found, "
          f"{len(lost)} lost, {len(twice)} run twice", flush=True)
    equal((lost, twice), (set(), set()))


def cancelled_stays_cancelled(service):
    running = service.submit("sleep", "60")["id"]
    waiting = service.submit("true", hold=True)["id"]
    service.wait(running, "running")
    service.api("DELETE", f"/jobs/{running}", status=202)
    service.api("DELETE", f"/jobs/{waiting}")
    service.kill()
    service.start()
    service.wait(running, "cancelled", "failed")
    service.wait(waiting, "cancelled")
    equal(service.api("GET", "/queue")["jobs"], [])


def what_jobs_wait_for_may_have_ended_or_be_forgotten(service):
    first = service.submit("true")["id"]
    other = service.submit("true")["id"]
    service.wait(first, "completed")
    service.wait(other, "completed")
    held = service.submit("true", dependencies=f"afterok:{first}", hold=True)["id"]
    both = service.submit("true", dependencies=f"afterany:{other}", hold=True)["id"]
    service.kill()
    database = sqlite3.connect(os.path.join(service.state, "strata.db"))
    with database:
        database.execute("DELETE FROM jobs WHERE id = ?", (other,))
    database.close()
    service.start()
    for job in (held, both):
        equal(service.job(job)["reason"], "held")
        service.api("PATCH", f"/jobs/{job}", {"hold": False})
        service.wait(job, "completed")


@arguments("--preempt", "least_lost:grace=2:protect=0")
def a_preempted_job_comes_back_after_a_crash(service):
    low = service.submit("sh", "-c", "sleep 60 & wait", exclusive=True, nodes=3, priority="low", preemptible=True)["id"]
    service.wait(low, "running")
    high = service.submit("sleep", "1", gpus_per_node=4, nodes=3, priority="high")["id"]
    service.wait(high, "running")
    service.kill()
    service.start()
    service.wait(high, "completed")
    equal(service.wait(low, "running")["attempt"], 2)


def a_job_requeued_to_be_held_is_held_although_the_service_died(service):
    job = service.submit("sh", "-c", "trap '' TERM; sleep 60 & wait; sleep 2")["id"]
    service.wait(job, "running")
    service.api("PATCH", f"/jobs/{job}", {"requeue": True, "hold": True})
    service.kill()
    service.start()
    back = service.wait(job, "queued")
    equal((back["reason"], back["attempt"]), ("held", 1))


run(jobs_go_on_while_the_service_is_away, killed_again_and_again, cancelled_stays_cancelled,
    what_jobs_wait_for_may_have_ended_or_be_forgotten,
    a_preempted_job_comes_back_after_a_crash, a_job_requeued_to_be_held_is_held_although_the_service_died)
