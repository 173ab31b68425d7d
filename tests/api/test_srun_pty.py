#!/usr/bin/env python3
"""srun --pty: a terminal within a job, as if one sat there."""
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time

from service import PATIENCE_S, STRATA, equal, run


class Terminal:
    """A person at a terminal who calls srun."""

    def __init__(self, service, *words, rows=40, columns=123):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.execve(STRATA, [STRATA, "slurm", "srun", *words], {**os.environ, "STRATA_SOCKET": service.socket, "PS1": "> "})
        self.seen = ""

    def type(self, keys):
        os.write(self.fd, keys.encode())

    def read(self, words):
        """Until the words have been seen; all that was before them goes."""
        deadline = time.time() + PATIENCE_S
        while words not in self.seen:
            assert time.time() < deadline, f"«{words}» is not in «{self.seen}»"
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    self.seen += os.read(self.fd, 4096).decode()
                except OSError:
                    raise AssertionError(f"it ended without «{words}»: «{self.seen}»")
        before, _, self.seen = self.seen.partition(words)
        return before

    def end(self):
        deadline = time.time() + PATIENCE_S
        while time.time() < deadline:
            done, status = os.waitpid(self.pid, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status)
            if select.select([self.fd], [], [], 0.05)[0]:
                try:
                    self.seen += os.read(self.fd, 4096).decode()
                except OSError:
                    pass
        raise AssertionError(f"it does not end: «{self.seen}»")


def a_shell_in_a_job_has_a_terminal(service):
    person = Terminal(service, "--gpus=1", "--pty", "sh", "-i")
    person.read("> ")
    person.type("tty; stty size; echo job=$SLURM_JOB_ID gpu=$CUDA_VISIBLE_DEVICES.$STRATA_SRUN_TTY.\n")
    seen = person.read("..\r\n") + person.read("> ")
    assert "/dev/pts/" in seen and "40 123" in seen and "job=1 gpu=0" in seen, seen
    fcntl.ioctl(person.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 99, 0, 0))
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


def who_hangs_up_ends_the_job(service):
    person = Terminal(service, "--pty", "sh", "-i")
    person.read("> ")
    os.close(person.fd)
    os.kill(person.pid, signal.SIGKILL)
    os.waitpid(person.pid, 0)
    service.wait(1, "completed", "failed")


def without_a_terminal_it_is_a_pipe(service):
    done = subprocess.run([STRATA, "slurm", "srun", "--pty", "sh", "-c", "read line; echo got $line; exit 3"], input="hello\n",
                          stdout=subprocess.PIPE, text=True, env={**os.environ, "STRATA_SOCKET": service.socket})
    assert "got hello" in done.stdout, done
    equal(done.returncode, 3)


run(a_shell_in_a_job_has_a_terminal, who_hangs_up_ends_the_job, without_a_terminal_it_is_a_pipe)
