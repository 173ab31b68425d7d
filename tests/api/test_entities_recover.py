#!/usr/bin/env python3
"""Users, accounts, qualities of service and partitions of a store that an older version wrote."""
import os
import sqlite3

from service import Skip, equal, run

KINDS = ("users", "accounts", "qos", "partitions")


def taken_over(service):
    return [event["about"] for event in service.api("GET", "/events?format=json&limit=1000")["events"] if event["kind"] == "entity.taken_over"]


def a_store_of_0_1_0_is_taken_over(service):
    """Names that only jobs and users know are made, once and for all to see; what waits runs on."""
    if os.geteuid() != 0:
        raise Skip("its jobs are root's")
    service.kill()
    for name in os.listdir(service.state):
        if name.startswith(("strata.db", "store.mark")):
            os.remove(os.path.join(service.state, name))
    with sqlite3.connect(os.path.join(service.state, "strata.db")) as store, \
            open(os.path.join(os.path.dirname(__file__), "..", "data", "store-0.1.0.sql")) as dump:
        store.executescript(dump.read())
    for _ in range(2):
        service.start()
        names = {kind: sorted(one["name"] for one in service.api("GET", f"/{kind}")[kind] if one["made"]) for kind in KINDS}
        equal(names, {"users": ["ann"], "accounts": ["chemistry", "freedom", "lab", "team"], "qos": ["slow", "turbo"],
                      "partitions": ["ghost"]})
        taken = [(about["kind"], about["name"], about["by"]) for about in taken_over(service)]
        equal(sorted(taken), [(kind, name, "upgrade") for kind, name in
                              (("account", "chemistry"), ("account", "freedom"), ("partition", "ghost"), ("qos", "turbo"))])
        job = service.job(1)
        equal((job["account"], job["partition"], job["qos"], job["priority"], job["nice"]), ("freedom", "ghost", "turbo", "high", -5))
        service.kill()
    service.start()
    equal([token["id"] for token in service.api("GET", "/tokens")["tokens"]], ["3"])
    for job in range(1, 7):
        service.api("PATCH", f"/jobs/{job}", {"hold": False})
        service.wait(job, "completed")
    service.submit("true", account="freedome", status=404)
    service.api("DELETE", "/accounts/freedom")


run(a_store_of_0_1_0_is_taken_over)
