"""Chaos for the service: clients that note every acknowledged fact, faults that strike while they work, and a judge who compares the facts with
what the service says in the end and with what the jobs themselves wrote down.

What a client does is repeated until there is an answer (a submission with its key), so every fact is known. A job writes a line when it starts and
one when it ends, and holds a lock meanwhile: two runs of it at the same time give each other away.
"""
import collections
import contextlib
import http.client
import json
import os
import random
import signal
import threading
import time

import postgres
from service import Connection, Service

GIVE_UP_S = 120  # without an answer to one request
SETTLE_S = 300   # for all jobs to end once the faults are over
NODES = "n:count=3:cpus=64:memory=64G:gpus=4:gpu_type=a100"
SCRIPT = """#!/bin/sh
exec 9>>"$1/lock.$STRATA_JOB_ID"
flock -n 9 || echo "$STRATA_JOB_ID overlap 0 0" >> "$1/ran"
echo "$STRATA_JOB_ID start ${SLURM_RESTART_COUNT:-0} $(date +%s%N)" >> "$1/ran"
sleep "$2"
echo "$STRATA_JOB_ID end ${SLURM_RESTART_COUNT:-0} $(date +%s%N)" >> "$1/ran"
exit "$3"
"""


class Fact:
    """What was acknowledged of one job."""

    def __init__(self, group, requeue, code, after=None):
        self.group, self.requeue, self.code, self.after = group, requeue, code, after
        self.cancelled = False   # somebody was told that it is or will be
        self.may_be_cancelled = False  # somebody asked; the answer may have got lost
        self.never = False       # it was held when it was cancelled
        self.requeued = 0        # so often somebody was told that it runs again
        self.holds = []          # [since, until] ns in which it must not start
        self.busy = threading.Lock()  # one change of it at a time: order is what is tested, not luck


class World:
    """One service, or two that share a PostgreSQL."""

    def __init__(self, store):
        self.database = postgres.Postgres() if store != "sqlite" else None
        address = self.database.address() if self.database else None
        self.servers = [Service(store=address, nodes=NODES)]
        self.dir, self.state = self.servers[0].dir, self.servers[0].state
        if store == "pair":
            self.servers.append(Service(store=address, state=self.state, nodes=NODES))
        self.facts = {}
        self.groups = 0
        self.lock = threading.Lock()
        self.stop, self.over = threading.Event(), threading.Event()
        self.trouble = []
        self.faults = collections.Counter()
        self.acts = collections.Counter()
        open(os.path.join(self.dir, "ran"), "w").close()

    def ask(self, method, path, body=None, key=None):
        """Until there is an answer. Which server leads is found out by asking."""
        deadline = time.time() + GIVE_UP_S
        turn, last = 0, None
        while True:
            server = self.servers[turn % len(self.servers)]
            turn += 1
            try:
                connection = Connection(server.socket)
                connection.timeout = 20
                try:
                    connection.request(method, "/api/v1" + path, json.dumps(body) if body is not None else None,
                                       {"Idempotency-Key": key} if key else {})
                    answer = connection.getresponse()
                    status, data = answer.status, json.loads(answer.read())
                finally:
                    connection.close()
                if status < 500 and status not in (421, 307, 429):
                    return status, data
                last = data
            except (OSError, http.client.HTTPException, ValueError) as error:
                last = repr(error)
            if time.time() > deadline:
                raise AssertionError(f"{method} {path}: no answer for {GIVE_UP_S} s, but {last}")
            time.sleep(0.02)

    def said(self):
        return "".join(server.said() for server in self.servers)

    def close(self):
        for server in reversed(self.servers):
            server.close()
        if self.database:
            self.database.close()


# ---- clients ----

class Client(threading.Thread):
    def __init__(self, world, seed, quota):
        super().__init__(daemon=True)
        self.world, self.random, self.quota = world, random.Random(seed), quota
        self.name, self.count = f"client {seed}", 0

    def run(self):
        try:
            while not self.world.stop.is_set() and (not self.quota or self.count < self.quota):
                act = self.random.choices([self.submit, self.array, self.bulk, self.depend, self.hold, self.cancel, self.requeue,
                                           self.sweep], [8, 1, 1, 2, 2, 2, 1, 1])[0]
                act()
                self.world.acts[act.__name__] += 1
        except Exception as error:  # any is a finding
            self.world.trouble.append(f"{self.name}: {error!r}")

    def spec(self, **fields):
        requeue, code = self.random.random() < 0.7, 1 if self.random.random() < 0.1 else 0
        length = self.random.choice(["0", "0", "0.05", "0.2", "1"])
        return {"script": SCRIPT, "arguments": [self.world.dir, length, str(code)], "working_dir": self.world.dir, "output": "/dev/null",
                "environment": {"PATH": "/usr/bin:/bin"}, "requeue": requeue, "cpus_per_task": 1, **fields}

    def post(self, body, specs, count, after=None):
        """Takes note of what was acknowledged: all of it or nothing."""
        key = f"{self.name}-{self.random.getrandbits(64):x}"
        status, answer = self.world.ask("POST", "/jobs", body, key)
        if status not in (200, 201):
            raise AssertionError(f"a submission was refused: {status} {answer}")
        if len(answer["ids"]) != count:
            raise AssertionError(f"{count} jobs were submitted, {len(answer['ids'])} acknowledged: {answer}")
        with self.world.lock:
            self.world.groups += 1
            for spec, number in zip(specs, answer["ids"]):
                self.world.facts[number] = Fact(self.world.groups, spec["requeue"], int(spec["arguments"][2]), after)
                if spec.get("hold"):
                    self.world.facts[number].holds.append([0, None])
        self.count += count
        return answer["ids"]

    def submit(self):
        spec = self.spec(hold=self.random.random() < 0.1)
        self.post(spec, [spec], 1)

    def array(self):
        count = self.random.randint(2, 12)
        spec = self.spec(array=f"1-{count}" + self.random.choice(["", "%2"]))
        self.post(spec, [spec] * count, count)

    def bulk(self):
        specs = [self.spec() for _ in range(self.random.randint(2, 8))]
        self.post({"jobs": specs}, specs, len(specs))

    def depend(self):
        other = self.pick()
        if other:
            spec = self.spec(dependencies=f"afterany:{other}")
            self.post(spec, [spec], 1, other)

    def pick(self):
        with self.world.lock:
            return self.random.choice(list(self.world.facts)[-200:]) if self.world.facts else None

    def hold(self):
        number = self.pick()
        if not number:
            return
        fact = self.world.facts[number]
        with fact.busy:
            held = bool(fact.holds and fact.holds[-1][1] is None)
            asked = time.time_ns()
            status, _ = self.world.ask("PATCH", f"/jobs/{number}", {"hold": not held})
            if status == 200 and held:
                fact.holds[-1][1] = asked  # from the moment of asking on it may start
            elif status == 200:
                fact.holds.append([time.time_ns(), None])

    def cancel(self):
        number = self.pick()
        if not number:
            return
        fact = self.world.facts[number]
        with fact.busy:
            fact.may_be_cancelled = True
            status, _ = self.world.ask("DELETE", f"/jobs/{number}")
            fact.cancelled |= status in (200, 202)

    def requeue(self):
        number = self.pick()
        if not number:
            return
        fact = self.world.facts[number]
        with fact.busy:
            fact.requeued += 1  # if there is an answer or not: it may have been heard
            self.world.ask("PATCH", f"/jobs/{number}", {"requeue": True})

    def sweep(self):
        """An array that is held, taken apart a little, and then cancelled or let go by one request."""
        count = self.random.randint(2, 30)
        spec = self.spec(array=f"1-{count}", hold=True)
        ids = self.post(spec, [spec] * count, count)
        facts = [self.world.facts[number] for number in ids]
        with contextlib.ExitStack() as stack:
            for fact in facts:
                stack.enter_context(fact.busy)
            if self.random.random() < 0.5:
                self.world.ask("PATCH", f"/jobs/{ids[0]}?elements=1-{count}:{self.random.randint(2, 5)}", {"nice": 1})
            held, asked = [fact for fact in facts if fact.holds[-1][1] is None], time.time_ns()
            if self.random.random() < 0.5:
                for fact in facts:
                    fact.may_be_cancelled = True
                status, answer = self.world.ask("DELETE", f"/jobs/{ids[0]}?elements=all")
                for fact in held:
                    fact.never = True
            else:
                status, answer = self.world.ask("PATCH", f"/jobs/{ids[0]}?elements=all", {"hold": False})
                for fact in held:
                    fact.holds[-1][1] = asked
            if status not in (200, 202, 404, 409):  # the last two: it was heard before, and the answer got lost
                raise AssertionError(f"an array was refused: {status} {answer}")


# ---- faults ----

class Faults(threading.Thread):
    def __init__(self, world, seed, pause_s, most):
        super().__init__(daemon=True)
        self.world, self.random, self.pause_s, self.most = world, random.Random(seed), pause_s, most
        self.done = threading.Event()

    def run(self):
        try:
            while not self.world.stop.is_set() and (not self.most or sum(self.world.faults.values()) < self.most):
                time.sleep(self.random.uniform(0.2, 1.8) * self.pause_s)
                acts = [self.kill_service, self.kill_service, self.kill_supervisor, self.kill_fork_server, self.stop_service,
                        self.stop_supervisor] + [self.restart_database] * bool(self.world.database)
                act = self.random.choice(acts)
                if act():
                    self.world.faults[act.__name__] += 1
        except Exception as error:
            self.world.trouble.append(f"faults: {error!r}")
        self.done.set()
        self.world.over.wait()  # a database ends with the thread that started it

    def server(self):
        return self.random.choice(self.world.servers)

    def kill_service(self):
        server = self.server()
        server.kill()
        time.sleep(self.random.choice([0, 0, 0.3]))
        server.start()
        return True

    def processes(self):
        """Supervisors and the fork server: pid and its parent."""
        wanted, found = f"{self.world.state}/jobs".encode(), []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    line = file.read()
                if b"supervise" in line and wanted in line:
                    with open(f"/proc/{pid}/task/{pid}/children") as file:
                        found.append((int(pid), bool(file.read().strip())))
            except OSError:
                pass
        return found

    def kill_one(self, has_children):
        pids = [pid for pid, children in self.processes() if children == has_children]
        try:
            return bool(pids) and (os.kill(self.random.choice(pids), signal.SIGKILL), True)[1]
        except OSError:
            return False

    def kill_supervisor(self):
        return self.kill_one(True)

    def kill_fork_server(self):
        """Or a supervisor that has not started its job yet, or has seen it end."""
        return self.kill_one(False)

    def pause(self, pid, seconds):
        try:
            os.kill(pid, signal.SIGSTOP)
            time.sleep(seconds)
            os.kill(pid, signal.SIGCONT)
            return True
        except OSError:
            return False

    def stop_service(self):
        return self.pause(self.server().process.pid, self.random.choice([0.2, 1, 12 if len(self.world.servers) > 1 else 1]))

    def stop_supervisor(self):
        pids = [pid for pid, _ in self.processes()]
        return bool(pids) and self.pause(self.random.choice(pids), self.random.choice([0.1, 1]))

    def restart_database(self):
        self.world.database.stop(self.random.choice([signal.SIGINT, signal.SIGQUIT]))
        time.sleep(self.random.choice([0, 0.5]))
        self.world.database.start()
        return True


# ---- the judge ----

def settle(world):
    """No more faults: everything that is held is let go, and all ends."""
    for number, fact in world.facts.items():
        if fact.holds and fact.holds[-1][1] is None:
            fact.holds[-1][1] = time.time_ns()
            world.ask("PATCH", f"/jobs/{number}", {"hold": False})
    deadline = time.time() + SETTLE_S
    while True:
        status, queue = world.ask("GET", "/queue?limit=100")
        left = [job for job in queue["jobs"] if job["state"] not in ("completed", "failed", "cancelled")]
        if not left:
            return
        if time.time() > deadline:
            world.trouble.append(f"{len(left)} jobs or more do not end; the first: {json.dumps(left[0])[:400]}")
            return
        for job in left:  # who held it again after that, or froze it
            if job["reason"] == "held":
                world.ask("PATCH", f"/jobs/{job['id']}", {"hold": False})
        time.sleep(0.2)


def history(world):
    jobs, after = {}, 0
    while True:
        status, page = world.ask("GET", f"/jobs?limit=1000&after={after}")
        for job in page["jobs"]:
            jobs[job["id"]] = job
        if not page.get("next"):
            return jobs
        after = page["next"]


def record(world):
    """What the jobs wrote: starts and ends of each, as (attempt, ns)."""
    starts, ends, overlaps = collections.defaultdict(list), collections.defaultdict(list), []
    with open(os.path.join(world.dir, "ran")) as file:
        for line in file:
            number, what, attempt, at = line.split()
            {"start": starts, "end": ends}.get(what, collections.defaultdict(list))[int(number)].append((int(attempt), int(at)))
            if what == "overlap":
                overlaps.append(int(number))
    return starts, ends, overlaps


def judge(world):
    """Findings: sentences about jobs that are not as they were acknowledged."""
    jobs, (starts, ends, overlaps) = history(world), record(world)
    findings = list(world.trouble) + [f"two runs of job {number} at the same time" for number in overlaps]
    known = set(jobs)
    findings += [f"job {number} was acknowledged and is lost" for number in set(world.facts) - known]
    findings += [f"job {number} is there, but nobody was told" for number in known - set(world.facts)]
    for number in set(world.facts) & known:
        findings += [f"job {number}: {text}" for text in judge_job(world, world.facts[number], jobs[number], starts[number], ends[number], ends)]
    return findings


def judge_job(world, fact, job, starts, ends, all_ends):
    attempts = [attempt for attempt, _ in starts]
    if len(set(attempts)) != len(attempts):
        yield f"an attempt ran twice: {attempts}"
    if not fact.requeue and not fact.requeued and len(starts) > 1:
        yield f"requeue is false, and it ran {len(starts)} times"
    if job["state"] == "completed" and (fact.code or not ends):
        yield "it is completed, but its program did not end so"
    if job["state"] == "failed" and job["reason"] == "exit_code" and not fact.code and job["exit_code"] not in (None, 0):
        yield f"its program ends with 0, and its exit code is {job['exit_code']}"
    if job["state"] == "failed" and job["reason"] == "start_failed":
        yield f"it could not be started: {job['reason_text']}"
    if job["state"] == "failed" and job["reason"] == "node_failure" and fact.requeue:
        yield "it may run again, but was given up"
    if fact.cancelled and job["state"] not in ("cancelled", "completed", "failed"):
        yield f"it was cancelled, and is {job['state']}"
    if fact.never and (job["state"] != "cancelled" or starts):
        yield f"it was cancelled while it was held, and is {job['state']}: {starts}"
    if not fact.may_be_cancelled and job["state"] == "cancelled":
        yield f"nobody has cancelled it ({job['reason']})"
    if job["started_at"] and job["ended_at"] and job["ended_at"] < job["started_at"]:
        yield "it ended before it started"
    for since, until in fact.holds:
        if any(since < at < (until or 1 << 62) - 1 for _, at in starts if since):
            yield f"it started while it was held ({since} to {until}): {starts}"
    if fact.after and starts and all_ends[fact.after] and not world.facts[fact.after].requeued and world.facts[fact.after].requeue is False:
        if min(at for _, at in starts) < min(at for _, at in all_ends[fact.after]):
            yield f"it started before job {fact.after}, which it waits for, had ended"


def play(store, seed, seconds=0, jobs=0, faults=0, clients=4, pause_s=1.0):
    """Until the time is over, or so many jobs were acknowledged and faults done. Findings, and the world for its figures."""
    world = World(store)
    try:
        people = [Client(world, seed * 1000 + i, jobs // clients + 1 if jobs else 0) for i in range(clients)]
        trouble_maker = Faults(world, seed * 1000 + 999, pause_s, faults)
        for thread in [*people, trouble_maker]:
            thread.start()
        if seconds:
            time.sleep(seconds)
            world.stop.set()
        for thread in people:
            thread.join()
        if not seconds:
            trouble_maker.done.wait()
        world.stop.set()
        trouble_maker.done.wait()
        try:
            settle(world)
            findings = judge(world)
        except Exception as error:
            findings = [*world.trouble, repr(error)]
        print(f"# {store}, seed {seed}: {len(world.facts)} jobs acknowledged in {world.groups} submissions, {sum(world.faults.values())} faults "
              f"({', '.join(f'{count} {name}' for name, count in sorted(world.faults.items()))}), {len(findings)} findings", flush=True)
        for finding in findings[:20]:
            print(f"# {finding}", flush=True)
        if findings:
            for line in world.said().splitlines()[-10:]:
                print(f"# service: {line}", flush=True)
        return findings
    finally:
        world.close()
        world.over.set()
