"""A Slurm cluster of one's own: munged, slurmctld and a few emulated nodes, in a temporary directory on loopback."""

import atexit
import ctypes
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from service import PATIENCE_S, kill_all

HOST = socket.gethostname().split(".")[0]
PROGRAMS = ["munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol"]
CONF = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ctld}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={dir}/munge.socket
CredType=cred/munge
StateSaveLocation={dir}/state
SlurmdSpoolDir={dir}/spool/%n
SlurmctldPidFile={dir}/slurmctld.pid
SlurmdPidFile={dir}/%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1,sched_min_interval=0,defer
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MailProg=/bin/true
ReturnToService=2
SlurmdTimeout=30
KillWait=2
MinJobAge={age}
MaxJobCount=20000
SlurmdParameters=config_overrides
GresTypes=gpu
NodeName=n[001-{last:03}] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first}-{end}] CPUs=16 RealMemory=64000 Gres=gpu:a100:4 Feature=fast State=UNKNOWN
PartitionName=gpu Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
ACCOUNTS = ["mariadbd", "slurmdbd", "sacct", "sacctmgr"]
ACCOUNTS_CONF = """
AccountingStorageHost=127.0.0.1
AccountingStoragePort={port}
AccountingStoragePass={dir}/munge.socket
"""
DBD_CONF = """
AuthType=auth/munge
AuthInfo=socket={dir}/munge.socket
DbdHost={host}
DbdAddr=127.0.0.1
DbdPort={port}
SlurmUser=root
PidFile={dir}/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={database}
StorageUser=root
StorageLoc=accounts
"""


def possible(accounts=False):
    """Why not, or nothing."""
    missing = [name for name in PROGRAMS + ACCOUNTS * accounts if not shutil.which(name)]
    if missing:
        return f"there is no {missing[0]} here"
    return "" if os.geteuid() == 0 else "Slurm's daemons want root"


def answers(port):
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def free_ports(count):
    """A row of ports that nobody has."""
    for first in range(23000 + os.getpid() % 5000, 60000, count):
        taken = []
        try:
            for port in range(first, first + count):
                taken.append(socket.socket())
                taken[-1].bind(("127.0.0.1", port))
            return first
        except OSError:
            continue
        finally:
            for each in taken:
                each.close()
    raise AssertionError("no free ports")


def die_with_test():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    os.setpgid(0, 0)


class Slurm:
    def __init__(self, nodes=4, age=300, accounts=False):
        self.dir = tempfile.mkdtemp(prefix="strata-slurm-")
        os.chmod(self.dir, 0o755)
        self.processes, self.count = {}, nodes
        for name in ["state", "spool"] + [f"spool/n{i:03}" for i in range(1, nodes + 1)]:
            os.mkdir(os.path.join(self.dir, name))
        first = free_ports(nodes + 3)
        text = CONF.format(host=HOST, ctld=first, dir=self.dir, age=age, last=nodes, first=first + 1, end=first + nodes)
        if accounts:
            text = text.replace("accounting_storage/none", "accounting_storage/slurmdbd")
            text += ACCOUNTS_CONF.format(dir=self.dir, port=first + nodes + 1)
        self.conf = self.write("slurm.conf", text)
        for i in range(4):
            self.write(f"nvidia{i}", "")
        self.write("gres.conf", f"NodeName=n[001-{nodes:03}] Name=gpu Type=a100 File={self.dir}/nvidia[0-3]\n")
        with open(os.open(os.path.join(self.dir, "key"), os.O_WRONLY | os.O_CREAT, 0o600), "wb") as key:
            key.write(os.urandom(128))
        atexit.register(self.close)
        self.spawn("munged", "-F", "--force", f"--socket={self.dir}/munge.socket", f"--key-file={self.dir}/key",
                   f"--pid-file={self.dir}/munge.pid", f"--log-file={self.dir}/munge.log",
                   f"--seed-file={self.dir}/seed")
        self.wait(lambda: os.path.exists(os.path.join(self.dir, "munge.socket")), "munged")
        if accounts:
            self.keep_accounts(first + nodes + 1, first + nodes + 2)
        self.start()
        for i in range(1, nodes + 1):
            self.spawn("slurmd", "-D", "-N", f"n{i:03}", key=f"n{i:03}")
        self.wait(lambda: self.run("sinfo", "-h", "-t", "idle", "-o", "%D", check=False).strip() == str(nodes), "its nodes")

    def keep_accounts(self, port, database):
        """slurmdbd, and a database for it that only this machine can reach."""
        data = os.path.join(self.dir, "mariadb")
        os.mkdir(data)
        self.spawn("mariadbd", "--no-defaults", "--user=root", f"--datadir={data}", "--bind-address=127.0.0.1",
                   f"--port={database}", "--skip-grant-tables", f"--socket={self.dir}/mariadb.socket", "--innodb-buffer-pool-size=64M")
        self.wait(lambda: answers(database), "database")
        os.chmod(self.write("slurmdbd.conf", DBD_CONF.format(dir=self.dir, host=HOST, port=port, database=database)), 0o600)
        self.spawn("slurmdbd", "-D")
        self.wait(lambda: answers(port), "slurmdbd")
        self.run("sacctmgr", "-i", "add", "cluster", "test")

    def write(self, name, text):
        path = os.path.join(self.dir, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def env(self):
        return {**os.environ, "SLURM_CONF": self.conf}

    def spawn(self, program, *words, key=None):
        log = open(os.path.join(self.dir, "log"), "a")
        self.processes[key or program] = subprocess.Popen(
            [shutil.which(program), *words], cwd=self.dir, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            env=self.env(), preexec_fn=die_with_test)

    def wait(self, done, what):
        deadline = time.time() + PATIENCE_S
        while not done():
            if time.time() > deadline:
                with open(os.path.join(self.dir, "log")) as log:
                    raise AssertionError(f"Slurm: no {what}: {log.read()[-3000:]}")
            time.sleep(0.05)

    def start(self):
        """slurmctld, which may have been stopped."""
        self.spawn("slurmctld", "-D")
        self.wait(lambda: "UP" in self.run("scontrol", "ping", check=False), "slurmctld")

    def stop(self):
        self.processes["slurmctld"].terminate()  # it writes its state down
        self.processes["slurmctld"].wait()

    def run(self, *words, check=True):
        done = subprocess.run(words, env=self.env(), capture_output=True, text=True, cwd=self.dir)
        assert not check or done.returncode == 0, f"{words} said {done.stderr}"
        return done.stdout

    def jobs(self):
        """Everything squeue knows: number -> (state, comment, nodes)."""
        lines = self.run("squeue", "-h", "-a", "-t", "all", "-O", "JobID:|,State:|,Comment:|,NodeList:|").splitlines()
        return {int(line.split("|")[0]): tuple(line.split("|")[1:4]) for line in lines}

    def close(self):
        for process in reversed(list(self.processes.values())):
            if process.poll() is None:
                process.kill()
                process.wait()
        kill_all(self.dir)
        shutil.rmtree(self.dir, ignore_errors=True)
