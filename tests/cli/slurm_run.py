#!/usr/bin/env python3
"""Slurm's commands that do something, against what Slurm 22.05 printed for the same words in the same situations (tests/data/slurm_run.txt), line
by line, on a service of 8 emulated nodes. Times, numbers of new jobs and the host's name are made equal first, and lines that begin with "strata: "
are ours. A line that differs has to be listed here, with the reason that docs/slurm.md gives; the share of commands that are equal is printed. Then a
training script as people have them, unchanged."""
import os
import re
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "api"))
import service  # noqa: E402
from service import equal  # noqa: E402
from slurm_cases import read_cases  # noqa: E402

COMMANDS = ("sacct", "sbatch", "scancel", "scontrol", "sinfo", "squeue", "srun")

# (command, line, why it is not the same): docs/slurm.md has these words and says more.
LISTED = [
    (r"^sbatch --output", r"^N\S* (PENDING|FAILED) ", "starts at once"),
    (r"^scontrol hold", r" 36 ", "reasons"),
    (r"^scancel 40_4", r"^40_4 CA", "ended elements"),
    (r"^cat (train|arr)", r"^(SLURM_CONF|SLURM_WORKING_CLUSTER|SLURM_TASK_PID|SLURM_(SRUN_COMM|STEP_LAUNCHER)_PORT)=",
     "variables of Slurm's own"),
    (r"^cat (train|arr)", r"^(SLURM_JOB_(GPUS|START_TIME|END_TIME)|SLURM_STEP_GPUS|CUDA_\w+)=", "more variables"),
    (r"^cat arr", r"^SLURM_JOB_?ID=", "numbers of elements"),
    (r"^cat slurm-57", r"^(Terminated|got TERM|after)$", "order of last words"),
    (r"^cat slurm-57", r"^restart=1$", "requeue"),
]

OK = "#!/bin/bash\n#SBATCH --job-name=train\n#SBATCH --gres=gpu:2\n#SBATCH -c 4\n#SBATCH --account=lab\nhostname\n"
FILES = {
    "ok.sh": OK,
    "quirks.sh": "#!/bin/bash\n# SBATCH --time=1\n##SBATCH --time=2\n#SBATCH\n#SBATCH --job-name='a b' -c 2 # not this\n#SBATCH --time=9\n#SBATCH --time=5\nsleep 2\n",
    "late.sh": "#!/bin/bash\ntrue\n#SBATCH --time=3\n",
    "noshebang.sh": "hostname\n", "empty.sh": "", "dos.sh": "#!/bin/sh\r\nhostname\r\n", "badopt.sh": "#!/bin/sh\n#SBATCH --nosuch=1\ntrue\n",
}


class Cluster(service.Service):
    def __init__(self):
        self.conf = tempfile.NamedTemporaryFile("w", suffix=".ini")
        for i in range(1, 9):
            self.conf.write(f"[node n00{i}]\ncpus = 64\nmemory = 500G\ngpus = 8\ngpu_type = a100\nfeatures = a100\nnuma = 2\npartitions = gpu\n")
        self.conf.flush()
        super().__init__("--config", self.conf.name, "--grace", "2s", "--cluster-name", "base", nodes=None)
        self.api("PUT", "/partitions/gpu", {"default": True, "time_limit": "1h", "time_limit_max": "7d"})
        self.api("PUT", "/accounts/lab", {"weight": 100})
        self.api("PUT", "/qos/nope", {})  # Slurm without AccountingStorageEnforce takes any
        self.api("PUT", "/users/root", {"account": "lab"})
        self.bin, self.work = os.path.join(self.dir, "bin"), os.path.join(self.dir, "work")
        os.mkdir(self.bin)
        os.mkdir(self.work)
        for name in COMMANDS:
            os.symlink(os.path.abspath(service.STRATA), os.path.join(self.bin, name))
        for name, text in FILES.items():
            with open(os.path.join(self.work, name), "w", newline="") as file:
                file.write(text)

    def skip_to(self, number):
        """The next job gets this number."""
        self.api("POST", "/jobs", {"jobs": [{"command": ["true"], "hold": True}] * (number - 1)}, 201)

    def command(self, text):
        env = {**os.environ, "STRATA_SOCKET": self.socket, "PATH": f"{self.bin}:{os.environ['PATH']}", "CUDA_HOME": "/usr/local/cuda"}
        for name in [name for name in env if re.match("S(BATCH|QUEUE|INFO|ACCT|RUN)_|SLURM_", name)]:
            del env[name]
        done = subprocess.run(["bash", "-c", text], env=env, cwd=self.work, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        return done.stdout.split("\n")[:-1], done.stderr.split("\n")[:-1], done.returncode

    def sbatch(self, number, *words):
        out, err, code = self.command("sbatch --parsable " + " ".join(f"'{word}'" for word in words))
        equal((code, out[0]), (0, str(number)))
        return number

    def until(self, job, text):
        """Its output has this in it."""
        path = os.path.join(self.work, job)
        deadline = time.time() + service.PATIENCE_S
        while time.time() < deadline:
            if os.path.exists(path):
                with open(path) as file:
                    if text in file.read():
                        return
            time.sleep(0.05)
        raise AssertionError(f"never in {job}: {text}")


def changes(cluster):
    cluster.skip_to(34)
    cluster.sbatch(34, "-J", "fill", "-N8", "--exclusive", "--wrap", "echo on >filled; exec sleep 60")
    cluster.until("filled", "on")
    cluster.sbatch(35, "-J", "big", "-N8", "--exclusive", "--wrap", "true")
    cluster.sbatch(36, "-J", "small", "--wrap", "true")
    cluster.sbatch(37, "-J", "dep", "-d", "afterok:35", "--wrap", "true")
    cluster.sbatch(38, "-J", "held", "-H", "--wrap", "true")
    cluster.sbatch(39, "-J", "begin", "-b", "now+1hour", "--wrap", "true")
    cluster.sbatch(40, "-J", "arr", "-a", "1-19:3%2", "--wrap", "true")


def cancel_34(cluster):
    cluster.command("scancel 34")
    cluster.wait(34, "cancelled")


def environment(cluster):
    show = 'env | grep -E "^(SLURM|CUDA)" | sort'
    cluster.skip_to(52)
    cluster.sbatch(52, "-A", "lab", "-N2", "--ntasks-per-node=2", "-c4", "--gres=gpu:2", "--mem=16G", "-J", "train", "-o", "train_%j_%N.out", "--wrap", show)
    cluster.sbatch(53, "-A", "lab", "-a", "3-5", "-G1", "--mem=1G", "-J", "arr", "-o", "arr_%A_%a.out", "--wrap",
                   show + '; srun env | grep -E "^(CUDA_HOME|SLURM_(LAUNCH|LOCALID|NODEID|PROCID|SRUN|STEP|TASK))" | sort')
    cluster.sbatch(56, "-N2", "--ntasks-per-node=2", "-o", "st.out", "--wrap",
                   'srun -l sh -c "echo procid=\\$SLURM_PROCID localid=\\$SLURM_LOCALID nodeid=\\$SLURM_NODEID ntasks=\\$SLURM_NTASKS'
                   ' cuda=\\$CUDA_VISIBLE_DEVICES nodename=\\$SLURMD_NODENAME" | sort')
    for job in (52, 53, 56):
        cluster.wait(job, "completed")


def gpus(cluster):
    show = 'env | grep -E "^(CUDA_VIS|GPU_DEV|ROCR|SLURM_GPUS|SLURM_JOB_GPUS|ZE_)" | sort'
    cluster.skip_to(68)
    cluster.sbatch(68, "--gres=gpu:2", "--mem=1G", "--wrap", "sleep 60")
    cluster.sbatch(69, "--gres=gpu:2", "--mem=1G", "-o", "g1.out", "--wrap", show + "; sleep 60")
    cluster.sbatch(70, "--gpus-per-node=a100:2", "--mem=1G", "-o", "g2.out", "--wrap", show)
    cluster.wait(70, "completed")
    for job in (68, 69):
        cluster.command(f"scancel {job}")
        cluster.wait(job, "cancelled")
    with open(os.path.join(cluster.work, "g1.out"), "r+") as file:  # without its end
        text = "".join(line for line in file.readlines() if "=" in line)
        file.seek(0), file.truncate(), file.write(text)
    cluster.sbatch(71, "-N2", "--ntasks-per-node=2", "--gpus-per-task=1", "--mem=1G", "-o", "g3.out", "--wrap",
                   'env | grep -E "^(CUDA_VIS|GPU|SLURM_GPUS|SLURM_JOB_GPUS)" | sort; '
                   'srun -l sh -c "echo procid=\\$SLURM_PROCID localid=\\$SLURM_LOCALID node=\\$SLURMD_NODENAME cuda=\\$CUDA_VISIBLE_DEVICES" | sort')
    cluster.sbatch(72, "-t1", "--signal=B:USR1@2", "-o", "g4.out", "--wrap", 'trap "echo got USR1" USR1; while :; do sleep 0.1; done 2>/dev/null')
    cluster.sbatch(73, "-o", "g5.out", "--wrap", 'echo start restarts=$SLURM_RESTART_COUNT; exec sleep 60')
    cluster.wait(72, "running")
    cluster.api("PATCH", "/jobs/72", {"time_limit": 4})  # a minute is long
    cluster.until("g5.out", "start")
    cluster.command("scontrol requeuehold 73")
    cluster.wait(71, "completed")
    cluster.wait(72, "failed")
    cluster.wait(73, "queued")


def ends(cluster):
    cluster.skip_to(57)
    cluster.sbatch(57, "-J", "fails", "--wrap", "echo hi; exit 7")
    cluster.sbatch(58, "-J", "killed", "--wrap", "kill -9 $$")
    cluster.sbatch(59, "-J", "times", "--wrap", 'trap "echo got USR1" USR1; while :; do sleep 0.1; done 2>/dev/null')
    cluster.sbatch(60, "-J", "cancel", "--wrap", 'trap "echo got TERM" TERM; echo on >ready; while :; do sleep 0.1; done 2>/dev/null')
    cluster.sbatch(61, "-J", "requ", "--wrap", 'trap "echo got TERM; echo after; exit" TERM; echo restart=$SLURM_RESTART_COUNT; while :; do sleep 0.1; done 2>/dev/null')
    cluster.until("ready", "on")
    cluster.until("slurm-61.out", "restart=")
    time.sleep(0.3)  # for the trap of 59
    cluster.command("scancel -b -s USR1 59; scontrol requeuehold 61")
    cluster.until("slurm-59.out", "got USR1")
    cluster.command("scancel 59 60")
    cluster.wait(59, "cancelled")
    cluster.wait(60, "cancelled")
    cluster.wait(61, "queued")
    cluster.wait(58, "failed")


def level(line):
    """What is different from day to day and from host to host."""
    line = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", "TIME", line)
    line = re.sub(r"(Submitted batch job|sbatch: Job) \d+", r"\1 N", line)
    line = re.sub(r"JobId=\d+", "JobId=N", line)
    line = re.sub(r"RunTime=\S+", "RunTime=T", line)
    line = re.sub(r"\|\d\d:\d\d:\d\d$", "|T", line)
    line = line.replace("slurmstepd-n001:", "slurmstepd:")  # as on a real node
    return re.sub(r"(?<==)vm$|^vm$", socket.gethostname(), line)


def level_all(lines, command, cluster):
    lines = [level(line).replace(cluster.work, "$PWD") for line in lines]
    if command.startswith("sbatch"):
        lines = [re.sub(r"^\d+(?=[_ ]|$)", "N", line) for line in lines]
    if re.match("cat (g3|slurm-57|train|arr)", command):
        lines.sort()
    return lines


def differing(command, want, got):
    """Lines of one side only, as (line, why it is listed or None)."""
    rest, found = list(got), []
    for line in want:
        rest.remove(line) if line in rest else found.append(line)
    if not found and not rest and want != got:
        found = ["the order"]
    return [(line, next((why for words, lines, why in LISTED if re.search(words, command) and re.search(lines, line)), None)) for line in found + rest]


def compare(cluster, case, counts):
    command, out, err, code = case
    got_out, got_err, got_code = cluster.command(command)
    got_err = [line for line in got_err if not line.startswith("strata: ")]
    different = differing(command, level_all(out, command, cluster), level_all(got_out, command, cluster))
    different += differing(command, level_all(err, command, cluster), level_all(got_err, command, cluster))
    if got_code != code:
        different.append((f"exit {got_code}, expected {code}", None))
    counts[0] += 1
    counts[1] += not different
    for why in {why for _, why in different if why}:
        print(f"# listed ({why}): {command[:100]}: {[line for line, other in different if other == why][:4]}")
    return [f"{command}: {line!r}" for line, why in different if not why]


CASES, COUNTS = read_cases("slurm_run.txt"), [0, 0]


def replay(situation, prepare=None, between=None):
    def test(cluster):
        wrong = []
        if prepare:
            prepare(cluster)
        for case in CASES[situation]:
            if between and case[0] == between[0]:
                between[1](cluster)
            wrong += compare(cluster, case, COUNTS)
        assert not wrong, "\n" + "\n".join(wrong)
    test.__name__ = f"as_slurm_does_{situation}"
    return test


TRAINING = """#!/bin/bash
#SBATCH --job-name=ddp
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --gres=gpu:4
#SBATCH --cpus-per-task=2
#SBATCH --mem=8G
#SBATCH --time=00:10:00
#SBATCH --output=%x-%j.log
#SBATCH --signal=USR1@120

set -euo pipefail
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export MASTER_PORT=$((10000 + SLURM_JOB_ID % 50000))
export WORLD_SIZE=$SLURM_NTASKS
echo "nodes $SLURM_JOB_NUM_NODES master $MASTER_ADDR"
srun --kill-on-bad-exit=1 bash -c '
	export RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID
	python3 train.py --steps 3'
"""
TRAIN = """import os, socket, sys, time
rank, world, local = (int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"))
gpus = os.environ["CUDA_VISIBLE_DEVICES"].split(",")
port = int(os.environ["MASTER_PORT"])
def link():
    deadline = time.time() + 60
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port))
        except OSError:
            if time.time() > deadline: raise
            time.sleep(0.05)
if rank == 0:  # all-reduce of the ranks, by way of the first
    server = socket.create_server(("127.0.0.1", port), backlog=world)
    others = [server.accept()[0] for _ in range(world - 1)]
    total = sum(int(other.recv(16)) for other in others)
    for other in others: other.sendall(str(total).encode())
else:
    own = link()
    own.sendall(str(rank).encode())
    total = int(own.recv(16))
print(f"rank {rank} local {local} of {world} on {os.environ['SLURMD_NODENAME']} gpu {gpus[local]} sum {total}", flush=True)
"""


def a_training_script_runs_unchanged(cluster):
    for name, text in (("ddp.sh", TRAINING), ("train.py", TRAIN)):
        with open(os.path.join(cluster.work, name), "w") as file:
            file.write(text)
    out, err, code = cluster.command("sbatch --wait ddp.sh")
    with open(os.path.join(cluster.work, "ddp-1.log")) as file:
        first, *lines = file.read().splitlines()
    equal((out, err, code, first), (["Submitted batch job 1"], [], 0, "nodes 2 master n001"))
    equal(sorted(lines), [f"rank {rank} local {rank % 4} of 8 on n00{1 + rank // 4} gpu {rank % 4} sum 28" for rank in range(8)])
    steps = cluster.api("GET", "/jobs/1/steps")["steps"]
    equal([(step["name"], step["state"], step["tasks"], step["nodes"]) for step in steps], [("bash", "completed", 8, ["n001", "n002"])])


def a_rank_that_fails_ends_the_others(cluster):
    out, err, code = cluster.command("sbatch --wait -N2 --ntasks-per-node=2 -o f.out --wrap 'srun -K sh -c \"[ \\$SLURM_PROCID = 3 ] && exit 9; exec sleep 600\"'")
    equal(code, 9)
    with open(os.path.join(cluster.work, "f.out")) as file:
        text = file.read()
    assert "srun: error: n002: task 3: Exited with exit code 9" in text, text


def variables_of_a_job_do_not_reach_the_jobs_it_submits(cluster):
    cluster.command("sbatch --wait -N2 --ntasks-per-node=2 -o outer.out --wrap 'cd / && sbatch --wait -o /%s/inner.out --wrap \"env | sort\"'" % cluster.work.lstrip("/"))
    with open(os.path.join(cluster.work, "inner.out")) as file:
        lines = file.read().splitlines()
    for gone in ("SLURM_NTASKS_PER_NODE=2", "SLURM_NNODES=2", "SLURM_JOB_ID=1"):
        assert gone not in lines, gone
    assert "SLURM_SUBMIT_DIR=/" in lines and "SLURM_JOB_ID=2" in lines, lines


def srun_is_interrupted_and_so_is_its_job(cluster):
    env = {**os.environ, "STRATA_SOCKET": cluster.socket}
    child = subprocess.Popen([os.path.join(cluster.bin, "srun"), "sh", "-c", "echo on; exec sleep 600"], env=env, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    equal(child.stdout.readline(), "on\n")
    child.terminate()
    out, err = child.communicate(timeout=service.PATIENCE_S)
    assert child.returncode != 0 and "Force Terminated job 1" in err, err
    cluster.wait(1, "cancelled")


def said(cluster):
    print(f"# {COUNTS[1]} of {COUNTS[0]} commands are equal ({100 * COUNTS[1] / max(COUNTS[0], 1):.0f} %)")
    assert COUNTS[1] >= 0.9 * COUNTS[0]


said.__name__ = "most_are_equal"
if os.getuid() == 0:
    service.run_with(lambda test: Cluster(), replay("sbatch", None, ("sbatch noshebang.sh", lambda cluster: time.sleep(2))), replay("changes", changes, ("cat slurm-34.out", cancel_34)), replay("nodes"),
                     replay("environment", environment), replay("gpus", gpus), replay("ends", ends), said, a_training_script_runs_unchanged,
                     a_rank_that_fails_ends_the_others, variables_of_a_job_do_not_reach_the_jobs_it_submits, srun_is_interrupted_and_so_is_its_job)
else:
    print("1..0 # SKIP the texts were taken as root")
