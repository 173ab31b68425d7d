"""A bare Debian tree to install the packages of `make deb` in: a copy that is thrown away, with a service started by hand, as no systemd runs in it."""

import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time


SOURCE = os.path.abspath(os.environ.get("STRATA_SOURCE", "."))
BUILD = os.path.join(SOURCE, "build")  # where make deb makes them
BARE = os.path.join(BUILD, "bare-debian")
PATIENCE_S = 120
ENV = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}


def why_not(*programs):
    """Why the tests cannot run here, or nothing."""
    if os.geteuid() != 0:
        return "a tree is root's to make"
    if not debs():
        return "there are no packages in build/deb (make deb)"
    if not os.path.exists(os.path.join(BARE, ".done")):
        return "there is no bare Debian tree (tools/bare-debian build/bare-debian)"
    return next((f"there is no {name} here" for name in programs if not shutil.which(name)), "")


def alone():
    """Begins again with mounts and processes of its own: when the test ends, however it does, so do they."""
    if os.environ.get("STRATA_ALONE") != "1":
        os.environ["STRATA_ALONE"] = "1"
        os.execvp("unshare", ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, *sys.argv])


def debs(*names, directory=None):
    """The packages of these names; without any, all."""
    found = {os.path.basename(path).split("_")[0]: path for path in glob.glob(os.path.join(directory or os.path.join(BUILD, "deb"), "*.deb"))}
    return [found[name] for name in names or sorted(found)] if found else []


def repack(paths, version, into):
    """The same packages as a later version."""
    for path in paths:
        with tempfile.TemporaryDirectory() as work:
            subprocess.run(["dpkg-deb", "-R", path, work + "/all"], check=True)
            control = os.path.join(work, "all", "DEBIAN", "control")
            with open(control) as file:
                text = file.read()
            before = next(line.split()[1] for line in text.splitlines() if line.startswith("Version:"))
            with open(control, "w") as file:
                file.write(text.replace(f"Version: {before}", f"Version: {version}").replace(f"(= {before})", f"(= {version})"))
            subprocess.run(["dpkg-deb", "-Znone", "-b", work + "/all", into], check=True, stdout=subprocess.DEVNULL)


class Tree:
    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="strata-tree-", dir="/var/tmp")
        subprocess.run(["cp", "-a", "--reflink=auto", BARE + "/.", self.dir], check=True)
        os.chmod(self.dir, 0o755)
        subprocess.run(["mount", "-t", "proc", "proc", self.dir + "/proc"], check=True)
        subprocess.run(["mount", "--rbind", "/dev", self.dir + "/dev"], check=True)
        self.daemon, self.log = None, os.path.join(self.dir, "root", "serve.log")

    def at(self, path):
        return os.path.join(self.dir, path.lstrip("/"))

    def read(self, path):
        with open(self.at(path)) as file:
            return file.read()

    def write(self, path, text, mode=0o644):
        os.makedirs(os.path.dirname(self.at(path)), exist_ok=True)
        with open(self.at(path), "w") as file:
            file.write(text)
        os.chmod(self.at(path), mode)

    def run(self, *words, status=0, env=None):
        """What a command in the tree prints, talk included."""
        done = subprocess.run(["chroot", self.dir, *words], env={**ENV, **(env or {})}, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=900)
        assert status is None or done.returncode == status, f"{words}: exit status {done.returncode}\n{done.stdout[-3000:]}"
        return done.stdout

    def install(self, paths, *words):
        """With what they depend on."""
        os.makedirs(self.at("/root/packages"), exist_ok=True)
        inside = []
        for path in paths:
            shutil.copy(path, self.at("/root/packages"))
            inside.append("/root/packages/" + os.path.basename(path))
        return self.run("apt-get", "install", "-y", "-q", "--no-install-recommends", *words, *inside)

    def serve(self, *words):
        with open(self.log, "a") as log:
            self.daemon = subprocess.Popen(["chroot", self.dir, "strata", "serve", *words], env=ENV, cwd="/", stdin=subprocess.DEVNULL, stdout=log,
                                           stderr=log, start_new_session=True)
        self.wait(lambda: self.strata("queue", status=None, json_out=False) is not None, "service")

    def stop(self):
        """As systemd stops it: the daemon, and nothing else."""
        self.daemon.terminate()
        self.daemon.wait(PATIENCE_S)
        self.daemon = None

    def strata(self, *words, status=0, json_out=True):
        done = subprocess.run(["chroot", self.dir, "strata", *(["--json"] if json_out else []), *words], env=ENV, cwd="/", stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=PATIENCE_S)
        if status is None and done.returncode:
            return None
        assert done.returncode == (status or 0), f"strata {words}: {done.returncode} {done.stderr}"
        return json.loads(done.stdout) if json_out else done.stdout

    def job(self, number):
        found = self.strata("show", str(number))
        return found[0] if isinstance(found, list) else found

    def wait(self, done, what):
        deadline = time.monotonic() + PATIENCE_S
        while not done():
            if time.monotonic() > deadline or (self.daemon and self.daemon.poll() is not None):
                raise AssertionError(f"no {what}: {self.said()[-2000:]}")
            time.sleep(0.1)

    def said(self):
        return open(self.log).read() if os.path.exists(self.log) else ""

    def close(self):
        subprocess.run(["umount", "-R", "-l", self.dir + "/dev"], check=False)
        subprocess.run(["umount", "-l", self.dir + "/proc"], check=False)
        shutil.rmtree(self.dir, ignore_errors=True)
