#!/usr/bin/env python3
"""What the service runs with can be asked, by operators, and has no passwords; the command line asks it, too."""
import json
import os
import subprocess

from service import arguments, equal, run


def strata(service, *words, status=0):
    done = subprocess.run([os.path.join(os.environ["STRATA_BUILD"], "strata"), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=dict(os.environ, STRATA_SOCKET=service.socket), cwd=service.dir)
    equal((done.returncode, done.stderr if status == 0 else ""), (status, ""))
    return done.stdout


@arguments("--grace", "7s", "--order", "fifo")
def what_it_runs_with_is_told(service):
    settings = service.api("GET", "/settings")["settings"]
    equal((settings["grace"], settings["order"]), (7, "fifo"))
    equal(settings["store"], f"sqlite:{service.state}/strata.db")


@arguments("--mail-program", "smtp://ann:geheim@127.0.0.1:9/?password=secret")
def passwords_are_not_in_it(service):
    text = json.dumps(service.api("GET", "/settings"))
    assert "geheim" not in text and "secret" not in text and "***" in text, text


@arguments("--grace", "7s")
def config_shows_the_running_service(service):
    rows = json.loads(strata(service, "config", "--json"))
    equal(rows["serve.grace"], {"value": 7, "from": "the server", "reload": rows["serve.grace"]["reload"]})
    file = os.path.join(service.dir, "own.ini")
    open(file, "w").close()
    equal(json.loads(strata(service, "config", "--json", "--config", file))["serve.grace"]["from"], "default")


def backup_finds_the_store_of_the_running_service(service):
    job = service.submit("true", hold=True)["id"]
    strata(service, "backup", "copy.db")
    import sqlite3
    equal(sqlite3.connect(os.path.join(service.dir, "copy.db")).execute("SELECT id FROM jobs").fetchall(), [(job,)])


@arguments("--grace", "7s")
def doctor_looks_at_the_store_of_the_running_service(service):
    done = subprocess.run([os.path.join(os.environ["STRATA_BUILD"], "strata"), "doctor", "--json"], stdout=subprocess.PIPE, text=True,
                          env=dict(os.environ, STRATA_SOCKET=service.socket))
    checks = {row["check"]: row["message"] for row in json.loads(done.stdout)["checks"]}
    assert service.state in checks["store"], checks


run(what_it_runs_with_is_told, passwords_are_not_in_it, config_shows_the_running_service, backup_finds_the_store_of_the_running_service,
    doctor_looks_at_the_store_of_the_running_service)
