#!/usr/bin/env python3
"""Makes the test data beside this file with a build of version 0.1.0:

    STRATA_BUILD=DIRECTORY-OF-THAT-BUILD tests/data/state-0.1.0/make.py

Two services, one on SQLite and one on PostgreSQL, get the same jobs: some in every state a job can be in, and arrays,
dependencies, checkpoints, steps, tokens, users, accounts, qualities of service, partitions, a drained node and a
reservation. Both are killed with everything they run, so that what is left is what a power failure leaves:

    sqlite.tar.gz     the state directory, with the write-ahead log
    postgres.tar.gz   the state directory beside PostgreSQL
    postgres.sql.gz   the tables, as pg_dump writes them
    facts.json        what the service said of all this before it died

Paths in the store are absolute, so the directory is always unpacked at the same place (PLACE).
"""
import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "api"))
import postgres  # noqa: E402
import service as harness  # noqa: E402

PLACE = "/var/tmp/strata-0.1.0"


def job(service, *command, **fields):
    return service.submit(*command, working_dir="/", output="/dev/null", **fields)["id"]


def people(service):
    """Operators' work, and tokens of every role."""
    service.api("PUT", "/accounts/lab", {"weight": 3, "limits": {"jobs": 200}})
    service.api("PUT", "/accounts/vision", {"parent": "lab", "weight": 2})
    service.api("PUT", "/qos/long", {"usage_factor": 0.5, "limits": {"gpus": 4}})
    service.api("PUT", "/partitions/short", {"time_limit": 60, "time_limit_max": 600})
    service.api("PATCH", "/users/nobody", {"weight": 2, "limits": {"jobs": 7}})
    service.api("POST", "/reservations", {"job_id": "maintenance", "gpus": 1, "node": "n3"}, 201)
    tokens = {role: service.api("POST", "/tokens", {"role": role, "comment": f"a {role}"}, 201)
              for role in ("user", "operator", "admin")}
    tokens["revoked"] = service.api("POST", "/tokens", {"role": "user"}, 201)
    service.api("DELETE", f"/tokens/{tokens['revoked']['id']}")
    tokens["expired"] = service.api("POST", "/tokens", {"role": "user", "expires_in": 1}, 201)
    return tokens


def ended(service):
    """One job for each way to end, and the account it was charged to."""
    ids = {
        "completed": job(service, "true", name="fine", account="vision", qos="long", comment="wörds"),
        "failed": job(service, "sh", "-c", "exit 3", name="three"),
        "signalled": job(service, "sh", "-c", "kill -9 $$"),
        "time_limit": job(service, "sleep", "60", time_limit=1),
        "not_started": job(service, "/nonexistent/program"),
        "script": job(service, script="#!/bin/sh\nexit 0\n", arguments=["a b"], environment={"A": "1"}),
        "invented": job(service, "true", account="nobody-made-this", qos="nor-this"),
    }
    for number in ids.values():
        service.wait(number, "completed", "failed")
    ids["cancelled"] = job(service, "sleep", "600")
    service.wait(ids["cancelled"], "running")
    service.api("DELETE", f"/jobs/{ids['cancelled']}", status=202)
    service.wait(ids["cancelled"], "cancelled")
    array = service.submit("sh", "-c", "exit $STRATA_NOT_SET", working_dir="/", output="/dev/null", array="1-3")
    ids["array_ended"] = array["id"]
    for number in array["ids"]:
        service.wait(number, "completed")
    return ids


def saving(service):
    """A preempted job with a checkpoint: what took its place runs."""
    script = """#!/bin/sh
trap 'echo state > "$STRATA_CHECKPOINT_DIR/.new"; mv "$STRATA_CHECKPOINT_DIR/.new" "$STRATA_CHECKPOINT_DIR/step7"; exit 0' TERM
trap : USR1
while :; do sleep 0.1; done
"""
    low = job(service, script=script, name="train", node_list="n1,n2", nodes=2, exclusive=True, priority="low", preemptible=True)
    service.wait(low, "running")
    time.sleep(1)
    high = job(service, "sleep", "600", node_list="n1,n2", nodes=2, exclusive=True, priority="high", name="urgent")
    service.wait(low, "preempted")
    service.wait(high, "running")
    return {"preempted": low, "running": high}


def waiting(service, ids):
    """One job for each thing to wait for."""
    more = {
        "held": job(service, "true", hold=True, name="held"),
        "later": job(service, "true", begin="2099-01-01T00:00:00"),
        "behind": job(service, "true", gpus=1, account="lab", qos="long"),
        "impossible": job(service, "true", gpus=64),
        "dependent": job(service, "true", dependencies=f"afterok:{ids['running']}"),
        "short": job(service, "true", partition="short", gpus=1),
        "once": service.submit("true", working_dir="/", output="/dev/null", gpus=1, request_key="only-once")["id"],
        "no_requeue": job(service, "sleep", "600", requeue=False, gpus=1),
        "gang": job(service, "true", gang="pair", gang_size=2),
    }
    array = service.submit("true", working_dir="/", output="/dev/null", array="1-5%2", gpus=1)
    more["array_waiting"] = array["id"]
    return more


def facts(service, ids, tokens):
    numbers = sorted(entry["id"] for entry in service.api("GET", "/jobs?limit=1000")["jobs"])
    return {
        "ids": ids, "tokens": tokens,
        "jobs": {number: service.job(number) for number in numbers},
        "checkpoints": {number: service.api("GET", f"/jobs/{number}/checkpoints") for number in numbers},
        "accounts": service.api("GET", "/accounts"), "users": service.api("GET", "/users"),
        "qos": service.api("GET", "/qos"), "partitions": service.api("GET", "/partitions"),
        "nodes": service.api("GET", "/nodes"), "reservations": service.api("GET", "/reservations"),
        "accounting": service.api("GET", "/accounting"),
        "events": len(service.api("GET", "/events?format=json")["events"]),
    }


def start(store, *words):
    return harness.Service("--preempt", "least_lost:grace=5:protect=0", "--listen", "127.0.0.1:0", *words,
                           state=PLACE, store=store)


def only_child(pid):
    """Of a service whose jobs have ended: the process that supervisors are forked by."""
    children = []
    while len(children) != 1:
        children = []
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                children += map(int, file.read().split())
    return children[0]


def make(store):
    shutil.rmtree(PLACE, ignore_errors=True)
    service = start(store)
    tokens = people(service)
    ids = ended(service)
    fork_server = only_child(service.process.pid)
    ids["running_no_requeue"] = job(service, "sleep", "600", requeue=False, node_list="n3", name="once")
    service.wait(ids["running_no_requeue"], "running")
    ids["frozen"] = job(service, "sleep", "600", node_list="n3", name="frozen")
    service.wait(ids["frozen"], "running")
    service.api("PATCH", f"/jobs/{ids['frozen']}", {"suspend": True})
    service.wait(ids["frozen"], "preempted")
    ids.update(saving(service))
    os.kill(fork_server, signal.SIGSTOP)
    ids["scheduled"] = job(service, "sleep", "600", node_list="n3", name="placed")
    service.wait(ids["scheduled"], "scheduled")
    service.api("PATCH", "/nodes/n3", {"state": "drained", "reason": "fan"})
    ids.update(waiting(service, ids))
    known = facts(service, ids, tokens)
    service.kill()
    harness.kill_all(PLACE)
    shutil.rmtree(service.dir, ignore_errors=True)
    return known


def small_tar(name):
    """The directory without times and names that would differ every time."""
    def plain(info):
        info.mtime = 0
        return info
    with gzip.GzipFile(os.path.join(HERE, name), "wb", mtime=0) as packed, tarfile.open(fileobj=packed, mode="w") as tar:
        tar.add(PLACE, "state", filter=lambda info: None if info.name.endswith(".sock") else plain(info))
    shutil.rmtree(PLACE)


def main():
    known = {"sqlite": make(None)}
    small_tar("sqlite.tar.gz")
    server = postgres.Postgres()
    known["postgres"] = make(server.address())
    small_tar("postgres.tar.gz")
    dump = subprocess.run([os.path.join(postgres.PROGRAMS, "pg_dump"), "-h", server.dir, "-U", "strata", "-d", "postgres",
                           "-n", "t1", "--no-owner", "--inserts"], check=True, capture_output=True).stdout
    with gzip.GzipFile(os.path.join(HERE, "postgres.sql.gz"), "wb", mtime=0) as file:
        file.write(dump)
    server.close()
    with open(os.path.join(HERE, "facts.json"), "w") as file:
        json.dump(known, file, indent=1, sort_keys=True)
        file.write("\n")


if __name__ == "__main__":
    main()
