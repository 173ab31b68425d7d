"""A service of one's own for tests: started in a temporary directory, asked over its socket, killed at will; and TAP."""

import contextlib
import http.client
import json
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
import unicodedata

import encodings.idna  # which a connection looks for, when it may be too late

STRATA = os.path.join(os.environ.get("STRATA_BUILD", "build"), "strata")
NODES = "n:count=3:cpus=8:memory=32G:gpus=4:gpu_type=a100"
NOBODY = "nobody"
PATIENCE_S = 60  # sanitizers and a busy machine included
COMPLAINT = re.compile(r"(ERROR|WARNING|SUMMARY): \w+Sanitizer|runtime error:")


TURNS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}  # bidirectional classes that change the order of others


def printable(text):
    """Nothing in it moves a cursor, breaks a line or turns the direction. str.isprintable() is stricter: it also refuses code points that
    Unicode has not given away yet, private ones and wide blanks, which harm nobody."""
    return not any(unicodedata.category(one) in ("Cc", "Cs", "Zl", "Zp") or unicodedata.bidirectional(one) in TURNS
                   or one in "\u061c\u200e\u200f" for one in text)


class Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=PATIENCE_S)
        self.path = path

    def connect(self):
        deadline = time.time() + PATIENCE_S
        while True:
            self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.sock.settimeout(PATIENCE_S)
            try:
                return self.sock.connect(self.path)
            except BlockingIOError:  # many wait to be let in; a plain connect() would wait with them
                self.sock.close()
                if time.time() > deadline:
                    raise
                time.sleep(0.01)


def kill_all(words):
    """Every process with these words in its command line or environment: supervisors and what they run."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as line, open(f"/proc/{pid}/environ", "rb") as variables:
                if words.encode() in line.read() + variables.read() and int(pid) != os.getpid():
                    os.kill(int(pid), signal.SIGKILL)
        except OSError:
            pass  # it has ended, or is not ours


class Service:
    def __init__(self, *args, nodes=NODES, store=None, state=None, preexec=None):
        self.preexec = preexec
        self.dir = tempfile.mkdtemp(prefix="strata-test-")
        os.chmod(self.dir, 0o755)
        self.state = state or os.path.join(self.dir, "state")
        self.socket = os.path.join(self.dir, "sock")
        self.args = (["--node", nodes] if nodes else []) + [*args] + (["--store", store] if store else [])
        self.process = None
        self.start()

    def start(self, env=None):
        self.log = open(os.path.join(self.dir, "log"), "a")
        self.before = self.log.tell()  # what earlier ones said
        self.process = subprocess.Popen(
            [STRATA, "serve", "--state", self.state, "--socket", self.socket, *self.args],
            stdout=self.log, stderr=self.log, env={**os.environ, **(env or {})}, preexec_fn=self.preexec)
        deadline = time.time() + PATIENCE_S
        while time.time() < deadline:
            try:
                if self.ask("GET", "/healthz")[0] == 200:
                    return
            except (OSError, http.client.HTTPException):
                pass
            if self.process.poll() is not None:
                raise AssertionError("the service did not start: " + self.said())
            time.sleep(0.02)
        raise AssertionError("the service is not there: " + self.said())

    def said(self):
        with open(os.path.join(self.dir, "log")) as log:
            return log.read()

    def kill(self, how=signal.SIGKILL):
        self.process.send_signal(how)
        return self.process.wait(PATIENCE_S)

    def port(self):
        """Of a service that was told to --listen; it says so once it serves."""
        deadline = time.time() + PATIENCE_S
        while not (found := re.findall(r"http://127.0.0.1:(\d+)", self.said()[self.before:])):
            assert time.time() < deadline, "the service does not say where it listens"
            time.sleep(0.02)
        return int(found[-1])

    def ask_raw(self, method, path, body=None, headers=None):
        """Status and the bytes of the answer."""
        connection = Connection(self.socket)
        try:
            connection.request(method, path, json.dumps(body), headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def ask(self, method, path, body=None, headers=None, tcp=False, token=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port(), timeout=PATIENCE_S) if tcp else Connection(self.socket)
        headers = {**(headers or {}), **({"Authorization": f"Bearer {token}"} if token else {})}
        try:
            text = body if isinstance(body, (str, bytes, type(None))) else json.dumps(body)
            connection.request(method, path, text, headers)
            answer = connection.getresponse()
            data = answer.read()
            if "json" in (answer.getheader("Content-Type") or ""):
                return answer.status, json.loads(data)
            return answer.status, data.decode()
        finally:
            connection.close()

    def follow(self, path, headers=None):
        """An answer that is read as it comes: (connection, response)."""
        connection = Connection(self.socket)
        connection.request("GET", "/api/v1" + path, headers=headers or {})
        return connection, connection.getresponse()

    def api(self, method, path, body=None, status=200, **kw):
        got, answer = self.ask(method, "/api/v1" + path, body, **kw)
        if got != status:
            raise AssertionError(f"{method} {path} gave {got}, expected {status}: {answer}")
        return answer

    def submit(self, *command, status=201, **fields):
        job = {"working_dir": self.dir, "environment": {"PATH": "/usr/bin:/bin"}, **fields}
        if command:
            job["command"] = list(command)
        return self.api("POST", "/jobs", job, status)

    def job(self, job_id):
        return self.api("GET", f"/jobs/{job_id}")

    def wait(self, job_id, *states, timeout=PATIENCE_S):
        deadline = time.time() + timeout
        while True:
            job = self.job(job_id)
            if job["state"] in states:
                return job
            if time.time() > deadline:
                raise AssertionError(f"job {job_id} is {job['state']} ({job['reason']}), expected {states}")
            time.sleep(0.02)

    def output(self, name):
        with open(os.path.join(self.dir, name)) as file:
            return file.read()

    def end(self):
        """Jobs are cancelled and the service ends as it does at a stop of the machine; a sanitizer that complained on the way fails the test."""
        if self.process.poll() is None:
            try:
                for job in self.api("GET", "/queue")["jobs"]:
                    self.ask("DELETE", f"/api/v1/jobs/{job['id']}")
            except (OSError, http.client.HTTPException, AssertionError):
                pass
            self.kill(signal.SIGTERM)
        if not os.path.isdir(self.dir):
            return  # the test has closed it
        found = [line for line in self.said().splitlines() if COMPLAINT.search(line)]
        assert not found, "\n".join(found[:5]) + "\n" + self.said()[-4000:]

    def close(self):
        if self.process.poll() is None:
            self.kill(signal.SIGTERM)
        kill_all(self.state)
        shutil.rmtree(self.dir, ignore_errors=True)


def rerun(service):
    """What `strata sim rerun` finds in the record of the service."""
    done = subprocess.run([STRATA, "sim", "rerun", os.path.join(service.dir, "record"), "--json"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    assert done.stdout, done.stderr
    found = json.loads(done.stdout)
    assert (done.returncode == 0) == (found["differing"] == 0), (done.returncode, done.stderr)
    if found["differing"]:
        print(f"# {json.dumps(found['first'])}")
    return found


def next_event(response):
    """The next of a stream of server-sent events: its fields."""
    fields = {}
    while line := response.readline().decode():
        if line == "\n" and "id" in fields:
            return fields
        name, _, value = line.rstrip("\n").partition(": ")
        if name:
            fields[name] = value
    return None


def as_nobody(service, method, path, body=None, headers=None):
    """Asks as another user: status and answer."""
    entry = pwd.getpwnam(NOBODY)
    here, there = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(entry.pw_gid)
            os.setuid(entry.pw_uid)
            answer = service.ask(method, path, body, headers)
        except Exception as trouble:
            answer = [0, repr(trouble)]
        os.write(there, json.dumps(answer).encode())
        os._exit(0)
    os.close(there)
    with os.fdopen(here) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text)


class Skip(Exception):
    """The test cannot be done here; why."""


@contextlib.contextmanager
def programs_may_be_missing():
    """A program of the system that is not installed is a reason to skip; a file of the test's own that is not there is a failure."""
    try:
        yield
    except FileNotFoundError as gone:
        name = os.fsdecode(gone.filename or "")
        if name and ("/" not in name or name.startswith(("/usr/", "/bin/", "/sbin/"))) and not shutil.which(name):
            raise Skip(f"there is no {name} here") from gone
        raise


def run(*tests):
    """Runs functions that take a service; TAP on stdout."""
    run_with(lambda test: Service(*getattr(test, "arguments", [])), *tests)


def run_with(make, *tests, skip=None):
    """The same with what `make` makes of a test: something to give it, to ask what it said, and to close."""
    print(f"1..{len(tests)}")
    failed = 0
    for number, test in enumerate(tests, 1):
        service = None
        try:
            if skip:
                raise Skip(skip)
            with programs_may_be_missing():
                service = make(test)
                test(service)
            if isinstance(service, Service):
                service.end()
            print(f"ok {number} - {test.__name__}", flush=True)
        except Skip as why:
            print(f"ok {number} - {test.__name__} # SKIP {why}", flush=True)
        except Exception:  # a test may fail in any way
            failed = 1
            print(f"not ok {number} - {test.__name__}")
            for line in traceback.format_exc().splitlines()[-12:]:
                print("# " + line)
            if service:
                for line in service.said().splitlines()[-5:]:
                    print("# service: " + line)
            sys.stdout.flush()
        finally:
            if service:
                service.close()
    sys.exit(failed)


def arguments(*words):
    def decorate(test):
        test.arguments = words
        return test
    return decorate


def equal(got, want):
    assert got == want, f"got {got!r}, expected {want!r}"
