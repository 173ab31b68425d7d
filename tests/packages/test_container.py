#!/usr/bin/env python3
"""The container image, built by buildah on a bare Debian tree and run without a registry or a daemon: whom it runs as, that it answers and says so,
that a job runs in it."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "api"))
import tree  # noqa: E402
from service import Skip, equal, run_with  # noqa: E402

IMAGE, BASE = "localhost/strata", "localhost/bare-debian"
image = None


class Image:
    """Built once, in storage of its own."""

    def __init__(self):
        why = tree.why_not("buildah", "unshare")
        if why:
            raise Skip(why)
        self.dir = tempfile.mkdtemp(prefix="strata-image-", dir="/var/tmp")
        self.service = None
        base = self.buildah("from", "scratch").strip()
        mounted = self.buildah("mount", base).strip()
        subprocess.run(["cp", "-a", "--reflink=auto", tree.BARE + "/.", mounted], check=True)
        self.buildah("umount", base)
        self.buildah("commit", "--rm", base, BASE)
        context = os.path.join(self.dir, "context")
        os.mkdir(context)
        for path in tree.debs():
            shutil.copy(path, context)
        self.buildah("bud", "--isolation", "chroot", "--format", "docker", "--build-arg", f"BASE={BASE}", "-t", IMAGE,
                     "-f", os.path.join(tree.SOURCE, "packaging", "container", "Containerfile"), context)
        self.container = self.buildah("from", IMAGE).strip()
        self.conf = json.loads(self.buildah("inspect", "--type", "image", IMAGE))["Docker"]["config"]

    def words(self, *words):
        return ["buildah", "--storage-driver", "vfs", "--root", self.dir + "/root", "--runroot", self.dir + "/run", *words]

    def buildah(self, *words, status=0):
        done = subprocess.run(self.words(*words), capture_output=True, text=True, timeout=900)
        assert status is None or done.returncode == status, f"buildah {words}: {done.returncode}\n{done.stdout[-1500:]}{done.stderr[-1500:]}"
        return done.stdout

    def run(self, *words, status=0):
        return self.buildah("run", "--isolation", "chroot", self.container, "--", *words, status=status)

    def serve(self):
        """What the image does by itself."""
        with open(os.path.join(self.dir, "log"), "w") as log:
            words = [*self.conf["Entrypoint"], *self.conf["Cmd"]]
            self.service = subprocess.Popen(self.words("run", "--isolation", "chroot", self.container, "--", *words), stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log)

    def said(self):
        path = os.path.join(self.dir, "log")
        return open(path).read() if os.path.exists(path) else ""

    def close(self):
        if self.service:
            self.service.kill()
        shutil.rmtree(self.dir, ignore_errors=True)


class Shared:
    def __init__(self):
        global image
        image = image or Image()
        self.image = image

    def said(self):
        return self.image.said()

    def close(self):
        pass


def it_runs_as_nobody_s_root(test):
    equal(test.image.conf["User"], "strata")
    equal(test.image.run("id", "-un").strip(), "strata")
    equal(test.image.run("sh", "-c", "touch /etc/x 2>/dev/null; echo $?").strip(), "1")


def it_says_whether_it_is_well(test):
    one = test.image
    check = one.conf["Healthcheck"]["Test"]
    equal(check[0], "CMD")
    said = subprocess.run(one.words("run", "--isolation", "chroot", one.container, "--", *check[1:]), capture_output=True, text=True, timeout=60)
    assert said.returncode == 5, said  # nothing serves yet
    one.serve()
    deadline = time.monotonic() + 60
    while subprocess.run(one.words("run", "--isolation", "chroot", one.container, "--", *check[1:]), capture_output=True, timeout=60).returncode:
        assert time.monotonic() < deadline and one.service.poll() is None, one.said()
        time.sleep(0.5)
    assert "https://0.0.0.0:8470" in one.said(), one.said()


def a_job_runs_in_it(test):
    said = test.image.run("strata", "run", "--", "id", "-un")
    assert said.strip().endswith("strata"), said
    said = test.image.run("strata", "generate", "a seven", "--steps", "4", "-o", "/tmp/seven.png")
    equal(test.image.run("sh", "-c", "head -c 4 /tmp/seven.png | tail -c 3"), "PNG")


def it_has_no_leftovers(test):
    equal(test.image.run("sh", "-c", "find /var/cache/strata /var/lib/apt/lists /var/cache/apt/archives -type f -name '*.*' 2>/dev/null || true").strip(), "")


def main():
    if not tree.why_not("buildah", "unshare"):
        tree.alone()
    try:
        run_with(lambda test: Shared(), it_runs_as_nobody_s_root, it_says_whether_it_is_well, a_job_runs_in_it, it_has_no_leftovers)
    finally:
        if image:
            image.close()


main()
