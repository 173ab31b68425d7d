#!/usr/bin/env python3
"""Slurm's commands that show, against what Slurm 22.05 printed in the same situations (tests/data/slurm_show.txt), line by line. Times, paths,
host names and priorities are made equal first. Lines that differ have to be listed here, with the reason that docs/slurm.md gives; the share that
is equal is printed."""
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "api"))
import service  # noqa: E402
from slurm_cases import read_cases  # noqa: E402

COMMANDS = ("sacct", "scontrol", "sinfo", "sprio", "squeue", "sshare")
SMALL = ["--mem=1G", "--wrap", "sleep 60"]

# (command, line, why it is not the same): docs/slurm.md has these words and says more.
LISTED = [
    (r"^squeue", r"\b43\b.*badqos.*Priority", "order"),
    (r"^squeue --me -h \| head", r"PartitionConfig", "order"),
    (r"^squeue -r", r"40_19 ", "all elements"),
    (r"^squeue (--start|-j 35)|^scontrol show job", r"N/A|StartTime=Unknown", "forecast"),
    (r"^squeue --start", r" TIME ", "forecast"),
    (r"^sprio", r" gpu ", "priority"),
    (r"^sshare", r"", "shares"),
    (r"^scontrol show node", r"CPULoad=|RealMemory=|BootTime=", "not measured"),
    (r"^sinfo -h -p gpu", r"idle", "idle*"),
    (r"^squeue -a -t all", r"\b61 ", "requeue"),
    (r"^squeue -a -t all", r"\b58 ", "launch failure"),
    (r"^sacct$", r"^(54\.0|53_3\.0) ", "steps"),
    (r"^sacct$", r"^15 ", "refused"),
    (r"^sacct$", r"^61(\.batch)? ", "requeue"),
]


class Cluster(service.Service):
    def __init__(self):
        self.conf = tempfile.NamedTemporaryFile("w", suffix=".ini")
        for i in range(1, 9):
            partitions = "gpu,one,high" if i == 1 else "gpu,high"
            self.conf.write(f"[node n00{i}]\ncpus = 64\nmemory = 500G\ngpus = 8\ngpu_type = a100\nfeatures = a100\nnuma = 2\npartitions = {partitions}\n")
        self.conf.flush()
        super().__init__("--config", self.conf.name, "--preempt", "least_lost:grace=3", nodes=None)
        self.limit("30d")
        self.api("PUT", "/partitions/one", {"time_limit_max": "1d"})
        self.api("PUT", "/partitions/high", {"time_limit_max": "7d"})
        self.api("PUT", "/accounts/lab", {"weight": 100})
        self.api("PUT", "/qos/nope", {})  # Slurm without AccountingStorageEnforce takes any
        self.api("PUT", "/users/root", {"account": "lab"})
        self.bin = os.path.join(self.dir, "bin")
        os.mkdir(self.bin)
        for name in COMMANDS:
            os.symlink(os.path.abspath(service.STRATA), os.path.join(self.bin, name))
        self.ids = {}

    def limit(self, longest):
        self.api("PUT", "/partitions/gpu", {"default": True, "time_limit": "1h", "time_limit_max": longest, "priority": 10})

    def sbatch(self, slurm_id, name, *options):
        """As sbatch does it; slurm_id is what Slurm called the job."""
        body = {"options": ["-J", name, "-o", f"{self.dir}/slurm-%{'A_%a' if '-a' in options else 'j'}.out", *options], "working_dir": self.dir,
                "environment": {"PATH": "/usr/bin:/bin"}}
        status, answer = self.ask("POST", "/api/v1/slurm/sbatch", body, headers={"Content-Type": "application/json"})
        assert status == 201, answer
        self.ids[answer["id"]] = slurm_id
        return answer["id"]

    def skip_to(self, number):
        """The next job gets this number."""
        while (last := self.submit("true", hold=True)["id"]) < number - 1:
            self.api("DELETE", f"/jobs/{last}")
        self.api("DELETE", f"/jobs/{last}")

    def command(self, text):
        env = {**os.environ, "STRATA_SOCKET": self.socket, "PATH": f"{self.bin}:{os.environ['PATH']}"}
        for name in [name for name in env if re.match("S(QUEUE|INFO|ACCT|PRIO)_|SLURM_", name)]:
            del env[name]
        done = subprocess.run(["bash", "-c", text], env=env, cwd=self.dir, capture_output=True, text=True)
        return done.stdout.split("\n")[:-1], done.stderr.split("\n")[:-1], done.returncode


def level(line):
    """What is different from day to day and from host to host."""
    line = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", "TIME", line)
    line = re.sub(r"^[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d \d{4}$", "DATE", line)
    line = re.sub(r"(?<=[ |])0:\d\d(?=[ |])(?! $)", "0:SS", line)
    line = re.sub(r"(?<=[ =])00:00:\d\d\b", "00:MM:SS", line)
    line = re.sub(r"AllocNode:Sid=\S+", "AllocNode:Sid=HOST:N", line)
    line = re.sub(r"Priority=\d+", "Priority=N", line)
    line = re.sub(r"(\|1:00:00\|1:00:00\|)\d+", r"\1N", line)
    line = re.sub(r"\bOS=.*", "OS=", line)
    line = re.sub(r"NodeAddr=\S+ NodeHostName=\S+( Port=\d+)?", "NodeAddr=HOST NodeHostName=HOST", line)
    line = re.sub(r"^(vm  |n00\d)(?= +gpu:a100)", "HOST", line)
    line = re.sub(r"^(Slurmctld\(primary\) at )\S+", r"\1HOST", line)
    return re.sub(r'"(accrue_time|association_id|batch_host)": .*', r'"\1": N,', line)


def level_ours(cluster, line, situation):
    """Numbers of jobs become Slurm's: where a job stands first in the line, and wherever the array is meant."""
    line = line.replace(cluster.dir, "$PWD")
    if situation == "history":
        first = re.match(r"(\d+)([_.]\S+)?( +)", line)
        theirs = first and f"{cluster.ids.get(int(first[1]), first[1])}{first[2] or ''}"
        line = theirs.ljust(13) + line[13:] if first else line
    for ours, theirs in cluster.ids.items() if situation.startswith("queue") else ():
        if ours != theirs:
            line = re.sub(rf"(?<![\w.:]){ours}(?=[_ ])|(?<=slurm-){ours}\b", str(theirs), line)
    return level(line)


def listed(command, line):
    return any(re.search(a, command) and re.search(b, line) for a, b, _ in LISTED)


def compare(cluster, situation):
    unexpected = []
    for text, out, err, code in CASES[situation]:
        array = next((ours for ours, theirs in cluster.ids.items() if theirs == 40), 40)
        got_out, got_err, got_code = cluster.command(text.replace("40_1", f"{array}_1"))
        got = [level_ours(cluster, line, situation) for line in got_out] + ["[stderr] " + line for line in got_err]
        want = [level(line) for line in out] + ["[stderr] " + line for line in err]
        missing, more = [line for line in want if line not in got], [line for line in got if line not in want]
        TALLY["lines"] += len(want)
        TALLY["equal"] += len(want) - len(missing)
        TALLY["different"] += [f"{text}: {line}" for line in missing]
        unexpected += [f"{text}: «{line}» is missing; there is «{'» «'.join(more[:3])}»" for line in missing if not listed(text, line)]
        if len(more) > len(missing) and situation != "history":
            unexpected += [f"{text}: «{line}» is too much" for line in more if not listed(text, line)]
        whose_turn = re.match(r"squeue($| --long| -h| --me)|squeue .*-t all|sacct$", text)  # the order is Strata's decision
        if not missing and not more and got != want and not whose_turn:
            unexpected.append(f"{text}: another order")
        if got_code != code:
            unexpected.append(f"{text}: exit status {got_code}, expected {code}")
    assert not unexpected, "\n".join(unexpected)


def fill_queue(cluster, *big):
    cluster.skip_to(34)
    cluster.wait(cluster.sbatch(34, "fill", "-N8", "--exclusive", "--gres=gpu:8", "-t", "2:00:00", "--wrap", "sleep 60"), "running")
    cluster.sbatch(35, "big", "-N8", "-n8", "--gres=gpu:8", *big, *SMALL)
    cluster.sbatch(36, "small", "-t", "1-0", *SMALL)
    cluster.sbatch(37, "dep", "-d", "afterok:34", *SMALL)
    cluster.sbatch(38, "held", "-H", *SMALL)
    cluster.sbatch(39, "begin", "--begin=now+1hour", *SMALL)
    cluster.skip_to(41)
    cluster.sbatch(41, "toolong", "-t", "30-0", *SMALL)
    cluster.limit("7d")
    cluster.sbatch(42, "toomany", "-N1000", *SMALL)
    cluster.sbatch(43, "badqos", "-q", "nope", *SMALL)
    cluster.sbatch(44, "depnever", "-d", "afternotok:34", *SMALL)
    cluster.sbatch(45, "single", *SMALL)
    cluster.sbatch(46, "bigcpu", "-c", "1000", *SMALL)
    return cluster.sbatch(40, "arr", "-a", "1-19:3%2", *SMALL)


def the_queue(cluster):
    fill_queue(cluster)
    compare(cluster, "queue")


def the_queue_later(cluster):
    """Some are cancelled, and the big one has its turn, alone."""
    array = fill_queue(cluster, "--exclusive", "--nice=-10")
    for job in (38, 39, array + 1):
        cluster.api("DELETE", f"/jobs/{job}")
    cluster.api("PATCH", "/jobs/43", {"nice": 10})
    cluster.api("DELETE", "/jobs/34", status=202)
    cluster.wait(35, "running")
    compare(cluster, "queue, later")


def the_nodes(cluster):
    cluster.api("PATCH", "/nodes/n003", {"state": "drained", "reason": "bad gpu"})
    cluster.api("PATCH", "/nodes/n004", {"state": "down", "reason": "xid 79"})
    for job in (cluster.sbatch(77, "wrap", "-w", "n005", "--gres=gpu:1", *SMALL),
                cluster.sbatch(78, "wrap", "-w", "n006", "--exclusive", "--gres=gpu:8", "--wrap", "sleep 60")):
        cluster.wait(job, "running")
    cluster.limit("7d")
    compare(cluster, "nodes")
    for name in ("n003", "n004"):
        cluster.api("PATCH", f"/nodes/{name}", {"state": "up"})
    compare(cluster, "nodes, resumed")


def the_ends(cluster):
    cluster.skip_to(57)
    fails = cluster.sbatch(57, "fails", "--mem=1G", "--wrap", "echo hi; exit 7")
    cluster.wait(fails, "failed")
    cluster.wait(cluster.sbatch(58, "killed", "--mem=1G", "--wrap", "kill -9 $$"), "failed")
    times = cluster.sbatch(59, "times", "--mem=1G", "--wrap", "trap '' TERM; sleep 60 & wait; sleep 60")
    cancel = cluster.sbatch(60, "cancel", "--mem=1G", "--wrap", "trap '' TERM; sleep 60 & wait; sleep 60")
    requ = cluster.sbatch(61, "requ", *SMALL)
    cluster.sbatch(62, "depok", "-d", "afterok:57", *SMALL)
    kill = cluster.sbatch(63, "depkill", "-d", "afterok:57", "--kill-on-invalid-dep=yes", *SMALL)
    cluster.wait(cluster.sbatch(64, "depany", "-d", "afterany:57", "--mem=1G", "--wrap", "true"), "completed")
    for job in (times, cancel, requ):
        cluster.wait(job, "running")
    time.sleep(0.3)  # the scripts have set their traps by then
    cluster.api("PATCH", f"/jobs/{requ}", {"requeue": True})
    cluster.api("DELETE", f"/jobs/{cancel}", status=202)
    cluster.wait(kill, "cancelled")
    compare(cluster, "ends")
    cluster.api("DELETE", f"/jobs/{times}", status=202)
    cluster.wait(times, "cancelled")
    cluster.wait(cluster.sbatch(65, "low", *SMALL), "running")
    compare(cluster, "ends, later")


def the_history(cluster):
    cluster.wait(cluster.sbatch(7, "wrap", "--mem=1G", "--wrap", "exit 3"), "failed")
    first = cluster.sbatch(6, "arr", "-a", "2-3%2", *SMALL)
    cluster.wait(first, "running")
    fill = cluster.sbatch(34, "fill", "-N8", "--exclusive", "--wrap", "sleep 60")
    waits = cluster.sbatch(18, "train", "-c4", "-d", f"afterok:{fill}", *SMALL)
    cluster.api("DELETE", f"/jobs/{waits}")
    for job in (first, first + 1):
        cluster.api("DELETE", f"/jobs/{job}", status=202)
    cluster.wait(fill, "running")
    cluster.api("DELETE", f"/jobs/{fill}", status=202)
    cluster.wait(fill, "cancelled")
    for options in ((29, "wrap", "--chdir=/nonexistent", "--mem=1G", "--wrap", "pwd"), (30, "wrap", "--mem=1G", "--output=/nonexistent/x.out", "--wrap", "pwd"),
                    (57, "fails", "--mem=1G", "--wrap", "exit 7"), (58, "killed", "--mem=1G", "--wrap", "kill -9 $$")):
        cluster.wait(cluster.sbatch(*options), "failed")
    done = cluster.sbatch(53, "arr", "-a", "3", "--mem=1G", "--wrap", "true")
    cluster.wait(done, "completed")
    compare(cluster, "history")


def most_of_it_is_equal(cluster):
    share = 100 * TALLY["equal"] / TALLY["lines"]
    print(f"# {TALLY['equal']} of {TALLY['lines']} lines are equal: {share:.1f} %")
    for line in TALLY["different"]:
        print(f"# not: {line}")
    assert share > 80, share


CASES = read_cases("slurm_show.txt")
TALLY = {"lines": 0, "equal": 0, "different": []}
if __name__ == "__main__":
    why = None if os.geteuid() == 0 else "what is compared was said to root"
    service.run_with(lambda test: Cluster(), the_queue, the_queue_later, the_nodes, the_ends, the_history, most_of_it_is_equal, skip=why)
