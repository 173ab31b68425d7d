"""A PostgreSQL server of one's own, in a temporary directory; stopped and started at will."""

import atexit
import ctypes
import glob
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time

PROGRAMS = os.path.dirname((sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb")) or [""])[-1])


def possible():
    return bool(PROGRAMS)


def become():
    """In the child: not root, which PostgreSQL refuses, and gone when the test is."""
    if os.geteuid() == 0:
        user = pwd.getpwnam("postgres")
        os.setgroups([])
        os.setgid(user.pw_gid)
        os.setuid(user.pw_uid)
    ctypes.CDLL(None).prctl(1, signal.SIGQUIT)


class Postgres:
    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="strata-pg-")
        if os.geteuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(self.dir, user.pw_uid, user.pw_gid)
        self.process, self.schemas = None, 0
        atexit.register(self.close)
        self.program("initdb", "-D", "data", "-U", "strata", "-A", "trust", "-E", "UTF8", "--locale=C", "-N",
                     "--no-instructions").wait()
        self.start()

    def program(self, name, *words):
        log = open(os.path.join(self.dir, "log"), "a")
        return subprocess.Popen([os.path.join(PROGRAMS, name), *words], cwd=self.dir, stdout=log, stderr=log,
                                preexec_fn=become)

    def start(self):
        self.process = self.program("postgres", "-D", "data", "-k", self.dir, "-h", "", "-c", "shared_buffers=16MB",
                                    "-c", "fsync=off")
        while subprocess.run([os.path.join(PROGRAMS, "pg_isready"), "-q", "-h", self.dir]).returncode:
            assert self.process.poll() is None, "PostgreSQL did not start: see " + self.dir
            time.sleep(0.05)

    def stop(self, how=signal.SIGINT):
        self.process.send_signal(how)
        self.process.wait()

    def signal_all(self, how):
        """The server and all that it has started."""
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children") as children:
            for pid in [self.process.pid, *map(int, children.read().split())]:
                os.kill(pid, how)

    def run(self, sql, schema="public"):
        return subprocess.run([os.path.join(PROGRAMS, "psql"), "-h", self.dir, "-U", "strata", "-d", "postgres", "-qAt",
                               "-c", f"SET search_path = {schema}", "-c", sql], check=True, capture_output=True,
                              text=True).stdout.strip()

    def address(self):
        """Of a store that nobody has used."""
        self.schemas += 1
        self.run(f"CREATE SCHEMA t{self.schemas}")
        return f"postgresql://strata@/postgres?host={self.dir}&options=-csearch_path%3Dt{self.schemas}"

    def close(self):
        if self.process and self.process.poll() is None:
            self.stop(signal.SIGQUIT)
        shutil.rmtree(self.dir, ignore_errors=True)
