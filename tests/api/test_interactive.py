#!/usr/bin/env python3
"""Jobs that somebody sits at: strata run, shell, attach, wait and salloc on a service, with terminals and without, with everything killed on the way."""
import hashlib
import os
import pwd
import re
import signal
import subprocess
import time

import service as tests
from service import NOBODY, PATIENCE_S, Skip, arguments, equal, run
from terminal import Terminal

STRATA = os.path.abspath(tests.STRATA)
DETACH = "\x1dd"  # Ctrl-] d


def environment(service, **more):
    return {**os.environ, "STRATA_SOCKET": service.socket, "NO_COLOR": "1", **more}


def strata(service, *words, **kw):
    kw.setdefault("stdin", subprocess.DEVNULL) if "input" not in kw else None
    return subprocess.run([STRATA, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(service), cwd=service.dir,
                          timeout=PATIENCE_S, **kw)


def start(service, *words, **kw):
    return subprocess.Popen([STRATA, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(service), cwd=service.dir, **kw)


def fill(service):
    """A job that leaves no room; its number."""
    job = service.submit("sleep", "600", gpus=12)["id"]
    service.wait(job, "running")
    return job


def cancel(service, job):
    service.ask("DELETE", f"/api/v1/jobs/{job}")


def until(condition, what):
    deadline = time.time() + PATIENCE_S
    while not condition():
        assert time.time() < deadline, what
        time.sleep(0.02)


def consoles():
    """Directories of consoles that are there."""
    base = os.environ.get("TMPDIR", "/tmp")
    return {os.path.join(base, name) for name in os.listdir(base) if name.startswith("strata-console-")}


# ---- without a terminal ----

def it_is_as_if_the_command_ran_here(service):
    done = strata(service, "run", "--gpus", "2", "--", "sh", "-c",
                  "cat; echo oops >&2; echo $PWD $STRATA_JOB_ID $SLURM_JOB_ID $CUDA_VISIBLE_DEVICES; exit 7", input=b"in\x00\xff\n")
    equal((done.stdout, done.stderr, done.returncode), (b"in\x00\xff\n" + f"{service.dir} 1 1 0,1\n".encode(), b"oops\n", 7))
    job = service.job(1)
    equal((job["state"], job["exit_code"], job["name"]), ("failed", 7, "sh"))
    equal(strata(service, "run", "--", "sh", "-c", "kill -9 $$").returncode, 137)
    done = strata(service, "run", "--", "/nosuch/program")
    equal((done.stdout, done.returncode), (b"", 127))
    assert b"strata: cannot start /nosuch/program" in done.stderr, done.stderr


def bytes_pass_both_ways(service):
    data = os.urandom(8 << 20)
    done = strata(service, "run", "--", "cat", input=data)
    equal(hashlib.md5(done.stdout).hexdigest(), hashlib.md5(data).hexdigest())
    done = strata(service, "run", "--", "sh", "-c", "head -c 1000000 /dev/zero >&2; head -c 3000000 /dev/zero; exit 0", input=data)
    equal((len(done.stdout), len(done.stderr), done.returncode), (3000000, 1000000, 0))


def signals_pass_behind_input_that_nobody_reads(service):
    with open("/dev/zero", "rb") as zeros:
        one = start(service, "run", "--", "sh", "-c", "trap 'echo hello; exit 9' USR1; echo on; while :; do sleep 0.05; done", stdin=zeros)
        equal(one.stdout.readline(), b"on\n")
        time.sleep(0.5)
        one.send_signal(signal.SIGUSR1)
        equal((one.communicate(timeout=PATIENCE_S)[0], one.returncode), (b"hello\n", 9))
    for number in (signal.SIGINT, signal.SIGTERM):
        one = start(service, "run", "--", "sh", "-c", "echo on; exec sleep 600", stdin=subprocess.DEVNULL)
        equal(one.stdout.readline(), b"on\n")
        one.send_signal(number)
        equal((one.wait(PATIENCE_S), one.stderr.read()), (128 + number, b""))


def who_reads_no_more_ends_it(service):
    one = start(service, "run", "--", "yes", stdin=subprocess.DEVNULL)
    equal(one.stdout.readline(), b"y\n")
    one.stdout.close()
    equal(one.wait(PATIENCE_S), 128 + signal.SIGPIPE)
    service.wait(1, "failed")


def files_of_the_job_stand_in(service):
    with open(os.path.join(service.dir, "in"), "w") as file:
        file.write("from a file\n")
    done = strata(service, "run", "--input", "in", "--output", "out", "--", "sh", "-c", "cat; echo err >&2", input=b"from here")
    equal((done.stdout, done.stderr, done.returncode, service.output("out")), (b"", b"", 0, "from a file\nerr\n"))
    done = strata(service, "run", "--error", "err", "--", "sh", "-c", "echo out; echo err >&2")
    equal((done.stdout, done.stderr, service.output("err")), (b"out\n", b"", "err\n"))


def srun_and_salloc_pass_on_input(service):
    done = strata(service, "slurm", "srun", "cat", input=b"hi\n")
    equal((done.stdout, done.stderr, done.returncode), (b"hi\n", b"", 0))
    done = strata(service, "slurm", "salloc", "-n2", "sh", "-c", "cat; echo $SLURM_JOB_ID $SLURM_NTASKS; %s slurm srun -n1 -N1 cat; exit 3" % STRATA,
                  input=b"hi\n")
    equal((done.stdout, done.returncode), (b"hi\n2 2\n", 3))
    equal(done.stderr, b"salloc: Granted job allocation 2\nsalloc: Relinquishing job allocation 2\n")
    equal(service.job(2)["state"], "failed")


# ---- waiting ----

def who_waits_hears_why_and_may_give_up(service):
    filler = fill(service)
    one = start(service, "run", "--gpus", "1", "--", "echo", "done", stdin=subprocess.DEVNULL)
    line = one.stderr.readline().decode()
    assert re.match(rf"strata: job {filler + 1} waits: .*Ctrl-C cancels it", line), line
    one.send_signal(signal.SIGINT)
    equal((one.wait(PATIENCE_S), one.stdout.read(), one.stderr.read()), (130, b"", f"strata: job {filler + 1} is cancelled\n".encode()))
    equal(service.job(filler + 1)["state"], "cancelled")
    one = start(service, "slurm", "salloc", "-G1", "true", stdin=subprocess.DEVNULL)
    equal(one.stderr.readline() + one.stderr.readline(),
          f"salloc: Pending job allocation {filler + 2}\nsalloc: job {filler + 2} queued and waiting for resources\n".encode())
    cancel(service, filler)
    equal((one.wait(PATIENCE_S), one.stderr.read().decode().splitlines()),
          (0, [f"salloc: job {filler + 2} has been allocated resources", f"salloc: Granted job allocation {filler + 2}",
               f"salloc: Relinquishing job allocation {filler + 2}"]))


def who_was_killed_while_waiting_gets_nothing_started(service):
    before, filler = consoles(), fill(service)
    one = start(service, "run", "--gpus", "1", "--", "touch", "started", stdin=subprocess.DEVNULL)
    service.wait(filler, "running")
    until(lambda: service.ask("GET", f"/api/v1/jobs/{filler + 1}")[0] == 200, "the job is not there")
    one.kill()
    one.wait()
    cancel(service, filler)
    service.wait(filler + 1, "failed")
    assert not os.path.exists(os.path.join(service.dir, "started"))
    until(lambda: consoles() <= before, "the directory of the console is left")


# ---- with a terminal ----

def a_shell_has_job_control(service):
    person = Terminal(service, "shell", "--gpus", "1", env={"SHELL": "/bin/bash", "HOME": service.dir})
    person.type("PS1='> '\n")
    person.read("> ")
    person.type("tty; stty size; echo gpu=$CUDA_VISIBLE_DEVICES.\n")
    seen = person.read("gpu=0.\r\n")
    assert "/dev/pts/" in seen and "40 123" in seen, seen
    person.resize(50, 99)
    person.type("sleep 0.5; stty size\n")
    person.read("50 99")
    person.type("sleep 600\n")
    time.sleep(0.5)
    person.type("\x1a")  # Ctrl-Z
    person.read("Stopped")
    person.type("jobs; fg\n")
    person.read("sleep 600")
    time.sleep(0.5)
    person.type("\x03")
    person.type("echo $((6 * 7))-\n")
    person.read("42-")
    person.type("\x04")  # Ctrl-D
    equal(person.end(), service.wait(1, "completed", "failed")["exit_code"])


def one_leaves_and_comes_back(service):
    before = consoles()
    person = Terminal(service, "run", "--", "sh", "-i")
    person.read("> ")
    person.type("echo first-$((1 + 1))\n")
    person.read("first-2")
    person.read("> ")
    person.type(DETACH)
    equal(person.end(), 0)
    assert "job 1 goes on; `strata attach 1` comes back to it" in person.seen, person.seen
    equal(service.job(1)["state"], "running")
    again = Terminal(service, "attach", "1", rows=30, columns=77)
    again.read("first-2")  # what was on the screen
    again.type("stty size\n")
    again.read("30 77")
    other = Terminal(service, "attach", "1", rows=20, columns=66)
    other.type("echo from-$((2 + 2))\n")
    again.read("from-4")
    other.read("from-4")
    other.close()  # ends nothing
    again.type("echo still-$((3 + 3))\n")
    again.read("still-6")
    again.type("exit 5\n")
    equal((again.end(), service.wait(1, "failed")["exit_code"]), (5, 5))
    until(lambda: consoles() <= before, "the directory of the console is left")


def the_detaching_key_can_be_another_and_is_typed_twice(service):
    person = Terminal(service, "run", "--detach-key", "ctrl-a", "--", "sh", "-c", "stty raw -echo; echo ready; head -c 3 | od -An -c; exec sleep 600")
    person.read("ready")
    person.type("\x1dd")
    person.type("\x01\x01")
    seen = person.read("001")
    assert "035" in seen and "d" in seen, seen
    person.type("\x01d")
    equal(person.end(), 0)
    equal(service.job(1)["state"], "running")


def a_closed_terminal_ends_the_job(service):
    for number, how in enumerate((None, signal.SIGKILL, signal.SIGHUP, signal.SIGTERM), 1):
        person = Terminal(service, "run", "--", "bash", "--norc", "-i")
        person.type("echo on-$((1 + 1))\n")
        person.read("on-2")
        person.type("sleep 600 &\n")
        person.type("echo bg-$((1 + 1))\n")
        person.read("bg-2")
        person.close(how)
        service.wait(number, "failed", "completed")
    one = start(service, "run", "--", "sh", "-c", "trap '' HUP; echo on; sleep 600", stdin=subprocess.DEVNULL)
    equal(one.stdout.readline(), b"on\n")
    one.kill()
    one.wait()
    service.wait(5, "failed")


@arguments("--preempt", "least_lost:grace=5:protect=0")
def the_end_by_others_is_said(service):
    person = Terminal(service, "run", "--", "sh", "-c", "echo on; exec sleep 600")
    person.read("on")
    cancel(service, 1)
    equal(person.end(), 143)
    assert "job 1 was cancelled" in person.seen, person.seen
    done = strata(service, "run", "--time", "1s", "--", "sleep", "600")
    equal(done.returncode, 143)
    assert re.match(rb"strata: job 2 .*time limit", done.stderr), done.stderr
    one = start(service, "run", "--nodes", "3", "--exclusive", "--preemptible", "--priority", "low", "--", "sh", "-c", "echo on; exec sleep 600", stdin=subprocess.DEVNULL)
    equal(one.stdout.readline(), b"on\n")
    urgent = service.submit("true", gpus_per_node=4, nodes=3, priority="high")["id"]
    equal(one.wait(PATIENCE_S), 143)
    said = one.stderr.read().decode()
    assert "job 3" in said and "gave up its place" in said and said.count("\n") == 1, said
    service.wait(urgent, "completed")
    service.wait(3, "cancelled", "failed")


# ---- the service ----

def the_service_may_die_meanwhile(service):
    person = Terminal(service, "run", "--", "sh", "-i")
    person.read("> ")
    service.kill()
    person.type("echo alive-$((1 + 1))\n")
    person.read("alive-2")
    service.start()
    person.type("echo again-$((1 + 1))\n")
    person.read("again-2")
    person.type("exit 5\n")
    equal((person.end(), service.wait(1, "failed")["exit_code"]), (5, 5))
    one = start(service, "run", "--", "sh", "-c", "echo on; sleep 1; exit 6", stdin=subprocess.DEVNULL)
    equal(one.stdout.readline(), b"on\n")
    service.kill()
    equal(one.wait(PATIENCE_S), 6)  # known without it
    service.start()
    equal(service.wait(2, "failed")["exit_code"], 6)
    filler = fill(service)
    one = start(service, "run", "--gpus", "1", "--", "echo", "done", stdin=subprocess.DEVNULL)
    assert b"waits" in one.stderr.readline()
    service.kill()
    time.sleep(1.5)
    service.start()
    cancel(service, filler)
    equal((one.wait(PATIENCE_S), one.stdout.read()), (0, b"done\n"))


# ---- attach and wait ----

def other_jobs_are_followed(service):
    service.submit("sh", "-c", "echo one; while [ ! -e go ]; do sleep 0.05; done; echo two; exit 4", output="out")
    service.wait(1, "running")
    one = start(service, "attach", "1", stdin=subprocess.DEVNULL)
    equal(one.stdout.readline(), b"one\n")
    open(os.path.join(service.dir, "go"), "w").close()
    equal((one.wait(PATIENCE_S), one.stdout.read()), (4, b"two\n"))
    assert b"job 1 has no terminal" in one.stderr.read()
    done = strata(service, "attach", "1")
    equal(done.returncode, 6)
    assert b"job 1 has ended; `strata show 1` tells how" in done.stderr, done.stderr
    equal(strata(service, "attach", "99").returncode, 3)


def a_guest_at_pipes_only_looks(service):
    one = start(service, "run", "--", "sh", "-c", "echo hello; cat; exit 3", stdin=subprocess.PIPE)
    equal(one.stdout.readline(), b"hello\n")
    guest = start(service, "attach", "1", stdin=subprocess.PIPE)
    equal(guest.stdout.readline(), b"hello\n")
    guest.stdin.write(b"not for it\n")
    guest.stdin.close()
    one.stdin.write(b"for it\n")
    one.stdin.flush()
    equal((one.stdout.readline(), guest.stdout.readline()), (b"for it\n", b"for it\n"))
    leaving = start(service, "attach", "1", stdin=subprocess.DEVNULL)
    equal(leaving.stdout.readline(), b"hello\n")
    leaving.send_signal(signal.SIGINT)
    equal(leaving.wait(PATIENCE_S), 0)
    one.stdin.close()
    equal((one.wait(PATIENCE_S), guest.wait(PATIENCE_S)), (3, 3))


def scripts_wait(service):
    service.submit("sh", "-c", "while [ ! -e go ]; do sleep 0.05; done; exit $STRATA_ARRAY_TASK_ID", array="0-3")
    service.submit("sh", "-c", "kill -9 $$")
    equal(strata(service, "wait", "5").returncode, 137)
    equal(strata(service, "wait", "--timeout", "300ms", "1").returncode, 124)
    equal(strata(service, "wait", "--any", "1", "5").returncode, 137)
    one = start(service, "wait", "1_[1-2]", "1", stdin=subprocess.DEVNULL)
    time.sleep(0.3)
    equal(one.poll(), None)
    open(os.path.join(service.dir, "go"), "w").close()
    equal((one.wait(PATIENCE_S), one.stdout.read(), one.stderr.read()), (1, b"", b""))
    equal([strata(service, "wait", word).returncode for word in ("1_0", "1_2", "1_[2-3]", "1", "1_3")], [0, 2, 2, 1, 3])
    done = strata(service, "wait", "-v", "1_0")
    equal((done.returncode, b"completed" in done.stdout), (0, True))
    equal((strata(service, "wait", "99").returncode, strata(service, "wait", "x").returncode), (3, 3))


# ---- rights ----

def only_its_user_sits_at_a_job(service):
    if os.getuid() != 0:
        raise Skip("not root")
    entry = pwd.getpwnam(NOBODY)

    def become():
        os.setgroups([])
        os.setgid(entry.pw_gid)
        os.setuid(entry.pw_uid)

    env = environment(service, HOME="/tmp", SHELL="/bin/sh", STRATA_CONFIG="/dev/null", PATH="/usr/bin:/bin")
    kw = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "cwd": "/tmp", "env": env, "preexec_fn": become, "timeout": PATIENCE_S}
    done = subprocess.run([STRATA, "run", "--", "id", "-un"], stdin=subprocess.DEVNULL, **kw)
    if b"ermission denied" in done.stderr:
        raise Skip("nobody cannot run the program here")
    equal((done.stdout, done.returncode), (NOBODY.encode() + b"\n", 0))
    before = consoles()
    one = start(service, "run", "--", "sh", "-c", "echo on; cat", stdin=subprocess.PIPE)
    equal(one.stdout.readline(), b"on\n")
    (place,) = consoles() - before
    info = os.stat(place)
    equal((info.st_mode & 0o7777, info.st_uid), (0o700, 0))
    done = subprocess.run([STRATA, "attach", "2"], stdin=subprocess.DEVNULL, **kw)
    equal(done.returncode, 4)
    assert b"root" in done.stderr or b"forbidden" in done.stderr or b"not yours" in done.stderr, done.stderr
    code = "import socket, sys; s = socket.socket(socket.AF_UNIX)\ntry:\n s.connect(sys.argv[1])\nexcept PermissionError: sys.exit(9)"
    equal(subprocess.run(["/usr/bin/python3", "-c", code, place + "/console"], **kw).returncode, 9)
    os.chmod(place + "/console", 0o777)
    os.chmod(place, 0o777)  # as if it were a directory that others may use: refused by both ends
    done = strata(service, "attach", "2")
    assert b"is not a directory of this user alone" in done.stderr, done.stderr
    code = ("import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])\n"
            "try:\n s.send(b'h\\7\\0\\0\\1\\0\\0\\0\\0\\0\\0'); sys.exit(0 if s.recv(9) else 8)\nexcept OSError: sys.exit(8)")
    equal(subprocess.run(["/usr/bin/python3", "-c", code, place + "/console"], **kw).returncode, 8)
    os.chmod(place, 0o700)
    one.stdin.close()
    equal(one.wait(PATIENCE_S), 0)


run(it_is_as_if_the_command_ran_here, bytes_pass_both_ways, signals_pass_behind_input_that_nobody_reads, who_reads_no_more_ends_it,
         files_of_the_job_stand_in, srun_and_salloc_pass_on_input, who_waits_hears_why_and_may_give_up, who_was_killed_while_waiting_gets_nothing_started,
         a_shell_has_job_control, one_leaves_and_comes_back, the_detaching_key_can_be_another_and_is_typed_twice, a_closed_terminal_ends_the_job,
         the_end_by_others_is_said, the_service_may_die_meanwhile, other_jobs_are_followed, a_guest_at_pipes_only_looks, scripts_wait,
         only_its_user_sits_at_a_job)
