#!/usr/bin/env python3
"""A store that is not what it was is noticed; what a crash leaves is not taken for that."""
import os
import shutil
import signal
import sqlite3
import subprocess

import postgres
from service import STRATA, Service, Skip, equal, run


def database(service, ending=""):
    return os.path.join(service.state, "strata.db" + ending)


def refused(service, *words):
    """What a service says that does not start."""
    done = subprocess.run([STRATA, "serve", "--state", service.state, "--socket", service.socket, *service.args, *words],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode not in (0, -9), (done.returncode, done.stderr)
    return done.stderr


def accepted(service):
    """Is taken as it is when somebody says so, and from then on."""
    service.args.append("--accept-store")
    service.start()
    service.kill(signal.SIGTERM)
    service.args.pop()
    service.start()


def completed(service):
    job = service.submit("true")["id"]
    service.wait(job, "completed")
    return job


def copy(service, to):
    for ending in ("", "-wal"):
        if os.path.exists(database(service, ending)):
            shutil.copy2(database(service, ending), to + ending)


def put_back(service, kept):
    for ending in ("", "-wal", "-shm"):
        if os.path.exists(database(service, ending)):
            os.unlink(database(service, ending))
        if os.path.exists(kept + ending):
            shutil.copy2(kept + ending, database(service, ending))


def it_comes_back_however_it_ended(service):
    """Also with its log checkpointed, and right after the start."""
    for how in (signal.SIGTERM, signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGTERM, signal.SIGKILL):
        completed(service)
        service.kill(how)
        service.start()
    service.kill()
    service.start()
    equal(oct(os.stat(os.path.join(service.state, "store.mark")).st_mode & 0o777), "0o600")


def a_file_of_zeros_is_refused_and_stays_as_it_is(service):
    completed(service)
    for how in (signal.SIGTERM, signal.SIGKILL):
        service.kill(how)
        copy(service, service.dir + "/kept")
        with open(database(service), "r+b") as file:
            size = file.seek(0, 2)
            file.seek(0)
            file.write(bytes(size))
        said = refused(service)
        assert "is not what it was" in said and "--accept-store" in said, said
        with open(database(service), "rb") as file:
            equal(file.read(), bytes(size))
        put_back(service, service.dir + "/kept")
        service.start()


def so_is_an_empty_one_and_none_at_all(service):
    completed(service)
    service.kill(signal.SIGTERM)
    copy(service, service.dir + "/kept")
    os.truncate(database(service), 0)
    assert "is empty" in refused(service)
    os.unlink(database(service))
    assert "there is no" in refused(service)
    assert not os.path.exists(database(service))
    put_back(service, service.dir + "/kept")
    service.start()


def a_log_that_is_gone_after_a_crash_is_noticed(service):
    """What was acknowledged was in it."""
    job = completed(service)
    service.kill()
    copy(service, service.dir + "/kept")
    os.unlink(database(service, "-wal"))
    said = refused(service)
    assert "-wal" in said and "--accept-store" in said, said
    put_back(service, service.dir + "/kept")
    service.start()
    equal(service.job(job)["state"], "completed")
    service.kill(signal.SIGTERM)
    service.start()  # after a clean end there is none, and none is missed


def also_when_most_of_it_is_in_the_file_by_then(service):
    """SQLite takes the log into its file now and then: what came after that is in the log alone."""
    for number in range(24):
        service.submit(script=f"#!/bin/sh\n# {number}\n" + "# x\n" * 60000, hold=True)
    assert os.path.getsize(database(service)) > 2000000, "the log was never taken in"
    last = service.submit("true", hold=True)["id"]
    service.kill()
    copy(service, service.dir + "/kept")
    os.unlink(database(service, "-wal"))
    assert "-wal" in refused(service)
    put_back(service, service.dir + "/kept")
    service.start()
    equal(service.job(last)["state"], "queued")


def a_log_that_another_program_took_in_is_not_missed(service):
    last = completed(service)
    service.kill()
    other = sqlite3.connect(database(service))
    equal(other.execute("SELECT count(*) FROM jobs").fetchone(), (1,))
    other.close()
    assert not os.path.exists(database(service, "-wal"))
    service.start()
    equal(service.job(last)["state"], "completed")


def an_older_copy_is_noticed(service):
    completed(service)
    service.kill(signal.SIGTERM)
    copy(service, service.dir + "/old")
    for _ in range(3):
        service.start()
        service.kill(signal.SIGTERM)
    service.start()
    job = completed(service)
    service.kill(signal.SIGTERM)
    put_back(service, service.dir + "/old")
    said = refused(service)
    assert "older" in said and "--accept-store" in said, said
    accepted(service)
    service.api("GET", f"/jobs/{job}", status=404)
    completed(service)


def a_copy_of_the_same_run_is_noticed_too(service):
    completed(service)
    subprocess.run([STRATA, "backup", database(service), service.dir + "/backup"], check=True, capture_output=True)
    completed(service)
    service.kill(signal.SIGTERM)
    put_back(service, service.dir + "/backup")
    assert "older" in refused(service)
    accepted(service)


def another_store_is_noticed(service):
    other = Service()
    try:
        completed(other)
        other.kill(signal.SIGTERM)
        service.kill(signal.SIGTERM)
        for _ in range(3):
            other.start()
            other.kill(signal.SIGTERM)
        copy(other, service.dir + "/other")
    finally:
        other.close()
    put_back(service, service.dir + "/other")
    assert "another store" in refused(service)
    accepted(service)


def a_directory_of_before_is_taken_once(service):
    completed(service)
    service.kill()
    os.unlink(os.path.join(service.state, "store.mark"))
    service.start()
    service.kill(signal.SIGTERM)
    os.truncate(database(service), 0)
    assert "is empty" in refused(service)
    accepted(service)


def another_database_of_postgres_is_noticed(service):
    if not postgres.possible():
        raise Skip("no initdb (Debian: postgresql)")
    server = postgres.Postgres()
    service.kill(signal.SIGTERM)
    first, second = server.address(), server.address()
    service.args += ["--store", first]
    assert "another store" in refused(service)  # than the file before
    accepted(service)
    service.kill()
    service.args[-1] = second
    assert "another store" in refused(service)
    service.args[-1] = first
    service.start()
    completed(service)
    server.close()


run(it_comes_back_however_it_ended, a_file_of_zeros_is_refused_and_stays_as_it_is, so_is_an_empty_one_and_none_at_all,
    a_log_that_is_gone_after_a_crash_is_noticed, also_when_most_of_it_is_in_the_file_by_then, a_log_that_another_program_took_in_is_not_missed,
    an_older_copy_is_noticed, a_copy_of_the_same_run_is_noticed_too, another_store_is_noticed,
    a_directory_of_before_is_taken_once, another_database_of_postgres_is_noticed)
