#!/usr/bin/env python3
"""Pictures in a minute: through the service, for four users, ÷ the engine alone with its best batch. Both in turns on the same machine, so that the ratio says
something where the figures do not; on one core, because threads that wait for each other on a busy machine measure nothing but that.

    bench_goodput [TURNS [PICTURES [DEVICES]]]
"""
import atexit
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

SOURCE, BUILD = "@SOURCE@", "@BUILD@"
os.environ["STRATA_BUILD"] = BUILD
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the service ends with it
sys.path.insert(0, os.path.join(SOURCE, "tests", "api"))
import service as api  # noqa: E402

USERS = ["daemon", "bin", "sys", "games"]  # such as every machine has
BATCHES = [1, 4]
WORKER = """#!/bin/sh
exec "%s" "$@" --devices %s 2>/dev/null
"""


def engine_alone(folder, batch, words):
    """Seconds on the wall, and of the processor."""
    done = subprocess.run([os.path.join(BUILD, "bench", "goodput_engine"), folder, DEVICES, str(batch), *words], stdout=subprocess.PIPE, check=True, text=True)
    return [float(word) for word in done.stdout.split()[:2]]


class Through:
    """A service with one worker that has drawn one picture."""

    def __init__(self, folder, batch):
        self.programs = tempfile.TemporaryDirectory()
        os.chmod(self.programs.name, 0o755)
        program = os.path.join(self.programs.name, "worker")
        with open(program, "w") as file:
            file.write(WORKER % (api.STRATA, DEVICES))
        os.chmod(program, 0o755)
        self.service = api.Service("--worker-program", program, nodes="n:cpus=8:memory=32G")
        atexit.register(self.close)
        self.service.api("PUT", "/models/digits", {"folder": folder, "workers_min": 1, "workers_max": 1, "batch": batch, "memory": "4G"})
        self.tokens = [self.service.api("POST", "/tokens", {"user": user, "role": "user"}, 201)["token"] for user in USERS]
        self.wait([self.ask("0:2", 0)])

    def ask(self, word, number):
        size, steps = map(int, word.split(":"))
        fields = {"prompt": "a seven", "steps": steps, "seed": number, **({"width": size, "height": size} if size else {})}
        return self.service.api("POST", "/generate", fields, 201, token=self.tokens[number % len(USERS)])["id"]

    def wait(self, numbers):
        for number in numbers:
            while self.service.api("GET", f"/tasks/{number}")["status"] != "finished":
                time.sleep(0.02)

    def cpu_s(self):
        """Of the worker, so far."""
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as line, open(f"/proc/{pid}/environ", "rb") as variables:
                    if b"worker" in line.read().split(b"\0") and f"STRATA_SOCKET={self.service.socket}\0".encode() in variables.read():
                        with open(f"/proc/{pid}/stat") as stat:
                            return sum(map(int, stat.read().rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")
            except OSError:
                pass  # it has ended
        raise SystemExit("bench_goodput: there is no worker")

    def draw(self, words):
        self.service.api("POST", "/models/digits/pause")
        numbers = [self.ask(word, number) for number, word in enumerate(words)]
        start, cpu_s = time.monotonic(), self.cpu_s()
        self.service.api("POST", "/models/digits/resume")
        while self.service.api("GET", "/tasks?status=pending,encoding,denoising,decoding&limit=1")["tasks"]:
            time.sleep(0.1)  # who looks takes time from who computes
        wall_s, cpu_s = time.monotonic() - start, self.cpu_s() - cpu_s
        tasks = [self.service.api("GET", f"/tasks/{number}") for number in numbers]
        assert all(task["status"] == "finished" for task in tasks), tasks
        return wall_s, sum(task["cost_ns"] for task in tasks) / 1e9, cpu_s

    def close(self):
        self.service.close()
        self.programs.cleanup()


def compare(name, folder, words, turns):
    alone = {batch: min(engine_alone(folder, batch, words)[0] for _ in range(2)) for batch in BATCHES}
    best = min(alone, key=alone.get)
    through = Through(folder, best)
    rows = []
    try:
        for _ in range(turns):
            own_s, own_cpu_s = engine_alone(folder, best, words)
            wall_s, cost_s, cpu_s = through.draw(words)
            rows.append((own_s, wall_s, cost_s, own_cpu_s, cpu_s))
    finally:
        through.close()
    own_s, wall_s, cost_s = (statistics.median(row[i] for row in rows) for i in range(3))
    print(f"{name}: {len(words)} pictures, {len(USERS)} users; engine alone by batch: "
          f"{', '.join(f'{batch}: {60 * len(words) / s:.0f}/min' for batch, s in alone.items())}")
    print(f"  engine alone, batch {best}: {60 * len(words) / own_s:.0f}/min; through the service: {60 * len(words) / wall_s:.0f}/min; "
          f"ratio {statistics.median(row[0] / row[1] for row in rows):.3f} (each turn: {', '.join(f'{row[0] / row[1]:.3f}' for row in rows)}); "
          f"computing is {cost_s / wall_s:.3f} of the service's time")
    print(f"  processor time, engine alone ÷ worker: {statistics.median(row[3] / row[4] for row in rows):.3f} "
          f"(each turn: {', '.join(f'{row[3] / row[4]:.3f}' for row in rows)})")


DEVICES = sys.argv[3] if len(sys.argv) > 3 else "cpu:0"
turns = int(sys.argv[1]) if len(sys.argv) > 1 else 5
pictures = int(sys.argv[2]) if len(sys.argv) > 2 else 60
draw = random.Random(1)
compare("digits, mixed steps", os.path.join(SOURCE, "models", "digits"), [f"0:{draw.choice([5, 10, 20, 30, 50])}" for _ in range(pictures)], turns)
tiny = os.path.join(os.environ.get("STRATA_DATA", os.path.join(SOURCE, "..", "shared")), "golden", "pipelines", "tiny-sd")
python, random_pipeline = os.path.join(BUILD, "python-torch", "bin", "python"), os.path.join(BUILD, "random-pipeline")
if not os.path.exists(random_pipeline) and os.path.exists(python) and os.path.exists(tiny):
    subprocess.run([python, os.path.join(SOURCE, "bench", "random_pipeline.py"), tiny, random_pipeline], check=True)
if os.path.exists(random_pipeline):
    compare("64 million random parameters, mixed sizes", random_pipeline, [f"{draw.choice([32, 64, 96])}:{draw.choice([4, 6, 8])}" for _ in range(pictures // 4)],
            max(1, turns // 2))
else:
    print("random pipeline: skipped; it needs build/python-torch (`make test T=python-torch`) and STRATA_DATA")
