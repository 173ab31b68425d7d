#!/usr/bin/env python3
"""What the service takes for what people do, beside Slurm's figures (22.05.8 on a machine of two cores) and the raw commit rate of the same
disk in the same run. BUILD is the build directory; figures depend on the disk of the day, ratios less."""
import http.client
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "api"))
os.environ.setdefault("STRATA_BUILD", sys.argv[1] if len(sys.argv) > 1 else "build")
import service as api  # noqa: E402


def raw_commits(rows, seconds=1.0):
    """Transactions of so many rows per second: SQLite, WAL, synchronous=FULL."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as directory:
        db = sqlite3.connect(os.path.join(directory, "raw.db"), isolation_level=None)
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=FULL")
        db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT)")
        start, count = time.time(), 0
        while time.time() - start < seconds:
            db.execute("BEGIN")
            db.executemany("INSERT INTO t (text) VALUES (?)", [("x" * 500,)] * rows)
            db.execute("COMMIT")
            count += 1
        return count / (time.time() - start)


class Client:
    """One kept connection."""

    def __init__(self, service):
        self.connection = api.Connection(service.socket)
        self.body = json.dumps({"command": ["true"], "working_dir": service.dir, "hold": True})

    def submit(self):
        self.connection.request("POST", "/api/v1/jobs", self.body)
        answer = self.connection.getresponse()
        answer.read()
        assert answer.status == 201


def submissions(service, clients, seconds=2.0):
    counts, until = [0] * clients, time.time() + seconds

    def work(index):
        client = Client(service)
        while time.time() < until:
            client.submit()
            counts[index] += 1

    threads = [threading.Thread(target=work, args=(i,)) for i in range(clients)]
    start = time.time()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / (time.time() - start)


def show(what, value, unit, peer=None, peer_value=None, more=None):
    line = f"  {what:<46}{value:>10.1f} {unit}"
    if peer:
        ratio = value / peer_value if unit.endswith("/s") else peer_value / value
        line += f"   {peer}: {peer_value:g}, {ratio:.1f}x"
    print(line + (f"   {more}" if more else ""), flush=True)


def rss_mib(service):
    with open(f"/proc/{service.process.pid}/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS"))


def main():
    one, many = raw_commits(1), raw_commits(64) * 64
    print(f"raw commits of this disk: {one:.0f} of one row per second, {many:.0f} rows per second in groups of 64")
    service = api.Service(nodes="n:cpus=64:memory=500G:gpus=8")
    try:
        rate = submissions(service, 1)
        show("durable submissions, 1 client", rate, "/s", "slurm's C API", 664, f"{rate / one:.2f} of the raw rate")
        rate = submissions(service, 4)
        show("4 clients", rate, "/s", "slurm's C API", 787, f"{rate / one:.2f} of the raw rate")
        rate = submissions(service, 64)
        show("64 clients", rate, "/s", "slurm's best", 1096, f"{rate / many:.2f} of the raw rate in groups")
        jobs = [{"command": ["true"], "working_dir": service.dir, "hold": True}] * 10000
        start = time.time()
        service.api("POST", "/jobs", {"jobs": jobs}, 201)
        show("10,000 in one request", time.time() - start, "s")
    finally:
        service.close()
    service = api.Service(nodes="n:cpus=64:memory=500G:gpus=8")
    try:
        times = []
        for _ in range(30):
            start = time.time()
            job = service.submit("true")["id"]
            while service.job(job)["started_at"] is None:
                time.sleep(0.001)
            times.append((time.time() - start) * 1000)
        show("submit to start, median", sorted(times)[15], "ms", "slurm, delays set to 0", 774)
        jobs = [{"command": ["/bin/true"], "working_dir": service.dir, "output": "/dev/null"}] * 1000
        start = time.time()
        ids = service.api("POST", "/jobs", {"jobs": jobs}, 201)["ids"]
        while service.api("GET", "/queue?limit=1")["counts"]["completed"] < 1000 + 30:
            time.sleep(0.02)
        show("1,000 x /bin/true, submit to all done", 1000 / (time.time() - start), "/s", "slurm", 23)
        assert len(ids) == 1000
        jobs = [{"command": ["true"], "working_dir": service.dir, "gpus": 8, "hold": True, "name": f"j{i % 100}"}
                for i in range(10000)]
        for _ in range(5):
            service.api("POST", "/jobs", {"jobs": jobs}, 201)
        show("memory with 50,000 pending", rss_mib(service), "MiB", "slurm", 463)
        start = time.time()
        service.api("GET", "/queue?limit=50000")
        show("the queue with 50,000 pending", (time.time() - start) * 1000, "ms", "slurm", 532)
        start = time.time()
        service.job(40000)
        show("one job of it", (time.time() - start) * 1000, "ms", "slurm", 6)
        service.kill()
        start = time.time()
        service.start()
        show("restart with 50,000 pending", time.time() - start, "s", "slurm, 10,000", 1.11)
    finally:
        service.process.kill()
        service.process.wait()
        service.close()


if __name__ == "__main__":
    main()
