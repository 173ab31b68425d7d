#!/usr/bin/env python3
"""The Debian packages in a bare Debian tree: installed, upgraded while a job runs, asked for the state of version 0.1.0, removed, purged. No systemd
runs there: what the packages ask of it is written down by a stand-in, and the service is started by hand."""
import json
import os
import shutil
import stat
import subprocess
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "api"))
import tree  # noqa: E402
from service import Skip, equal, run_with  # noqa: E402

MAIN = ("libstrata0", "libstrata-engine0", "strata")
NEXT = "99.0.0"
NODES = "\n[node n]\ncount = 3\ncpus = 8\nmemory = 32G\ngpus = 4\ngpu_type = a100\n"
SYSTEMCTL = """#!/bin/sh
echo "$*" >>/root/systemctl.log
case $* in *is-enabled*|*is-active*) echo enabled ;; esac
"""
shared = None


class Installed:
    """One tree for all tests, which go through the life of a package in their order."""

    def __init__(self):
        global shared
        why = tree.why_not("dpkg-deb", "unshare")
        if why:
            raise Skip(why)
        shared = shared or tree.Tree()
        self.tree = shared

    def said(self):
        return self.tree.said()

    def close(self):
        pass


def mode_of(path):
    about = os.stat(path)
    return f"{stat.S_IMODE(about.st_mode):o} {about.st_uid}"


def user_in(one, name):
    return next((line for line in one.read("/etc/passwd").splitlines() if line.startswith(name + ":")), None)


def they_install(test):
    one = test.tree
    one.install(tree.debs(*MAIN))
    assert one.strata("version", json_out=False).startswith("strata ")
    equal(mode_of(one.at("/var/lib/strata")), "711 0")
    worker = user_in(one, "strata").split(":")
    assert worker[5] == "/var/lib/strata" and worker[6].endswith("nologin") and int(worker[2]) < 1000, worker
    for path in ("/etc/strata/strata.ini", "/lib/systemd/system/strata.service", "/usr/libexec/strata/strata-supervisor",
                 "/usr/libexec/strata/slurm/sbatch", "/usr/share/strata/rules/service.yml", "/usr/share/bash-completion/completions/strata",
                 "/etc/systemd/system/multi-user.target.wants/strata.service"):
        assert os.path.lexists(one.at(path)), path
    one.run("strata", "config", "--check", "/etc/strata/strata.ini")
    # libraries of others are those that apt brought, and none is missing
    for program in ("/usr/bin/strata", "/usr/libexec/strata/strata-full", "/usr/libexec/strata/strata-webhooks"):
        assert "not found" not in one.run("ldd", program), program


def systemd_understands_unit_users_and_directories(test):
    one = test.tree
    for program in ("systemd-analyze", "systemd-sysusers", "systemd-tmpfiles"):
        if not shutil.which(program):
            raise Skip(f"there is no {program} here")
    # those of the package alone: what Debian's own units want of a tree without systemd is not ours to mend
    with open(one.at("/root/unit.log"), "w") as log:
        subprocess.run(["systemd-analyze", "verify", "--man=no", f"--root={one.dir}", "strata.service"], stdout=log, stderr=log, check=False)
    equal([line for line in one.read("/root/unit.log").splitlines() if "strata" in line], [])
    one.write("/root/passwd", one.read("/etc/passwd"))
    lines = one.read("/etc/passwd").splitlines(True)
    one.write("/etc/passwd", "".join(line for line in lines if not line.startswith("strata:")))
    for path in ("/etc/group", "/etc/shadow", "/etc/gshadow"):
        if os.path.exists(one.at(path)):
            text = one.read(path).splitlines(True)
            one.write(path, "".join(line for line in text if not line.startswith("strata:")), 0o640)
    subprocess.run(["systemd-sysusers", f"--root={one.dir}"], check=True, capture_output=True)
    assert user_in(one, "strata"), one.read("/etc/passwd")
    shutil.rmtree(one.at("/run/strata"), ignore_errors=True)
    subprocess.run(["systemd-tmpfiles", f"--root={one.dir}", "--create", "strata.conf"], check=True, capture_output=True)
    equal((mode_of(one.at("/run/strata")), mode_of(one.at("/var/lib/strata"))), ("755 0", "711 0"))


def names_of_slurm_come_with_their_package(test):
    one = test.tree
    equal(one.run("sh", "-c", "command -v sbatch || echo none").strip(), "none")
    one.install(tree.debs("strata-slurm"))
    assert "slurm-wlm 22.05" in one.run("squeue", "--version"), one.run("squeue", "--version")
    for path in ("/usr/share/bash-completion/completions/sbatch", "/usr/share/fish/vendor_completions.d/sbatch.fish"):
        assert os.path.islink(one.at(path)), path
    said = one.run("apt-get", "install", "-s", "slurm-client", status=None)
    assert "Remv strata-slurm" in said or "Conflicts" in said, said


def a_running_job_survives_an_upgrade(test):
    one = test.tree
    one.write("/etc/strata/strata.ini", one.read("/etc/strata/strata.ini") + NODES)
    one.serve()
    job = one.strata("submit", "--working-dir", "/root", "--time", "10m", "--", "sh", "-c", "echo $$ >/root/pid; while [ ! -e /root/go ]; do sleep 0.1; done; exit 7")["id"]
    one.wait(lambda: os.path.exists(one.at("/root/pid")) and one.read("/root/pid").strip(), "job")
    before = one.job(job)
    later = one.at("/root/later")
    os.mkdir(later)
    tree.repack(tree.debs(*MAIN, "strata-slurm"), NEXT, later)
    one.write("/usr/bin/systemctl", SYSTEMCTL, 0o755)
    os.makedirs(one.at("/run/systemd/system"), exist_ok=True)
    one.write("/root/systemctl.log", "")
    one.install(tree.debs(directory=later))
    asked = one.read("/root/systemctl.log")
    assert "restart strata.service" in asked and "stop strata.service" not in asked, asked
    assert NEXT in one.run("dpkg-query", "-W", "-f", "${Version}", "strata")
    one.stop()  # what systemd's restart does
    one.serve()
    now = one.job(job)
    equal((now["state"], now["attempt"], now["started_at"]), ("running", before["attempt"], before["started_at"]))
    programs = [os.readlink(f"/proc/{pid}/exe") for pid in filter(str.isdigit, os.listdir("/proc")) if readable(pid)]
    assert any("strata-supervisor (deleted)" in path for path in programs), programs  # the job's, of the version before
    one.write("/root/go", "")
    one.wait(lambda: one.job(job)["state"] != "running", "end of the job")
    equal((one.job(job)["state"], one.job(job)["exit_code"]), ("failed", 7))


def readable(pid):
    try:
        return bool(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return False


def settings_of_the_administrator_stay(test):
    assert NODES in test.tree.read("/etc/strata/strata.ini")
    equal(len(test.tree.strata("nodes")["nodes"]), 3)


def the_state_of_0_1_0_is_taken_over(test):
    one, place = test.tree, "/var/tmp/strata-0.1.0"  # paths in its store are absolute
    data = os.path.join(tree.SOURCE, "tests", "data", "state-0.1.0")
    one.stop()
    with tarfile.open(os.path.join(data, "sqlite.tar.gz")) as tar:
        tar.extractall(one.at("/var/tmp"))
    os.rename(one.at("/var/tmp/state"), one.at(place))
    with open(os.path.join(data, "facts.json")) as file:
        facts = json.load(file)["sqlite"]
    one.serve("--state", place, "--socket", "/run/strata/strata.sock", "--preempt", "least_lost:grace=5:protect=0")
    # the ids of elements and ranges are one number each; every job that was acknowledged is there
    for name in ("completed", "failed", "signalled", "time_limit", "cancelled", "script", "array_ended"):
        was, now = facts["jobs"][str(facts["ids"][name])], one.job(facts["ids"][name])
        for field in ("state", "name", "user", "exit_code", "ended_at", "attempt"):
            equal((name, field, now.get(field)), (name, field, was.get(field)))
    for name, reason in (("held", "held"), ("later", "begin_time"), ("dependent", "dependency")):
        now = one.job(facts["ids"][name])
        equal((name, now["state"], now["reason"]), (name, "queued", reason))
    one.wait(lambda: one.job(facts["ids"]["running"])["state"] == "running", "job that ran")
    one.stop()


def a_removal_leaves_jobs_settings_and_state(test):
    one = test.tree
    for name in ("go", "pid"):
        os.remove(one.at("/root/" + name))
    one.serve()
    job = one.strata("submit", "--working-dir", "/root", "--time", "10m", "--", "sh", "-c", "echo $$ >/root/pid; while [ ! -e /root/go ]; do sleep 0.1; done; touch /root/done")["id"]
    one.wait(lambda: os.path.exists(one.at("/root/pid")) and one.read("/root/pid").strip(), "job")
    one.write("/root/systemctl.log", "")
    one.stop()  # what the package asks systemd for
    one.run("apt-get", "remove", "-y", "-q", "strata")
    assert "stop strata.service" in one.read("/root/systemctl.log"), one.read("/root/systemctl.log")
    for path in ("/usr/bin/strata", "/usr/bin/sbatch", "/usr/libexec/strata", "/lib/systemd/system/strata.service"):
        assert not os.path.lexists(one.at(path)), path
    assert NODES in one.read("/etc/strata/strata.ini") and os.path.exists(one.at("/var/lib/strata/strata.db"))
    assert os.path.exists(f"/proc/{int(one.read('/root/pid'))}"), "the job is gone"
    one.write("/root/go", "")
    one.wait(lambda: os.path.exists(one.at("/root/done")), "end of the job")
    # back again, the service says how it ended
    one.install(tree.debs(*MAIN, directory=one.at("/root/later")))
    one.serve()
    one.wait(lambda: one.job(job)["state"] == "completed", "end that is told")
    one.stop()


def a_purge_leaves_what_users_saved(test):
    one = test.tree
    said = one.run("apt-get", "purge", "-y", "-q", "strata")
    assert "/var/lib/strata is kept" in said, said
    assert not os.path.exists(one.at("/etc/strata")) and os.path.exists(one.at("/var/lib/strata/strata.db"))
    shutil.rmtree(one.at("/var/lib/strata"))


def nothing_else_is_left_behind(test):
    one = test.tree
    one.run("apt-get", "purge", "-y", "-q", "libstrata0", "libstrata-engine0")
    left = one.run("sh", "-c", "find / -xdev -path /proc -prune -o -path /dev -prune -o -path /root -prune -o -path '/var/cache/*' -prune -o -name '*strata*' -print")
    # its debconf-free postinst leaves systemd's note of the unit's state, which dpkg's helpers keep for a next installation
    equal([path for path in left.splitlines() if not path.startswith(("/var/tmp/strata-0.1.0", "/var/lib/systemd/", "/tmp/"))], [])


def main():
    if not tree.why_not("dpkg-deb", "unshare"):
        tree.alone()
    try:
        run_with(lambda test: Installed(), they_install, systemd_understands_unit_users_and_directories, names_of_slurm_come_with_their_package,
                 a_running_job_survives_an_upgrade, settings_of_the_administrator_stay, the_state_of_0_1_0_is_taken_over,
                 a_removal_leaves_jobs_settings_and_state, a_purge_leaves_what_users_saved, nothing_else_is_left_behind)
    finally:
        if shared:
            if shared.daemon and shared.daemon.poll() is None:
                shared.daemon.kill()
            shared.close()


main()
