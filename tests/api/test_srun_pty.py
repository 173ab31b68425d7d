#!/usr/bin/env python3
"""srun --pty: a terminal within a job, as if one sat there."""
import os
import signal
import subprocess
import time

from service import STRATA, equal, run
from terminal import Terminal


def a_shell_in_a_job_has_a_terminal(service):
    person = Terminal(service, "slurm", "srun", "--gpus=1", "--pty", "sh", "-i")
    person.read("> ")
    person.type("tty; stty size; echo job=$SLURM_JOB_ID gpu=$CUDA_VISIBLE_DEVICES..\n")
    seen = person.read("..\r\n") + person.read("> ")
    assert "/dev/pts/" in seen and "40 123" in seen and "job=1 gpu=0" in seen, seen
    person.resize(50, 99)
    person.type("sleep 0.5; stty size\n")
    person.read("50 99")
    person.type("sleep 60\n")
    time.sleep(0.5)
    person.type("\x03")  # ends what runs in the shell, not the job
    person.type("echo still $((6 * 7))\n")
    person.read("still 42")
    equal(service.job(1)["state"], "running")
    person.type("exit 7\n")
    equal(person.end(), 7)
    equal(service.wait(1, "failed")["exit_code"], 7)


def an_interrupt_is_the_tasks_alone(service):
    person = Terminal(service, "slurm", "srun", "--pty", "sh", "-c", "trap 'echo caught' INT; echo on; while :; do sleep 0.1; [ -e done ] && exit 5; done")
    person.read("on")
    person.type("\x03")
    person.read("caught")
    equal(service.job(1)["state"], "running")
    person.type("\x1c")  # Ctrl-\ ends it
    equal(person.end(), 128 + signal.SIGQUIT)


def who_hangs_up_ends_the_job(service):
    person = Terminal(service, "slurm", "srun", "--pty", "sh", "-i")
    person.read("> ")
    person.close(signal.SIGKILL)
    service.wait(1, "completed", "failed")


def without_a_terminal_it_is_a_pipe(service):
    done = subprocess.run([STRATA, "slurm", "srun", "--pty", "sh", "-c", "read line; echo got $line; exit 3"], input="hello\n",
                          stdout=subprocess.PIPE, text=True, env={**os.environ, "STRATA_SOCKET": service.socket})
    assert "got hello" in done.stdout, done
    equal(done.returncode, 3)


run(a_shell_in_a_job_has_a_terminal, an_interrupt_is_the_tasks_alone, who_hangs_up_ends_the_job, without_a_terminal_it_is_a_pipe)
