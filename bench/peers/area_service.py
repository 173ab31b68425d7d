"""The service beside a real Slurm: slurmctld and four slurmd of this machine, without accounting and with all delays off, in turns with ours.

Both are asked by their own commands, so starting a program is in every figure of both; its cost is the bound beside it."""

import concurrent.futures
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

from rows import Row

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "tests", "api"))
import service as api  # noqa: E402
import slurm_cluster  # noqa: E402

WAITING = 2000
AT_ONCE = 8
ANOTHER_DAY = "2026-10, Slurm: {}"


def missing(_build):
    return slurm_cluster.possible()


class Both:
    """A service and a Slurm of the same four machines."""

    def __init__(self):
        self.slurm = slurm_cluster.Slurm(nodes=4)
        self.service = api.Service(nodes="n:count=4:cpus=16:memory=64G:gpus=4")
        self.env = {**self.slurm.env(), "STRATA_SOCKET": self.service.socket}

    def run(self, *words, text=None):
        done = subprocess.run(words, env=self.env, cwd=self.slurm.dir, capture_output=True, text=True, input=text)
        if done.returncode:
            raise AssertionError(f"{words}: {done.stderr.strip()}")
        return done.stdout

    def close(self):
        self.slurm.close()
        self.service.close()


def rate(call, seconds=1.0, at_once=1):
    """Calls a second, by so many threads."""
    deadline, began = time.monotonic() + seconds, time.monotonic()

    def go():
        count = 0
        while time.monotonic() < deadline:
            call()
            count += 1
        return count

    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        count = sum(pool.map(lambda _: go(), range(at_once)))
    return count / (time.monotonic() - began)


def in_turns(calls, turns=3, **how):
    """The median rate of each, measured one after the other and again."""
    rates = [[] for _ in calls]
    for _ in range(turns):
        for i, call in enumerate(calls):
            rates[i].append(rate(call, **how))
    return [statistics.median(each) for each in rates]


def submissions(both):
    calls = [lambda: both.run(api.STRATA, "submit", "--hold", "--quiet", "--", "true"), lambda: both.run("sbatch", "--hold", "--wrap", "true"),
             lambda: both.run("/bin/true")]
    for at_once, what in (1, "submit and sbatch, one after the other"), (AT_ONCE, f"submit and sbatch, {AT_ONCE} at a time"):
        ours, theirs, bound = in_turns(calls, at_once=at_once)
        yield Row(what, "/s", "more", ours, theirs, "sbatch", bound, "starting /bin/true")
    both.run("scancel", "-u", "root")


def wait_for(there, patience_s=60):
    deadline = time.monotonic() + patience_s
    while not there():
        if time.monotonic() > deadline:
            raise AssertionError("a job does not start")
        time.sleep(0.001)


def starts(both):
    """From before the command to the job's first line, by the clock that both share."""
    took = [[], []]
    for turn in range(7):
        for i, words in enumerate(([api.STRATA, "submit", "--quiet", "--output", "/dev/null", "--", "/bin/sh", "-c"],
                                   ["sbatch", "--output", "/dev/null", "--wrap"])):
            mark = os.path.join(both.slurm.dir, f"started.{turn}.{i}")
            began = time.monotonic()
            both.run(*words, f"echo now >{mark}")
            wait_for(lambda: os.path.exists(mark))  # pylint: disable=cell-var-from-loop
            took[i].append((time.monotonic() - began) * 1e3)
            time.sleep(0.3)
    yield Row("from submission to the job's first line, median", "ms", "less", statistics.median(took[0]), statistics.median(took[1]), "sbatch")


def many_jobs(both, count=1000):
    began = time.monotonic()
    both.run(api.STRATA, "submit", "--quiet", "--array", f"1-{count}", "--output", "/dev/null", "--wait", "--interval", "50ms", "--", "/bin/true")
    ours = count / (time.monotonic() - began)
    began = time.monotonic()
    both.run("sbatch", "--array", f"1-{count}", "--output", "/dev/null", "--wrap", "/bin/true")
    wait_for(lambda: time.sleep(0.05) or not both.run("squeue", "-h").strip(), 300)
    theirs = count / (time.monotonic() - began)
    yield Row(f"an array of {count:,} x /bin/true on 64 CPUs, all done", "/s", "more", ours, theirs, "sbatch --array", in_turns([lambda: both.run("/bin/true")])[0],
              "starting /bin/true")


def memory_mib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1024


def queues(both):
    """A queue of jobs that were submitted one by one."""
    job = {"command": ["true"], "working_dir": "/tmp", "hold": True, "name": "train", "gpus": 4}
    both.service.api("POST", "/jobs", {"jobs": [job] * WAITING}, 201)
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda _: both.run("sbatch", "--hold", "--job-name", "train", "--gres", "gpu:4", "--wrap", "true"), range(WAITING)))
    ours, theirs = in_turns([lambda: both.run(api.STRATA, "queue", "-n", str(WAITING)), lambda: both.run("squeue")])
    yield Row(f"the whole queue of {WAITING:,} as a table", "ms", "less", 1e3 / ours, 1e3 / theirs, "squeue")
    pid = both.slurm.processes["slurmctld"].pid
    yield Row(f"memory of the server with {WAITING:,} waiting", "MiB", "less", memory_mib(both.service.process.pid), memory_mib(pid), "slurmctld")
    began = time.monotonic()
    both.service.kill()
    both.service.start()
    ours = time.monotonic() - began
    began = time.monotonic()
    both.slurm.processes["slurmctld"].kill()
    both.slurm.processes["slurmctld"].wait()
    both.slurm.start()
    yield Row(f"killed with {WAITING:,} waiting, until it answers again", "s", "less", ours, time.monotonic() - began, "slurmctld")


def alone(build):
    """What has no command of Slurm's to be compared with: 64 connections that stay open, and 50,000 jobs."""
    with tempfile.NamedTemporaryFile() as file:
        subprocess.run([os.path.join(build, "bench", "bench_service"), api.STRATA, file.name], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        found = {entry["what"]: entry["value"] for entry in map(json.loads, open(file.name, encoding="utf-8"))}
    one, groups = found["raw commits of one row"], found["raw rows in commits of 64"]
    yield Row("durable submissions, 1 connection", "/s", "more", found["durable submissions, 1 client"], bound=one, bound_name="commits of one row",
              dated=ANOTHER_DAY.format("664"))
    yield Row("durable submissions, 64 connections", "/s", "more", found["64 clients"], bound=groups, bound_name="rows in commits of 64",
              dated=ANOTHER_DAY.format("1,096"))
    yield Row("GET queue with 50,000 waiting", "ms", "less", found["GET queue with 50,000 pending"], dated=ANOTHER_DAY.format("532"))
    yield Row("strata queue with 50,000 waiting", "ms", "less", found["strata queue with 50,000 pending"], dated=ANOTHER_DAY.format("532"))
    yield Row("memory with 50,000 waiting", "MiB", "less", found["memory with 50,000 pending"], dated=ANOTHER_DAY.format("463"))
    yield Row("restart with 100,000 waiting", "s", "less", found["restart with 100,000 pending"], dated=ANOTHER_DAY.format("1.11 with 10,000"))


def measure(build):
    both = Both()
    try:
        for part in submissions, starts, many_jobs, queues:
            yield from part(both)
    finally:
        both.close()
    yield from alone(build)
