"""Chaos for generation: people who ask for pictures, cancel some and change their minds, workers that compute, hang, give back and get lost, and
faults that strike while they work. In the end a judge compares what was acknowledged with what the service has.

Two models: `digits` is drawn by real workers (`strata worker`); for `paced` the service starts a program that does nothing, and threads here speak the
protocol with its token. Those know what they were given, so that a task in two live leases gives itself away, and so do latents of another task.
"""
import collections
import http.client
import os
import random
import signal
import subprocess
import tempfile
import threading
import time

import chaos
import postgres
from fake_worker import png, raw
from service import STRATA, Connection, Service, json

LEASE_S = 2
SETTLE_S = 240
NODES = "n:count=2:cpus=4:memory=16G"
WORKER = """#!/bin/sh
[ "$3" = paced ] && exec sleep 600
exec "%s" "$@" 2>>"$(dirname "$0")/said"
"""
# what `digits` is asked for: few, because each is drawn once without a service, to compare
WISHES = [{"prompt": f"a {name}", "steps": steps, "seed": seed, "scheduler": solver}
          for seed, (name, steps, solver) in enumerate([("seven", 40, "euler"), ("three", 25, "dpmpp_2m"), ("five", 60, "euler_ancestral"), ("nine", 15, "heun"),
                                                        ("two", 5, "lms"), ("eight", 120, "dpmpp_2m")])]


class Fact:
    """What was acknowledged of one task."""

    def __init__(self, model, fields):
        self.model, self.fields = model, fields
        self.cancelled = False        # somebody was told so
        self.may_be_cancelled = False  # somebody asked; the answer may have got lost
        self.priority = fields["priority"]  # None: it is being changed
        self.busy = threading.Lock()


class World(chaos.World):
    def __init__(self, store, real):
        self.database = postgres.Postgres() if store != "sqlite" else None
        self.programs = tempfile.TemporaryDirectory(prefix="strata-worker-")
        os.chmod(self.programs.name, 0o755)
        program = os.path.join(self.programs.name, "worker")
        with open(program, "w") as file:
            file.write(WORKER % os.path.abspath(STRATA))
        os.chmod(program, 0o755)
        open(os.path.join(self.programs.name, "said"), "w").close()
        os.chmod(os.path.join(self.programs.name, "said"), 0o666)
        self.service = Service("--worker-program", program, "--worker-lease", f"{LEASE_S}s", "--worker-save", "0", "--pool-preempt", "--grace", "2s",
                               nodes=NODES, store=self.database.address() if self.database else None)
        self.servers, self.dir, self.state = [self.service], self.service.dir, self.service.state
        self.models = ["paced"] + ["digits"] * real
        self.facts, self.lock = {}, threading.Lock()
        self.stop, self.over = threading.Event(), threading.Event()
        self.trouble, self.faults, self.acts = [], collections.Counter(), collections.Counter()
        self.leases, self.calm = {}, 0  # task: (worker, until); when leases may be judged again
        self.tokens = set()
        self.ask("PUT", "/models/paced", {"folder": self.dir, "workers_min": 2, "workers_max": 3, "batch": 3, "cpus": 1, "memory": "64M"})
        self.ask("PUT", "/models/digits", {"workers_min": 2 * real, "workers_max": 2, "batch": 4, "cpus": 1})

    def find(self, text):
        with self.lock:
            if len(self.trouble) < 100:
                self.trouble.append(text)

    # -- leases, as far as a worker can be sure that it has one

    def unsure(self, seconds=0.0):
        """Leases end for a reason that workers do not know of."""
        with self.lock:
            self.leases.clear()
            self.calm = max(self.calm, time.monotonic() + seconds)

    def let_go(self, worker, ids):
        with self.lock:
            for task in ids:
                if self.leases.get(task, (None, 0))[0] is worker:
                    del self.leases[task]

    def got(self, worker, ids, sent):
        now = time.monotonic()
        with self.lock:
            for task in ids:
                other, until = self.leases.get(task, (worker, 0))
                if other is not worker and until > now > self.calm:
                    self.trouble.append(f"task {task} is in two live leases: {other.name} has it for {until - now:.3f} s more, {worker.name} got it")
                if sent > self.calm:
                    self.leases[task] = (worker, sent + LEASE_S)

    def said(self):
        with open(os.path.join(self.programs.name, "said")) as file:
            return super().said() + "".join("worker: " + line for line in file.readlines()[-10:])

    def close(self):
        super().close()
        self.programs.cleanup()


# ---- workers ----

class Lost(Exception):
    """This is a worker's token no more."""


class Paced(threading.Thread):
    """Computes nothing, in some time. What a task has done is its latents: number and steps."""

    def __init__(self, world, seed):
        super().__init__(daemon=True, name=f"worker {seed}")
        self.world, self.random = world, random.Random(seed)

    def run(self):
        while not self.world.over.is_set():
            path = None
            try:
                path = self.find_token()
                if path:
                    self.serve()
            except Lost:
                pass
            except Exception as error:  # any is a finding
                self.world.find(f"{self.name}: {error!r}")
                return
            finally:
                with self.world.lock:
                    self.world.tokens.discard(path)
            time.sleep(0.05)

    def find_token(self):
        try:
            jobs = self.world.service.api("GET", "/queue")["jobs"]
        except (OSError, http.client.HTTPException, AssertionError):
            return None
        for job in jobs:
            path = os.path.join(self.world.state, "jobs", f"{job['id']}.{job['attempt']}.token")
            with self.world.lock:
                if job["name"] != "worker-paced" or job["state"] != "running" or path in self.world.tokens or not os.path.exists(path):
                    continue
                self.world.tokens.add(path)
            with open(path) as file:
                self.token = file.read().strip()
            return path
        return None

    def ask(self, method, path, body=None, good=(200, 201, 204)):
        """Until there is an answer; how it was sent last."""
        while not self.world.over.is_set():
            sent = time.monotonic()
            try:
                connection = Connection(self.world.service.socket)
                connection.timeout = 20
                try:
                    text = body if isinstance(body, (bytes, type(None))) else json.dumps(body)
                    connection.request(method, "/api/v1/worker" + path, text, {"Authorization": f"Bearer {self.token}"})
                    answer = connection.getresponse()
                    status, data = answer.status, answer.read()
                finally:
                    connection.close()
                if status in (401, 403):
                    raise Lost
                if status < 500 and status not in (307, 421, 429):
                    if status not in good:
                        raise AssertionError(f"{method} {path}: {status} {data[:300]!r}")
                    return status, data, sent
            except (OSError, http.client.HTTPException):
                pass
            time.sleep(0.05)
        raise Lost

    def serve(self):
        held = {}  # task: steps done
        while True:
            self.world.let_go(self, held)
            _, data, sent = self.ask("POST", "/pick", {"wait_ms": 300, "holding": list(held), "holding_steps": list(held.values())})
            answer = json.loads(data)
            tasks = {task["id"]: task for task in answer["tasks"]}
            self.world.got(self, tasks, sent)
            for task in set(held) - set(tasks):
                self.save(task, held.pop(task))  # it may have given way
            if answer["stop"]:
                raise Lost
            for task in set(tasks) - set(held):
                held[task] = self.restore(task) if tasks[task]["latents"] else 0
            if tasks and not self.round(held, tasks, answer["steps"]):
                held = {}

    def save(self, task, steps):
        if steps:
            self.ask("PUT", f"/tasks/{task}/latents?steps={steps}", f"{task} {steps}".encode(), (204, 404))

    def restore(self, task):
        status, data, _ = self.ask("GET", f"/tasks/{task}/latents", None, (200, 404))
        if status == 404:
            return 0
        whose, steps = map(int, data.split())
        if whose != task:
            self.world.find(f"task {task} got the latents of task {whose}")
        return steps

    def compute(self, held):
        """False: for so long that the lease is over."""
        mood = self.random.random()
        if mood < 0.02:
            self.world.acts["hang"] += 1
            time.sleep(LEASE_S + 0.5)
            return False
        if mood < 0.05:
            self.world.acts["long call"] += 1
            for _ in range(6):
                time.sleep(LEASE_S / 4)
                _, _, sent = self.ask("POST", "/beat", {"holding": list(held), "holding_steps": list(held.values())})
                with self.world.lock:
                    for task in held:
                        if self.world.leases.get(task, (None, 0))[0] is self:
                            self.world.leases[task] = (self, max(sent + LEASE_S, self.world.leases[task][1]))
        time.sleep(self.random.uniform(0, 0.02))
        return True

    def row(self, task, steps, wanted):
        seed = self.world_seed(wanted)
        row = {"id": task, "kind": "steps", "steps": steps, "cost_ns": 1000000 * steps + 1}
        if steps + wanted["done"] >= wanted["parameters"]["steps"]:
            _, data, _ = self.ask("PUT", "/image", picture(seed))
            row.update(kind="finished", images=[json.loads(data)["hash"]], width=2, height=2)
        elif self.random.random() < 0.05:
            row.update(kind="back")
        return row

    @staticmethod
    def world_seed(wanted):
        return wanted["parameters"]["seed"]

    def round(self, held, tasks, steps):
        self.compute(held)
        rows = []
        for task, wanted in tasks.items():
            more = min(steps, wanted["parameters"]["steps"] - held[task])
            rows.append(self.row(task, more, {**wanted, "done": held[task]}))
            held[task] += more
            if rows[-1]["kind"] == "back" or self.random.random() < 0.3:
                self.save(task, held[task])
        self.world.let_go(self, [row["id"] for row in rows if row["kind"] != "steps"])
        status, _, sent = self.ask("POST", "/done", {"rows": rows}, (200, 409))
        if status == 409:
            return False
        for row in rows:
            if row["kind"] != "steps":
                del held[row["id"]]
        return True


def picture(seed):
    return png(seed % 256, 2 + seed // 256 % 8, 2)


# ---- people ----

class Client(threading.Thread):
    def __init__(self, world, seed, quota):
        super().__init__(daemon=True, name=f"client {seed}")
        self.world, self.random, self.quota, self.count = world, random.Random(seed), quota, 0

    def run(self):
        try:
            while not self.world.stop.is_set() and (not self.quota or self.count < self.quota):
                act = self.random.choices([self.generate, self.cancel, self.change, self.look], [6, 1, 1, 2])[0]
                act()
                self.world.acts[act.__name__] += 1
                time.sleep(self.random.uniform(0, 0.15))
        except Exception as error:
            self.world.find(f"{self.name}: {error!r}")

    def generate(self):
        model = self.random.choice(self.world.models)
        if model == "digits":
            fields = dict(self.random.choice(WISHES))
        else:
            fields = {"prompt": "x", "steps": self.random.choice([1, 4, 20, 50]), "seed": self.random.randrange(2048)}
        fields.update(model=model, priority=self.random.randint(0, 9))
        status, answer = self.world.ask("POST", "/generate", fields, f"{self.name}-{self.random.getrandbits(64):x}")
        if status not in (200, 201):
            raise AssertionError(f"a request was refused: {status} {answer}")
        with self.world.lock:
            if answer["id"] in self.world.facts:
                self.world.trouble.append(f"task {answer['id']} was given to two")
            self.world.facts[answer["id"]] = Fact(model, fields)
        self.count += 1

    def pick(self):
        with self.world.lock:
            return self.random.choice(list(self.world.facts)[-60:]) if self.world.facts else None

    def cancel(self):
        number = self.pick()
        if not number:
            return
        fact = self.world.facts[number]
        with fact.busy:
            fact.may_be_cancelled = True
            status, _ = self.world.ask("DELETE", f"/tasks/{number}")
            fact.cancelled |= status < 300

    def change(self):
        number = self.pick()
        if not number:
            return
        fact, priority = self.world.facts[number], self.random.randint(0, 9)
        with fact.busy:
            fact.priority = None
            status, _ = self.world.ask("PATCH", f"/tasks/{number}", {"priority": priority})
            fact.priority = priority if status == 200 else None

    def look(self):
        number = self.pick()
        status, answer = self.world.ask("GET", f"/tasks/{number}") if number else (200, None)
        if status != 200:
            raise AssertionError(f"task {number} was acknowledged and is not there: {status} {answer}")


# ---- faults ----

class Faults(chaos.Faults):
    def run(self):
        try:
            while not self.world.stop.is_set() and (not self.most or sum(self.world.faults.values()) < self.most):
                time.sleep(self.random.uniform(0.2, 1.8) * self.pause_s)
                acts = [self.kill_service, self.kill_service, self.kill_worker, self.end_worker, self.stop_worker, self.stop_service, self.preempt]
                acts += [self.restart_database, self.cut_connections] * bool(self.world.database)
                act = self.random.choice(acts)
                if act():
                    self.world.faults[act.__name__] += 1
        except Exception as error:
            self.world.find(f"faults: {error!r}")
        self.done.set()
        self.world.over.wait()  # a database ends with the thread that started it

    def kill_service(self):
        self.world.service.kill()
        self.world.unsure()
        time.sleep(self.random.choice([0, 0, 0.3, LEASE_S + 1]))
        self.world.unsure()
        self.world.service.start()
        return True

    def workers(self):
        """Processes of workers, real ones and the others' programs."""
        found, own = [], f"STRATA_SOCKET={self.world.service.socket}\0".encode()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as line, open(f"/proc/{pid}/environ", "rb") as variables:
                    words = line.read().split(b"\0")
                    if (b"worker" in words or words[:2] == [b"sleep", b"600"]) and own in variables.read():
                        found.append(int(pid))
            except OSError:
                pass  # it has ended
        return found

    def hit(self, how):
        pids = self.workers()
        if not pids:
            return False
        self.world.unsure(3.0)  # its lease ends with its job, which is noticed a little later
        try:
            os.kill(self.random.choice(pids), how)
        except OSError:
            return False
        return True

    def kill_worker(self):
        return self.hit(signal.SIGKILL)

    def end_worker(self):
        return self.hit(signal.SIGTERM)

    def stop_worker(self):
        pids = self.workers()
        return bool(pids) and self.pause(self.random.choice(pids), self.random.choice([0.2, LEASE_S + 1]))

    def preempt(self):
        """A job of a higher band takes the machines for a moment."""
        self.world.unsure(30.0)
        status, answer = self.world.ask("POST", "/jobs", {"command": ["sleep", "0.5"], "working_dir": self.world.dir, "output": "/dev/null",
                                                          "cpus_per_task": 4, "priority": "high"}, f"preempt-{self.random.getrandbits(64):x}")
        if status not in (200, 201):
            raise AssertionError(f"a job was refused: {status} {answer}")
        deadline = time.time() + 60
        while time.time() < deadline and self.world.ask("GET", f"/jobs/{answer['id']}")[1]["state"] not in ("completed", "failed"):
            time.sleep(0.1)
        with self.world.lock:
            self.world.calm = time.monotonic() + 3.0
        return True

    def restart_database(self):
        self.world.unsure(60.0)
        super().restart_database()
        return self.lead_again()

    def lead_again(self):
        """Who loses its store begins to lead anew, and knows of no leases."""
        self.world.ask("GET", "/queue?limit=1")
        with self.world.lock:
            self.world.calm = time.monotonic() + 3.0
        return True

    def cut_connections(self):
        self.world.unsure(60.0)
        self.world.database.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND usename = 'strata'")
        return self.lead_again()


# ---- the judge ----

def settle(world):
    deadline = time.time() + SETTLE_S
    while True:
        _, answer = world.ask("GET", "/tasks?status=pending,encoding,denoising,decoding&limit=100")
        if not answer["tasks"]:
            return
        if time.time() > deadline:
            world.find(f"{len(answer['tasks'])} tasks or more do not end; the first: {json.dumps(answer['tasks'][0])[:600]}")
            return
        time.sleep(0.2)


def drawn(wish):
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "want.png")
        subprocess.run([STRATA, "engine", "image", "digits", wish["prompt"], "-o", path, "--experience", "none", "--steps", str(wish["steps"]),
                        "--seed", str(wish["seed"]), "--solver", wish["scheduler"]], check=True, stderr=subprocess.DEVNULL)
        with open(path, "rb") as file:
            return file.read()


def ends_told(world):
    """By events, which are durable: how often each task was said to have ended."""
    told, after = collections.defaultdict(list), 0
    while True:
        _, page = world.ask("GET", f"/events?format=json&after={after}&limit=1000")
        if not page["events"]:
            return told
        for event in page["events"]:
            after = event["sequence"]
            if event["kind"] == "task" and event["about"]["status"] in ("finished", "failed", "cancelled"):
                told[event["about"]["id"]].append(event["about"]["status"])


def judge(world):
    findings, told = list(world.trouble), ends_told(world)
    undisturbed = {wish["seed"]: drawn(wish) for wish in WISHES} if "digits" in world.models else {}
    for number, fact in world.facts.items():
        findings += [f"task {number} ({fact.model}, {fact.fields['steps']} steps): {trouble}"
                     for trouble in judge_task(world, number, fact, told[number], undisturbed)]
    left = os.listdir(os.path.join(world.state, "latents"))
    if left:
        findings.append(f"latents are left behind: {left}")
    return findings


def judge_task(world, number, fact, told, undisturbed):
    status, task = world.ask("GET", f"/tasks/{number}")
    if status != 200:
        yield f"it is lost: {status}"
        return
    if task["status"] not in ("finished", "cancelled"):
        yield f"it is {task['status']}: {task['error']}"
    if told != [task["status"]]:
        yield f"it is {task['status']} and was said to be {told}"
    if fact.cancelled and task["status"] != "cancelled":
        yield f"it is {task['status']} and was cancelled"
    if task["status"] == "cancelled" and not fact.may_be_cancelled:
        yield "nobody has cancelled it"
    if fact.priority is not None and task["priority"] != fact.priority:
        yield f"its priority is {task['priority']}, {fact.priority} was acknowledged"
    if task["status"] != "finished":
        return
    if (task["steps_done"], len(task["images"])) != (fact.fields["steps"], 1):
        yield f"it has done {task['steps_done']} steps and has {len(task['images'])} pictures"
    code, _, data = raw(world.service, f"/tasks/{number}/image")
    seed = fact.fields["seed"]
    if code != 200:
        yield f"its picture cannot be read: {code}"
    elif data != (undisturbed[seed] if fact.model == "digits" else picture(seed)):
        yield "its picture is another than in a run without faults"


def play(store, seed, seconds=0, tasks=0, faults=0, clients=3, pause_s=1.0, real=True):
    """Until the time is over, or so many tasks were acknowledged and faults done. Findings."""
    world = World(store, real)
    try:
        workers = [Paced(world, seed * 1000 + 500 + i) for i in range(3)]
        people = [Client(world, seed * 1000 + i, tasks // clients + 1 if tasks else 0) for i in range(clients)]
        trouble_maker = Faults(world, seed * 1000 + 999, pause_s, faults)
        for thread in [*workers, *people, trouble_maker]:
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
        kinds = collections.Counter(fact.model for fact in world.facts.values())
        print(f"# {store}, seed {seed}: {len(world.facts)} tasks acknowledged ({', '.join(f'{count} {name}' for name, count in sorted(kinds.items()))}), "
              f"{sum(world.faults.values())} faults ({', '.join(f'{count} {name}' for name, count in sorted(world.faults.items()))}), "
              f"{', '.join(f'{count} {name}' for name, count in sorted(world.acts.items()))}, {len(findings)} findings", flush=True)
        for finding in findings[:20]:
            print(f"# {finding}", flush=True)
        if findings:
            for line in world.said().splitlines()[-20:]:
                print(f"# service: {line}", flush=True)
        return findings
    finally:
        world.over.set()
        world.close()
