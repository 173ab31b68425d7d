#!/usr/bin/env python3
"""What jobs have written."""
import os
import shutil

from service import Skip, as_nobody, equal, run


def output_can_be_read(service):
    job = service.submit("sh", "-c", "echo one; echo two")["id"]
    service.wait(job, "completed")
    equal(service.ask("GET", f"/api/v1/jobs/{job}/output"), (200, "one\ntwo\n"))
    equal(service.ask("GET", f"/api/v1/jobs/{job}/output?from=4"), (200, "two\n"))


def where_the_last_lines_begin_can_be_asked(service):
    job = service.submit("sh", "-c", "seq 1 30000; printf end")["id"]
    service.wait(job, "completed")
    text = service.ask("GET", f"/api/v1/jobs/{job}/output")[1]
    for lines in (0, 1, 2, 3, 20000, 30001, 30002):
        tail = service.api("GET", f"/jobs/{job}/output?lines={lines}")
        equal((lines, tail["size"]), (lines, len(text)))
        equal((lines, text[tail["from"]:]), (lines, "".join(text.splitlines(True)[-lines:] if lines else "")))
    equal(service.ask("GET", f"/api/v1/jobs/{job}/output?lines=1&error=1")[0], 200)
    waiting = service.submit("true", hold=True)["id"]
    error = service.api("GET", f"/jobs/{waiting}/output?lines=5", status=404)["error"]
    equal(error["message"], f"job {waiting} has not started; `strata why {waiting}` says why")
    equal(service.api("GET", f"/jobs/{waiting}/output?lines=5&follow=1"), {"from": 0, "size": 0})


def the_end_of_a_long_one_can_be_read(service):
    job = service.submit("sh", "-c", "seq 1000")["id"]
    service.wait(job, "completed")
    whole = "".join(f"{number}\n" for number in range(1, 1001))
    for query, want in (("tail=11", "999\n1000\n"), ("tail=9", "999\n1000\n"), ("tail=8", "1000\n"), ("tail=0", whole), ("tail=100000", whole), ("tail=9&follow=1", "999\n1000\n"),
                        ("from=3884&tail=9", "999\n1000\n"), ("from=3888&tail=9", "1000\n")):
        equal((query, service.ask("GET", f"/api/v1/jobs/{job}/output?{query}")), (query, (200, want)))
    equal(service.ask("GET", f"/api/v1/jobs/{job}/output?tail=-1")[0], 400)


def only_what_its_user_may_read_is_shown(service):
    """A job's user may point its output anywhere afterwards: the service reads it with his rights."""
    if os.geteuid() != 0:
        raise Skip("another user is needed")
    os.chmod(service.dir, 0o777)
    secret, path = os.path.join(service.dir, "secret"), os.path.join(service.dir, "out")
    with open(secret, "w") as file:
        file.write("root's")
    os.chmod(secret, 0o600)
    job = as_nobody(service, "POST", "/api/v1/jobs",
                    {"command": ["echo", "mine"], "working_dir": service.dir, "output": path})[1]["id"]
    service.wait(job, "completed")
    equal(as_nobody(service, "GET", f"/api/v1/jobs/{job}/output"), [200, "mine\n"])
    os.unlink(path)
    os.symlink(secret, path)
    equal(as_nobody(service, "GET", f"/api/v1/jobs/{job}/output")[0], 404)


def nobodys(service, **fields):
    """A job of another user's, and the path of its output, which that user may replace."""
    if os.geteuid() != 0:
        raise Skip("needs root, which serves others")
    home = os.path.join(service.dir, "home")
    os.mkdir(home)
    os.chmod(home, 0o777)
    path = os.path.join(home, "out")
    job = as_nobody(service, "POST", "/api/v1/jobs",
                    {"command": ["cat"], "working_dir": home, "output": path, **fields})[1]["id"]
    return job, path


def a_link_into_proc_shows_nothing_of_the_service(service):
    """What is open in the service, and its memory, are root's: its /proc/self is not the caller's."""
    job, path = nobodys(service)
    service.wait(job, "completed")
    mine = service.submit("sh", "-c", "echo for root alone; sleep 60")["id"]
    service.wait(mine, "running")
    connection, answer = service.follow(f"/jobs/{mine}/output?follow=1")
    equal(answer.readline(), b"for root alone\n")  # from here on it is open in the service
    pid = service.process.pid
    names = ["maps", "environ", "cmdline", "status"] + [f"fd/{fd}" for fd in range(3, 60)]
    for target in [f"/proc/self/{name}" for name in names] + [f"/proc/{pid}/{name}" for name in names] + [
            "/proc/thread-self/maps", f"/proc/self/root{service.dir}/log", "/sys/kernel/mm/transparent_hugepage/enabled"]:
        os.unlink(path)
        os.symlink(target, path)
        status, answer = as_nobody(service, "GET", f"/api/v1/jobs/{job}/output")
        equal((target, status), (target, 404))
    connection.close()


def what_is_not_a_file_is_said_to_be_none(service):
    """A pipe that somebody writes to, or nobody, holds up neither the caller nor the service."""
    job, path = nobodys(service)
    service.wait(job, "completed")
    os.unlink(path)
    os.mkfifo(path, 0o666)
    os.chmod(path, 0o666)
    for end in (os.O_RDWR, None):  # with a writer, and without
        fd = os.open(path, end) if end else None
        status, answer = as_nobody(service, "GET", f"/api/v1/jobs/{job}/output")
        equal(status, 404)
        assert "expected a regular file" in answer["error"]["message"], answer
        if fd:
            os.close(fd)
    os.unlink(path)
    os.mkdir(path)
    assert "expected a regular file" in as_nobody(service, "GET", f"/api/v1/jobs/{job}/output")[1]["error"]["message"]
    os.rmdir(path)
    os.symlink("/dev/zero", path)
    assert "expected a regular file" in as_nobody(service, "GET", f"/api/v1/jobs/{job}/output")[1]["error"]["message"]
    os.unlink(path)
    os.symlink("/dev/null", path)
    equal(as_nobody(service, "GET", f"/api/v1/jobs/{job}/output"), [200, ""])


def a_job_reads_nothing_of_its_supervisor(service):
    """Input is opened before the job becomes its user's: /proc/self is root's supervisor then."""
    for target in ("/proc/self/maps", "/proc/self/environ", "/proc/self/fd/3"):
        job, path = nobodys(service, input=target)
        service.wait(job, "failed")
        assert not os.path.exists(path) or os.path.getsize(path) == 0, open(path).read()
        shutil.rmtree(os.path.dirname(path))
    job, path = nobodys(service, working_dir="/proc/self/cwd")
    service.wait(job, "failed")


def it_can_be_followed_to_its_end(service):
    go = os.path.join(service.dir, "go")
    job = service.submit("sh", "-c", f"echo one; until [ -e {go} ]; do sleep 0.05; done; echo two; echo oops >&2", error="err")["id"]
    service.wait(job, "running")
    connection, answer = service.follow(f"/jobs/{job}/output?follow=1")
    equal(answer.readline(), b"one\n")
    service.api("GET", "/queue")  # it is in nobody's way
    open(go, "w").close()
    equal(answer.read(), b"two\n")
    connection.close()
    equal(service.ask("GET", f"/api/v1/jobs/{job}/output?follow=1&from=4"), (200, "two\n"))
    equal(service.ask("GET", f"/api/v1/jobs/{job}/output?error=1"), (200, "oops\n"))


def one_that_has_not_begun_is_waited_for(service):
    job = service.submit("echo", "here", hold=True)["id"]
    equal(service.ask("GET", f"/api/v1/jobs/{job}/output")[0], 404)
    connection, answer = service.follow(f"/jobs/{job}/output?follow=1")
    service.api("PATCH", f"/jobs/{job}", {"hold": False})
    equal(answer.read(), b"here\n")
    connection.close()
    job = service.submit("true", hold=True)["id"]
    connection, answer = service.follow(f"/jobs/{job}/output?follow=1")
    service.api("DELETE", f"/jobs/{job}")
    equal(answer.read(), b"")
    connection.close()


def any_bytes_come_through(service):
    job = service.submit("sh", "-c", "head -c 3000000 /dev/zero; printf end")["id"]
    service.wait(job, "completed")
    connection, answer = service.follow(f"/jobs/{job}/output")
    equal(answer.read(), bytes(3000000) + b"end")
    connection.close()



def it_is_there_after_a_restart_and_long_after_the_end(service):
    """Where a job wrote is worked out again from what was asked for."""
    runs = service.submit("sh", "-c", "echo here; sleep 60", output="%x-%j.txt", name="on")["id"]
    ended = service.submit("sh", "-c", "echo out; echo err >&2", error="e-%j")["id"]
    never = service.submit("true", hold=True)["id"]
    node = service.submit("true", output="%N.txt")["id"]
    service.wait(runs, "running")
    service.wait(ended, "completed")
    service.wait(node, "completed")
    service.api("DELETE", f"/jobs/{never}")
    service.kill()
    service.start()  # and those that have ended are not live any more
    service.wait(runs, "running")
    equal(service.ask("GET", f"/api/v1/jobs/{runs}/output"), (200, "here\n"))
    equal(service.ask("GET", f"/api/v1/jobs/{ended}/output"), (200, "out\n"))
    equal(service.ask("GET", f"/api/v1/jobs/{ended}/output?follow=1&from=1"), (200, "ut\n"))
    equal(service.ask("GET", f"/api/v1/jobs/{ended}/output?error=1"), (200, "err\n"))
    equal(service.ask("GET", f"/api/v1/jobs/{never}/output")[0], 404)
    assert "node" in service.api("GET", f"/jobs/{node}/output", status=404)["error"]["message"]
    if os.geteuid() == 0:
        equal(as_nobody(service, "GET", f"/api/v1/jobs/{ended}/output")[0], 403)


run(where_the_last_lines_begin_can_be_asked, it_is_there_after_a_restart_and_long_after_the_end, output_can_be_read, the_end_of_a_long_one_can_be_read, it_can_be_followed_to_its_end, one_that_has_not_begun_is_waited_for, any_bytes_come_through, only_what_its_user_may_read_is_shown,
    a_link_into_proc_shows_nothing_of_the_service, what_is_not_a_file_is_said_to_be_none, a_job_reads_nothing_of_its_supervisor)
