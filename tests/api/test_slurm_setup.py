#!/usr/bin/env python3
"""`strata slurm setup` on three hosts: network namespaces with a root of their own each (an overlay of this machine's), joined by a bridge. Their scripts
start real munge, slurmctld and slurmd; the service on the first host runs jobs on all of them."""
import os
import shutil
import subprocess
import sys
import tempfile
import time

from service import PATIENCE_S, STRATA, Skip, equal, run_with

HOSTS = ["alpha", "beta", "gamma"]
PROGRAMS = ["ip", "unshare", "nsenter", "munged", "slurmctld", "slurmd", "sbatch"]
NODES = "alpha,beta:cpus=1:memory=512M:gpus=2:gpu_type=a100 gamma:cpus=1:memory=256M"
BIN = os.path.dirname(os.path.abspath(STRATA))
START = """
set -e
hostname {name}
mount -t tmpfs tmpfs {dir}/{name}
mkdir {dir}/{name}/upper {dir}/{name}/work {dir}/{name}/root
mount -t overlay overlay -o lowerdir=/,upperdir={dir}/{name}/upper,workdir={dir}/{name}/work {dir}/{name}/root
cd {dir}/{name}/root
mount -t proc proc proc
mount --rbind /sys sys
mount -t tmpfs tmpfs run
mount -t tmpfs tmpfs dev
mkdir -p dev/shm dev/pts run/lock srv/shared
for one in null zero full random urandom; do touch dev/$one; mount --bind /dev/$one dev/$one; done
for one in nvidia0 nvidia1; do touch dev/$one; mount --bind /dev/null dev/$one; done
mount --bind {dir}/shared srv/shared
mkdir -p .{bin}
mount --bind {bin} .{bin}
cp {dir}/hosts etc/hosts
rm -f etc/resolv.conf
rm -rf etc/slurm etc/munge/munge.key etc/strata var/lib/slurm var/log/slurm
touch {dir}/{name}.ready
exec sleep 100000
"""
lab = None


def sh(*words):
    subprocess.run(words, check=True, capture_output=True)


class Lab:
    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="strata-hosts-")
        os.chmod(self.dir, 0o755)
        self.hosts, self.log = {}, os.path.join(self.dir, "log")
        self.hub = f"strata-{os.getpid()}"
        os.mkdir(os.path.join(self.dir, "shared"))
        with open(os.path.join(self.dir, "hosts"), "w") as file:
            file.write("127.0.0.1 localhost\n" + "".join(f"10.77.0.{i} {name}\n" for i, name in enumerate(HOSTS, 1)))
        sh("ip", "netns", "add", self.hub)
        sh("ip", "-n", self.hub, "link", "add", "bridge", "type", "bridge")
        sh("ip", "-n", self.hub, "link", "set", "bridge", "up")
        for i, name in enumerate(HOSTS, 1):
            self.begin(i, name)

    def begin(self, i, name):
        space = f"{self.hub}-{name}"
        sh("ip", "netns", "add", space)
        sh("ip", "-n", self.hub, "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", space)
        sh("ip", "-n", self.hub, "link", "set", name, "master", "bridge", "up")
        for words in (("addr", "add", f"10.77.0.{i}/24", "dev", "eth0"), ("link", "set", "eth0", "up"), ("link", "set", "lo", "up")):
            sh("ip", "-n", space, *words)
        os.mkdir(os.path.join(self.dir, name))
        with open(self.log, "a") as log:
            self.hosts[name] = subprocess.Popen(
                ["nsenter", f"--net=/run/netns/{space}", "unshare", "--mount", "--uts", "--pid", "--fork", "--kill-child", "sh", "-c",
                 START.format(name=name, dir=self.dir, bin=BIN)], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.time() + PATIENCE_S
        while not os.path.exists(os.path.join(self.dir, name + ".ready")):
            if self.hosts[name].poll() is not None:
                raise Skip(f"no overlay of this machine's root can be made: {self.said().splitlines()[-1:]}")
            assert time.time() < deadline, self.said()
            time.sleep(0.02)

    def first(self, name):
        """The first process of a host: below ip and unshare."""
        pid = self.hosts[name].pid
        while True:
            with open(f"/proc/{pid}/task/{pid}/children") as file:
                below = file.read().split()
            with open(f"/proc/{pid}/comm") as file:
                if file.read().strip() == "sleep":
                    return pid
            pid = int(below[0])

    def words(self, name, *words):
        return ["nsenter", "-t", str(self.first(name)), "--mount", "--uts", "--net", "--pid", "chroot", os.path.join(self.dir, name, "root"),
                "/usr/bin/env", "-i", f"PATH={BIN}:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "STRATA_SOCKET=/srv/shared/state/strata.sock", *words]

    def on(self, name, *words, status=0):
        done = subprocess.run(self.words(name, *words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=4 * PATIENCE_S)
        assert done.returncode == status, f"{name}: {words}: exit status {done.returncode}\n{done.stdout}\n{self.logs(name)}"
        return done.stdout

    def logs(self, name):
        return subprocess.run(self.words(name, "sh", "-c", "tail -n 12 /var/log/munge/* /var/log/slurm/*"), capture_output=True, text=True).stdout

    def serve(self):
        with open(self.log, "a") as log:
            subprocess.Popen(self.words("alpha", "strata", "serve", "--state", "/srv/shared/state"), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.time() + PATIENCE_S
        while subprocess.run(self.words("alpha", "strata", "queue"), capture_output=True).returncode:
            assert time.time() < deadline, self.said()
            time.sleep(0.1)

    def said(self):
        with open(self.log) as log:
            return log.read()

    def close(self):
        for name, process in self.hosts.items():
            process.kill()
            process.wait()
            subprocess.run(["ip", "netns", "del", f"{self.hub}-{name}"], check=False)
        subprocess.run(["ip", "netns", "del", self.hub], check=False)
        shutil.rmtree(self.dir, ignore_errors=True)


class Shared:
    def __init__(self):
        global lab
        missing = [name for name in PROGRAMS if not shutil.which(name)]
        if os.geteuid() != 0 or missing:
            raise Skip("hosts are root's to make" if not missing else f"there is no {missing[0]} here")
        lab = lab or Lab()
        self.lab = lab

    def said(self):
        return self.lab.said()

    def close(self):
        pass


def script(one, name, *words, status=0):
    return one.on(name, "sh", f"/srv/shared/cluster/install-{name}.sh", *words, status=status)


def what_is_wrong_is_said_first(test):
    one = test.lab
    one.on("alpha", "strata", "slurm", "setup", "--nodes", NODES + ":gpus=1", "--no-cgroup", "-o", "/srv/shared/cluster")
    assert "would write munge.key slurm.conf gres.conf cgroup.conf" in script(one, "gamma", "--check", status=1)
    one.on("gamma", "sh", "-c", "umount /dev/nvidia0; rm /dev/nvidia0")
    assert "there is no /dev/nvidia0, and slurm.conf says that there are 1 GPUs" in script(one, "gamma", status=1)
    assert "this host is called gamma; run install-gamma.sh here" in one.on("gamma", "sh", "/srv/shared/cluster/install-beta.sh", status=1)
    one.on("alpha", "strata", "slurm", "setup", "--nodes", "alpha:cpus=4096:memory=1G", "--no-cgroup", "-o", "/srv/shared/wrong")
    assert "and slurm.conf says 4096" in one.on("alpha", "sh", "/srv/shared/wrong/install-alpha.sh", status=1)
    one.on("alpha", "strata", "slurm", "setup", "--nodes", "alpha,nobody-knows-me:cpus=1:memory=1G", "--no-cgroup", "-o", "/srv/shared/lost")
    assert "nobody knows the address of nobody-knows-me" in one.on("alpha", "sh", "/srv/shared/lost/install-alpha.sh", status=1)
    one.on("gamma", "sh", "-c", "mkdir -p /etc/slurm; echo ClusterName=theirs >/etc/slurm/slurm.conf")
    assert "belongs to the Slurm cluster 'theirs'" in script(one, "gamma", status=1)
    one.on("gamma", "rm", "-r", "/etc/slurm")


def three_hosts_become_a_cluster(test):
    one = test.lab
    one.on("alpha", "strata", "slurm", "setup", "--nodes", NODES, "--no-cgroup", "-o", "/srv/shared/cluster")
    one.on("alpha", "sh", "-c", "mkdir -p /etc/strata; printf '; ours\\n[serve]\\ntime_limit = 2h\\n\\n[node x]\\ncpus = 2\\n' >/etc/strata/strata.ini")
    for name in HOSTS:
        said = script(one, name)
        assert said.rstrip().endswith(f"{name}: is ready"), said
    assert "slurmd is started" in said and "slurmctld" not in said, said
    nodes = one.on("beta", "sinfo", "-h", "-N", "-o", "%N %c %m %G %T").split("\n")
    equal(sorted(line.strip() for line in nodes if line), ["alpha 1 512 gpu:a100:2 idle", "beta 1 512 gpu:a100:2 idle", "gamma 1 256 (null) idle"])
    ini = one.on("alpha", "cat", "/etc/strata/strata.ini")
    equal(ini, "; ours\n[serve]\ntime_limit = 2h\n\nexecutor = slurm\n[node x]\ncpus = 2\n")
    equal(one.on("beta", "sh", "-c", "ls /etc/strata 2>/dev/null || true"), "")


def scripts_may_be_run_again(test):
    one = test.lab
    for name in HOSTS:
        equal(script(one, name), f"{name}: is ready\n")
        equal(script(one, name, "--check"), f"{name}: is as it should be\n")
    one.on("beta", "service", "slurmd", "stop")
    equal(script(one, "beta"), "beta: slurmd is started\nbeta: is ready\n")


def jobs_of_the_service_run_on_all_of_them(test):
    one = test.lab
    one.serve()
    where = "cd /srv/shared && strata submit --wait --quiet --time 5m --working-dir /srv/shared"
    one.on("alpha", "sh", "-c", f"{where} -o three.out --nodes 3 -- srun hostname")
    with open(os.path.join(one.dir, "shared", "three.out")) as file:
        equal(sorted(file.read().split()), HOSTS)
    one.on("alpha", "sh", "-c", where + " -o gpus.out --gpus 2 --node-list beta -- sh -c 'hostname; echo $CUDA_VISIBLE_DEVICES'")
    with open(os.path.join(one.dir, "shared", "gpus.out")) as file:
        equal(file.read(), "beta\n0,1\n")


def main():
    try:
        run_with(lambda test: Shared(), what_is_wrong_is_said_first, three_hosts_become_a_cluster, scripts_may_be_run_again,
                 jobs_of_the_service_run_on_all_of_them)
    finally:
        if lab:
            lab.close()


if __name__ == "__main__":
    sys.exit(main())
