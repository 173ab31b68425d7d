"""An S3 and a service that copies checkpoints to it, for test_mirror.py and test_s3.py: ours, or with the word moto moto's."""
import json
import os
import shutil
import subprocess
import sys
import time

from fake_s3 import FakeS3
from service import PATIENCE_S, STRATA, Service

COPIER = os.path.join(os.path.dirname(STRATA), "strata-checkpoints")
MOTO = os.path.join(os.path.dirname(STRATA), "moto")


class Moto:
    """The same for moto, in a process of its own; it has no faults to switch on."""
    region, bucket = "us-east-1", "bucket"

    def __init__(self):
        python = os.path.join(MOTO, "bin", "python")
        with open(os.path.join(os.path.dirname(STRATA), "moto.log"), "w") as log:
            self.process = subprocess.Popen([python, os.path.join(os.path.dirname(__file__), "moto_s3.py")], stdout=subprocess.PIPE,
                                            stdin=subprocess.PIPE, stderr=log, text=True)
        self.url, self.access, self.secret = json.loads(self.process.stdout.readline())

    def keys(self):
        self.process.stdin.write("keys\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait(PATIENCE_S)


class World:
    """An S3 and a service that copies to it."""

    def __init__(self, test):
        self.s3 = Moto() if "moto" in sys.argv else FakeS3()
        try:
            self.place = os.path.realpath(os.path.join("/tmp", f"strata-mirror-{os.getpid()}-{time.monotonic_ns()}"))
            os.makedirs(self.place, 0o700)
            self.credentials = os.path.join(self.place, "credentials")
            self.write()
            self.service = Service("--checkpoint-path", f"s3://{self.s3.bucket}/lab/checks", "--s3-endpoint", self.s3.url,
                                   "--s3-credentials", self.credentials, "--s3-part", "5M", "--grace", "2s")
        except BaseException:
            self.s3.close()
            raise

    def write(self, secret=None, more=""):
        with open(self.credentials, "w") as file:
            file.write(f"# ours\n[default]\naws_access_key_id = {self.s3.access}\naws_secret_access_key={secret or self.s3.secret}\n{more}[other]\n")
        os.chmod(self.credentials, 0o600)

    def said(self):
        return self.service.said()

    def close(self):
        self.service.end()
        self.service.close()
        self.s3.close()
        shutil.rmtree(self.place, ignore_errors=True)


def until(check, what, world=None):
    deadline = time.time() + PATIENCE_S
    while time.time() < deadline:
        if found := check():
            return found
        time.sleep(0.05)
    raise AssertionError(f"never: {what}: {world.said()[-2000:] if world else ''}")


def checkpoints(service, job):
    return service.api("GET", f"/jobs/{job}/checkpoints")["checkpoints"]


def copied(world, job):
    return until(lambda: [one for one in checkpoints(world.service, job) if one["copied"]], "a copy", world)


def events(service, job):
    return [one["kind"] for one in service.api("GET", "/events?format=json&limit=1000")["events"] if one.get("job") == job]


MISSING = "the environment build/moto is not there" if "moto" in sys.argv and not os.path.exists(os.path.join(MOTO, "pins")) else None
