#!/usr/bin/env python3
"""The process of a study has no rights, and no more time and memory than it may have."""
import json
import os
import pwd
import signal
import subprocess
import time

from service import NOBODY, STRATA, Connection, Skip, equal, run

SANITIZED = "address" in os.path.basename(os.path.dirname(STRATA))  # which has no limit on memory
FULL = os.path.join(os.path.dirname(STRATA), "strata-full")


def onnx_bomb(count):
    """A graph of so many operators, a few bytes each."""
    def field(number, payload):
        def varint(value):
            out = b""
            while value > 127:
                out, value = out + bytes([value & 127 | 128]), value >> 7
            return out + bytes([value])
        return varint(number << 3 | 2) + varint(len(payload)) + payload
    node = field(1, b"a") + field(2, b"a") + field(4, b"Add")
    return b"\x08\x08" + field(7, field(1, node) * count)


def ask(service, body):
    status, study = service.ask("POST", "/api/v1/plans?name=bomb.onnx", body)
    equal(status, 202)
    return study


def finish(service, study, patience=120):
    deadline = time.time() + patience
    while (now := service.api("GET", f"/studies/{study['id']}"))["state"] in ("waiting", "running"):
        assert time.time() < deadline, now
        time.sleep(0.1)
    return now


def it_gives_up_its_rights(service):
    if os.geteuid() != 0:
        raise Skip("it takes root to give rights up")
    nobody = pwd.getpwnam(NOBODY)
    program = subprocess.Popen([FULL, "study", str(nobody.pw_uid), str(nobody.pw_gid), "sim", "cluster", "-", "--procs", "4", "--config", "/dev/null"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    try:
        deadline = time.time() + 30
        while True:
            with open(f"/proc/{program.pid}/status") as file:
                status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
            if status["Uid"].split()[1] != "0" and status["NoNewPrivs"] == "1":
                break
            assert time.time() < deadline, status
            time.sleep(0.01)
        time.sleep(0.2)
        with open(f"/proc/{program.pid}/status") as file:
            status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
        equal((set(status["Uid"].split()), set(status["Gid"].split()), status["Groups"].strip()), ({str(nobody.pw_uid)}, {str(nobody.pw_gid)}, ""))
        equal((int(status["CapEff"], 16), int(status["CapPrm"], 16)), (0, 0))
        with open(f"/proc/{program.pid}/limits") as file:
            limits = {line[:26].strip(): line[26:].split()[1] for line in file}
        equal([limits[name] for name in ("Max cpu time", "Max file size", "Max core file size", "Max open files")], ["60", "0", "0", "64"])
        if not SANITIZED:
            equal((limits["Max processes"], limits["Max address space"]), ("0", str(1 << 30)))
        equal(os.readlink(f"/proc/{program.pid}/cwd"), "/")
    finally:
        program.kill()
        program.wait()


def a_bomb_hits_its_own_process_only(service):
    if SANITIZED:
        raise Skip("memory has no limit with sanitizers")
    study = ask(service, onnx_bomb(2_000_000))  # 20 MB, two million operators
    began = time.time()
    service.api("GET", "/queue?limit=1")
    assert time.time() - began < 20, "the service waits for it"
    found = finish(service, study)
    assert found["state"] == "failed" and found["error"], found
    equal(service.ask("GET", "/healthz")[0], 200)
    service.wait(service.submit("true")["id"], "completed")


def files_are_limited(service):
    most = 64 << 20
    connection = Connection(service.socket)
    connection.putrequest("POST", "/api/v1/plans")
    connection.putheader("Content-Length", str(most + 1))
    connection.endheaders()  # it is refused before the file is sent
    answer = connection.getresponse()
    equal((answer.status, json.loads(answer.read())["error"]["code"]), (413, "too_large"))
    connection.close()
    study = service.ask("POST", "/api/v1/plans", b"\x00" * most)[1]
    equal(finish(service, study)["state"], "failed")


def one_that_runs_is_stopped(service):
    study = ask(service, onnx_bomb(300_000))
    service.api("DELETE", f"/studies/{study['id']}")
    deadline = time.time() + 30
    while True:
        status, now = service.ask("GET", f"/api/v1/studies/{study['id']}")
        if status == 404 or now["state"] in ("cancelled", "failed", "done"):
            break
        assert time.time() < deadline, now
        time.sleep(0.05)
    service.kill(signal.SIGTERM)  # with nothing left behind


def the_service_ends_while_one_runs(service):
    ask(service, onnx_bomb(300_000))
    began = time.time()
    service.kill(signal.SIGTERM)
    assert time.time() - began < 20
    service.start()
    equal(service.api("GET", "/studies")["studies"], [])


def so_many_wait_and_no_more(service):
    if os.geteuid() != 0:
        raise Skip("it takes root to be many")
    users = [user.pw_name for user in pwd.getpwall() if user.pw_uid][:9]
    if len(users) < 9:
        raise Skip("there are not nine users")
    tokens = [service.api("POST", "/tokens", {"user": user, "role": "user"}, 201)["token"] for user in users]
    bomb, got = onnx_bomb(2_000_000), []
    got.append(service.ask("POST", "/api/v1/plans", bomb, token=tokens[0])[0])  # keeps the process busy
    for token in tokens[1:]:
        got.append(service.ask("POST", "/api/v1/plans", b"\x08", token=token)[0])
    equal(got, [202] * 8 + [503])
    equal(service.ask("POST", "/api/v1/plans", b"\x08", token=tokens[1])[0], 409)  # his waits still


def an_answer_has_an_end(service):
    def graph(count):
        return json.dumps({"ops": [{"name": f"op-{i}-" + "x" * 90, "kind": "k" * 30, "flops": 5} for i in range(count)], "edges": []}).encode()
    small, large = (finish(service, ask(service, graph(count))) for count in (1000, 40000))
    equal((small["state"], small["error"]), ("done", None))
    equal((large["state"], large["error"]), ("failed", f"its answer has more than {4 << 20} bytes"))


run(so_many_wait_and_no_more, an_answer_has_an_end, it_gives_up_its_rights, a_bomb_hits_its_own_process_only, files_are_limited, one_that_runs_is_stopped, the_service_ends_while_one_runs)
