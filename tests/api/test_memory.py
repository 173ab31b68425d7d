#!/usr/bin/env python3
"""Memory: a job that takes more than it asked for is ended, whoever keeps the limit, and what each one used is known afterwards."""
import os
import subprocess
import sys

from service import STRATA, equal, run

PYTHON = sys.executable
MIB = 1 << 20


def use(mib, then="time.sleep(30)"):
    """A program that has so much memory."""
    return f"import time; block = bytearray({mib} << 20); block[::4096] = b'x' * len(block[::4096]); {then}"


def slurm(service, *words):
    env = {**os.environ, "STRATA_SOCKET": service.socket}
    return subprocess.run([STRATA, "slurm", *words], env=env, capture_output=True, text=True).stdout


def a_job_with_more_memory_than_it_asked_for_is_ended(service):
    job = service.submit(PYTHON, "-c", use(400), memory=100 * MIB)["id"]
    ended = service.wait(job, "failed")
    equal((ended["reason"], ended["reason_text"]), ("out_of_memory", "it used more memory than it asked for"))
    assert ended["memory_peak_bytes"] > 100 * MIB, ended
    assert "MEMORY LIMIT" in service.output(f"strata-{job}.out")
    equal(slurm(service, "sacct", "-nPX", "-j", str(job), "-o", "State"), "OUT_OF_MEMORY\n")
    service.kill()
    service.start()
    equal(service.job(job)["reason"], "out_of_memory")


def so_are_many_small_ones_of_one_job(service):
    """Each is within the limit, all of them are not."""
    many = "import os, time\nfor _ in range(4):\n    if os.fork() == 0:\n        " + use(60).replace("; ", "\n        ") + "\ntime.sleep(30)"
    equal(service.wait(service.submit(PYTHON, "-c", many, memory=150 * MIB)["id"], "failed")["reason"], "out_of_memory")


def memory_that_processes_share_counts_once(service):
    share = ("import mmap, os, time\nm = mmap.mmap(-1, 80 << 20)\nm.write(b'x' * (80 << 20))\n"
             "for _ in range(4):\n    if os.fork() == 0:\n        sum(m[::4096]); time.sleep(3); os._exit(0)\n"
             "for _ in range(4): os.wait()")
    equal(service.wait(service.submit(PYTHON, "-c", share, memory=250 * MIB)["id"], "completed", "failed")["reason"], "none")


def what_a_job_used_is_known(service):
    job = service.submit(PYTHON, "-c", use(200, "time.sleep(1.5); sum(range(3000000))"), memory=600 * MIB)["id"]
    ended = service.wait(job, "completed")
    assert 200 * MIB <= ended["memory_peak_bytes"] <= 600 * MIB, ended
    assert ended["cpu_user_ms"] > 10, ended
    shown = subprocess.run([STRATA, "show", str(job)], env={**os.environ, "STRATA_SOCKET": service.socket}, capture_output=True, text=True)
    assert "peak memory" in shown.stdout, shown
    peak = slurm(service, "sacct", "-nP", "-j", f"{job}", "-o", "JobID,MaxRSS,TotalCPU").splitlines()
    equal(peak[0].split("|")[:2], [str(job), ""])
    assert int(peak[1].split("|")[1].rstrip("K")) * 1024 >= 200 * MIB, peak
    assert peak[0].split("|")[2] != "00:00.000", peak
    without = service.wait(service.submit("true")["id"], "completed")
    assert without["memory_peak_bytes"] > 0, without


def so_is_what_a_step_used(service):
    srun = os.path.join(service.dir, "srun")
    os.symlink(os.path.abspath(STRATA), srun)
    script = f"#!/bin/sh\n{srun} {PYTHON} -c '{use(120, 'sum(range(3000000))').replace(chr(39), chr(34))}'\n"
    job = service.submit(script=script)["id"]
    service.wait(job, "completed")
    [step] = service.api("GET", f"/jobs/{job}/steps")["steps"]
    assert step["memory_peak_bytes"] > 100 * MIB and step["cpu_user_ms"] > 10, step


def what_is_kept_is_said(service):
    said = service.ask("GET", "/readyz")[1]["limits"]
    assert "cgroup v2" in said or "no control groups" in said, said
    shown = subprocess.run([STRATA, "doctor"], env={**os.environ, "STRATA_SOCKET": service.socket}, capture_output=True, text=True)
    assert said in shown.stdout and "job limits" in shown.stdout, shown.stdout


run(a_job_with_more_memory_than_it_asked_for_is_ended, so_are_many_small_ones_of_one_job, memory_that_processes_share_counts_once,
    what_a_job_used_is_known, so_is_what_a_step_used, what_is_kept_is_said)
