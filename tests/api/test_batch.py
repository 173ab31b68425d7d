#!/usr/bin/env python3
"""What happens while the store is away."""
import os
import sqlite3
import time

from service import equal, run


def writes_are_turned_away_and_reads_go_on(service):
    running = service.submit("sleep", "60")["id"]
    service.wait(running, "running")
    other = sqlite3.connect(os.path.join(service.state, "strata.db"), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    status, answer = service.ask("POST", "/api/v1/jobs", {"command": ["true"], "working_dir": service.dir})
    equal((status, answer["error"]["code"]), (503, "unavailable"))
    equal(service.ask("GET", "/readyz")[0], 503)
    equal(service.ask("GET", "/healthz")[0], 200)
    other.execute("ROLLBACK")
    other.close()
    deadline = time.time() + 30
    while service.ask("GET", "/readyz")[0] != 200 and time.time() < deadline:
        time.sleep(0.1)
    service.wait(service.submit("true")["id"], "completed")
    equal(service.job(running)["state"], "running")


run(writes_are_turned_away_and_reads_go_on)
