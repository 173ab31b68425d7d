"""tests/fake_slurm as a cluster for one service: links by the names of Slurm's commands, and a look at what it was told."""

import json
import os
import tempfile

from service import Service

PROGRAM = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "fake_slurm")


class OnFake(Service):
    def __init__(self, *args):
        self.bin = tempfile.mkdtemp(prefix="strata-fake-")
        os.chmod(self.bin, 0o755)
        for name in ["sacct", "sbatch", "scancel", "scontrol", "sinfo", "squeue"]:
            os.symlink(PROGRAM, os.path.join(self.bin, name))
        super().__init__("--executor", f"slurm:bin={self.bin}:poll=100ms", *args, nodes=None)

    def flag(self, name, on=True):
        path = os.path.join(self.bin, name)
        if on:
            with open(path, "w"):
                pass
        elif os.path.exists(path):
            os.unlink(path)

    def there(self):
        """Its jobs, by number."""
        try:
            with open(os.path.join(self.bin, "jobs.json")) as file:
                return json.load(file)
        except FileNotFoundError:
            return {}

    def change(self, number, **fields):
        """Something happens to a job there."""
        import fcntl
        with open(os.path.join(self.bin, "lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            jobs = self.there()
            jobs.setdefault(number, {}).update(fields)
            with open(os.path.join(self.bin, "jobs.json"), "w") as file:
                json.dump(jobs, file)
