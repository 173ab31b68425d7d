#!/usr/bin/env python3
"""Commands whose memory runs out, one allocation after the other: each says so and fails, or prints what it prints otherwise. Never does it end well with
something missing. Every allocation is tried where a command makes few, and some of them, spread evenly, where it makes many (STRATA_MEMORY_POINTS)."""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "api"))
from service import Service, run_with  # noqa: E402

FAILING = os.path.join(os.path.abspath(os.environ.get("STRATA_BUILD", "build")), "tests", "strata-failing")
POINTS = int(os.environ.get("STRATA_MEMORY_POINTS", "24"))
OUT_OF_MEMORY = re.compile("memory", re.IGNORECASE)

LAYERS = json.dumps({"layers": [{"name": f"l{i}", "bytes": 1 << 20, "compute_us": 500} for i in range(8)]})
MODEL = json.dumps({"name": "towers", "ops": [
    {"name": "text", "kind": "Gemm", "flops": 4e9, "bytes": 2e7, "weight_bytes": "300MiB"},
    {"name": "image", "kind": "Conv", "flops": 9e9, "bytes": 5e7, "weight_bytes": "500MiB"},
    {"name": "join", "kind": "MatMul", "flops": 1e8, "bytes": 1e6}],
    "edges": [{"from": "text", "to": "join", "bytes": 1000000}, {"from": "image", "to": "join", "bytes": 1000000}]})
DEVICES = json.dumps({"devices": [{"name": f"gpu{i}", "flops_per_s": 1e13, "bytes_per_s": 5e11, "capacity": "1GiB"} for i in range(2)],
                      "link_bytes_per_s": 1.2e10, "link_latency_ns": 10000})
SWF = "; MaxProcs: 8\n" + "".join(f"{i} {i} -1 {50 - i} {1 + i % 4} -1 -1 {1 + i % 4} 100 -1 1 {1 + i % 2} -1 -1 -1 -1 -1 -1\n" for i in range(1, 9))
REQUESTS = "arrival_s,user,model,steps,exec_s\n" + "".join(f"{i},{'ann' if i % 3 else 'bob'},sdxl,30,{30 - i}\n" for i in range(8))
SCRIPT = "#!/bin/sh\n#SBATCH --nodes=2 --time=1:00:00 -J train\n#SBATCH --gres=gpu:a100:2 --mail-type=END\nsrun python train.py\n"
EVENT = '{"name":"step","ph":"X","ts":1,"dur":2,"pid":7,"tid":1,"args":{"job":3}}'

FILES = {
    "layers.json": LAYERS, "model.json": MODEL, "devices.json": DEVICES, "small.swf": SWF, "requests.csv": REQUESTS, "train.sh": SCRIPT,
    "a.json": f"[{EVENT}]", "b.json": '{"traceEvents":[' + EVENT + "]}", "mine.txt": "fetch L1\ncompute L1\nrelease L1\nfetch L2\ncompute L2\nrelease L2\n",
    "nodes.csv": "sn,cpu_milli,memory_mib,gpu,model\na,8000,1024,2,T4\nb,8000,1024,4,V100\n",
    "pods.csv": "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\nhalf,1000,10,1,500,\ntwo,1000,10,2,1000,\n", "seq.csv": "pod\nhalf\ntwo\nhalf\n",
    "conf.ini": "color = never\nserver = http://localhost:1\n",
}


class Bench:
    """A directory with something to read for every command."""

    def __init__(self, test):
        self.service = Service() if getattr(test, "service", False) else None
        self.own = None if self.service else subprocess.run(["mktemp", "-d"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        self.dir = self.service.dir if self.service else self.own
        for name, text in FILES.items():
            with open(os.path.join(self.dir, name), "w", encoding="utf-8") as file:
                file.write(text)

    def run(self, words, at=0, all_later=False):
        env = {key: value for key, value in os.environ.items() if not key.startswith("STRATA_")}
        env.update(HOME=self.dir, STRATA_ALLOCATIONS=os.path.join(self.dir, "allocations"), STRATA_FAIL_ALLOCATION=str(at), LC_ALL="C.UTF-8",
                   COLUMNS="200", NO_COLOR="1")
        if all_later:
            env["STRATA_FAIL_ALL"] = "1"
        if self.service:
            env["STRATA_SOCKET"] = self.service.socket
        for name in ("out", "out.svg", "out.csv"):
            if os.path.exists(os.path.join(self.dir, name)):
                os.remove(os.path.join(self.dir, name))
        done = subprocess.run([FAILING, *words], cwd=self.dir, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=120)
        written = ""
        for name in ("out", "out.svg", "out.csv"):
            if os.path.exists(os.path.join(self.dir, name)):
                with open(os.path.join(self.dir, name), encoding="utf-8") as file:
                    written += file.read()
        return done, plain(done.stdout + written)

    def allocations(self):
        with open(os.path.join(self.dir, "allocations"), encoding="utf-8") as file:
            return int(file.read())

    def check(self, line):
        words = line.split()
        done, want = self.run(words)
        assert done.returncode == 0, f"strata {line} gives {done.returncode} with all its memory: {done.stderr}"
        count = self.allocations()
        assert count > 0, f"strata {line} allocates nothing"
        for number, at in enumerate(points(count)):
            done, got = self.run(words, at, number % 2 == 0)
            where = f"strata {line}: allocation {at} of {count} failed{' with all later ones' if number % 2 == 0 else ''}, exit status {done.returncode}"
            assert done.returncode >= 0, f"{where}: a signal\n{done.stderr}"
            if done.returncode:
                assert OUT_OF_MEMORY.search(done.stderr) or not done.stderr and number % 2 == 0, f"{where}: it does not say why: «{done.stderr}»"
            else:
                assert got == want, f"{where}: it prints\n{got}\ninstead of\n{want}"

    def said(self):
        return self.service.said() if self.service else ""

    def close(self):
        if self.service:
            self.service.close()
        else:
            subprocess.run(["rm", "-rf", self.own], check=True)


def points(count):
    if count <= POINTS:
        return range(1, count + 1)
    return sorted({1 + number * (count - 1) // (POINTS - 1) for number in range(POINTS)})


def plain(text):
    """Without what differs from run to run: figures, and how wide a column is because of them."""
    return re.sub(r"[ -]+", " ", re.sub(r"[0-9][0-9.:e+-]*", "#", text))


def lines(*commands):
    def decorate(test):
        def all_of_them(bench):
            for line in commands:
                bench.check(line)
        all_of_them.__name__ = test.__name__
        all_of_them.service = getattr(test, "service", False)
        return all_of_them
    return decorate


def with_service(test):
    test.service = True
    return test


@lines("version", "help", "help sim cluster", "classes", "classes solver", "config --config conf.ini", "completion bash", "noise --json",
       "manual submit")
def what_a_command_says_of_itself(_):
    pass


@lines("solver list", "solver show heun", "solver table dpmpp_2m:use_karras_sigmas --steps 6", "solver table euler --steps 4 --json",
       "solver config unipc", "solver plot out.svg euler heun")
def solvers(_):
    pass


@lines("stage plan --layers layers.json --budget 5MiB --page 64KiB --schedule", "stage plan --layers layers.json --budget 5MiB --page 64KiB --json",
       "stage verify mine.txt", "stage simulate mine.txt")
def stages(_):
    pass


@lines("place model.json --devices devices.json", "place model.json --devices devices.json --json --pin text=gpu1", "place ops",
       "place model.json --devices devices.json --plot out.svg")
def places(_):
    pass


@lines("sim cluster small.swf --starts out.csv", "sim cluster small.swf --compare fifo/none,fifo/easy --plot out.svg", "sim cluster small.swf --json", "sim cluster small.swf --trace out",
       "sim pool requests.csv --policy fifo,fair", "sim pool requests.csv --policy fair --trace out", "sim pool requests.csv --json", "sim place nodes.csv pods.csv seq.csv --json",
       "sim workload --model lublin --jobs 20 -o out", "sim workload --model gpu --jobs 20 -o out")
def simulations(_):
    pass


@lines("trace merge a.json b.json", "slurm parse --json train.sh", "slurm parse train.sh", "slurm ls", "slurm ls sbatch")
def files(_):
    pass


QUESTIONS = ("queue", "queue --json", "nodes", "nodes --json", "gpus", "show 1", "show 3 --json", "why 3", "events", "events --json",
             "accounting", "accounts", "users", "qos", "partitions", "logs 1", "checkpoints 1", "wait -v 1", "wait 1 --json", "run -- echo hi", "token list", "hold 6_[2-3]", "models", "models show digits", "tasks",
             "tasks --json", "tasks show T1", "why T1")


def fill(service):
    service.wait(service.submit("sh", "-c", "echo hello")["id"], "completed")
    service.wait(service.submit("sleep", "600", name="long", cpus=2)["id"], "running")
    service.submit("true", hold=True, name="held")
    service.wait(service.submit("sleep", "600", gpus=12, name="large")["id"], "running")
    service.submit("true", gpus=1, name="waits")
    service.submit("true", array="1-4", hold=True)
    service.api("POST", "/models/digits/pause")
    service.api("POST", "/generate", {"prompt": "a seven", "seed": 1}, 201)


@with_service
def questions_to_a_service(bench):
    fill(bench.service)
    for line in QUESTIONS:
        bench.check(line)


run_with(Bench, what_a_command_says_of_itself, solvers, stages, places, simulations, files, questions_to_a_service)
