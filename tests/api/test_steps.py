#!/usr/bin/env python3
"""Steps of a job: begun and ended by their job or its owner, numbered, remembered; nothing is left running when the job has ended."""
import os
import sys
import time

from service import as_nobody, equal, run


def running(service, script="sleep 60"):
    job = service.submit("sh", "-c", script)["id"]
    service.wait(job, "running")
    return job


def steps(service, job):
    return service.api("GET", f"/jobs/{job}/steps")["steps"]


def a_step_is_numbered_and_remembered(service):
    job = running(service)
    equal(steps(service, job), [])
    begun = service.api("POST", f"/jobs/{job}/steps", {"name": "train", "command": ["train", "-x"], "tasks": 4, "nodes": ["n1", "n2"]}, 201)
    equal(begun, {"id": job, "number": 0})
    equal(service.api("POST", f"/jobs/{job}/steps", {}, 201)["number"], 1)
    first, second = steps(service, job)
    equal([first[key] for key in ("number", "name", "state", "command", "tasks", "nodes", "ended_at", "exit_code")],
          [0, "train", "running", ["train", "-x"], 4, ["n1", "n2"], None, None])
    assert first["started_at"], first
    service.api("PATCH", f"/jobs/{job}/steps/0", {"exit_code": 3}, 200)
    service.api("PATCH", f"/jobs/{job}/steps/1", {}, 200)
    first, second = steps(service, job)
    equal((first["state"], first["exit_code"], first["name"], first["tasks"]), ("failed", 3, "train", 4))
    equal((second["state"], second["exit_code"]), ("completed", 0))
    assert first["ended_at"], first
    service.api("PATCH", f"/jobs/{job}/steps/0", {"exit_code": 0}, 200)
    equal(steps(service, job)[0]["exit_code"], 3)  # the first word counts
    service.api("DELETE", f"/jobs/{job}", None, 202)


def a_step_ends_with_its_job(service):
    job = running(service)
    service.api("POST", f"/jobs/{job}/steps", {"name": "long"}, 201)
    service.api("DELETE", f"/jobs/{job}", None, 202)
    service.wait(job, "cancelled")
    (step,) = steps(service, job)
    equal(step["state"], "cancelled")
    assert step["ended_at"], step
    equal(service.ask("POST", f"/api/v1/jobs/{job}/steps", {})[0] in (404, 409), True)


def what_is_not_there_is_said(service):
    job = running(service)
    equal(service.ask("PATCH", f"/api/v1/jobs/{job}/steps/0", {})[0], 404)
    equal(service.ask("PATCH", f"/api/v1/jobs/{job}/steps/x", {})[0], 404)
    equal(service.ask("PATCH", f"/api/v1/jobs/{job}/steps/0", {"exit_code": 256})[0], 400)
    equal(service.ask("POST", f"/api/v1/jobs/{job}/steps", {"tasks": 0})[0], 400)
    equal(service.ask("GET", "/api/v1/jobs/999999/steps")[0], 404)
    held = service.submit("true", hold=True)["id"]
    equal(service.ask("POST", f"/api/v1/jobs/{held}/steps", {})[0], 409)
    service.api("DELETE", f"/jobs/{job}", None, 202)


def numbers_go_on_after_a_restart(service):
    job = running(service)
    for _ in range(3):
        service.api("POST", f"/jobs/{job}/steps", {}, 201)
    service.kill()
    service.start()
    service.wait(job, "running")
    deadline = time.time() + 30
    while time.time() < deadline:
        status, body = service.ask("POST", f"/api/v1/jobs/{job}/steps", {})
        if status == 201:
            break
        time.sleep(0.05)  # the job is not taken up again yet
    equal((status, body["number"]), (201, 3))
    service.api("DELETE", f"/jobs/{job}", None, 202)


def a_job_begins_steps_with_its_token_and_nobody_else_does(service):
    out = os.path.join(service.dir, "out")
    program = """import os, socket, sys, time
with socket.socket(socket.AF_UNIX) as sock, open(os.environ["STRATA_TOKEN_FILE"]) as token:
    sock.connect(os.environ["STRATA_SOCKET"])
    sock.sendall(f"POST /api/v1/jobs/{os.environ['STRATA_JOB_ID']}/steps HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\nContent-Length: 2\\r\\n"
                 f"Authorization: Bearer {token.read()}\\r\\n\\r\\n{{}}".encode())
    answer = b""
    while part := sock.recv(4096):
        answer += part
print(answer.decode().split("\\r\\n\\r\\n")[1], end="", flush=True)
time.sleep(60)
"""
    job = service.submit(sys.executable, "-c", program, output=out)["id"]
    deadline = time.time() + 30
    while time.time() < deadline and not (os.path.exists(out) and os.path.getsize(out)):
        time.sleep(0.05)
    with open(out) as file:
        equal(file.read(), f'{{"id":{job},"number":0}}')
    if os.getuid() == 0:
        equal(as_nobody(service, "POST", f"/api/v1/jobs/{job}/steps", {})[0], 403)
    service.api("DELETE", f"/jobs/{job}", None, 202)


def signals_reach_the_script_or_the_steps(service):
    out = os.path.join(service.dir, "signals")
    script = ("trap 'echo script' USR1; (trap 'echo other' USR1; echo on; while :; do sleep 0.05; done) & "
              "SLURM_STEP_ID=0 sh -c 'trap \"echo step\" USR1; echo on; while :; do sleep 0.05; done' & "
              "echo on; while :; do sleep 0.05; done")
    job = running_with(service, script, out, 3)

    def heard():
        return [word for word in lines(out) if word in ("script", "step", "other")]

    def sent(to, expected):
        before = len(heard())
        service.api("PATCH", f"/jobs/{job}", {"signal": "USR1", "signal_to": to})
        deadline = time.time() + 30
        while time.time() < deadline and len(heard()) < before + len(expected):
            time.sleep(0.02)
        time.sleep(0.3)  # for those who should not have got it
        equal(heard()[before:], expected)

    sent("batch", ["script"])
    sent("steps", ["step"])
    equal(service.ask("PATCH", f"/api/v1/jobs/{job}", {"signal": "NOPE"})[0], 400)
    equal(service.ask("PATCH", f"/api/v1/jobs/{job}", {"signal": "USR1@5"})[0], 400)
    held = service.submit("true", hold=True)["id"]
    equal(service.ask("PATCH", f"/api/v1/jobs/{held}", {"signal": "USR1"})[0], 409)
    service.api("DELETE", f"/jobs/{job}", None, 202)


def lines(path):
    try:
        with open(path) as file:
            return file.read().split()
    except FileNotFoundError:
        return []


def running_with(service, script, out, count):
    job = service.submit("bash", "-c", script, output=out)["id"]
    deadline = time.time() + 30
    while time.time() < deadline and len(lines(out)) < count:
        time.sleep(0.02)
    return job


def a_signal_comes_before_the_time_limit(service):
    out = os.path.join(service.dir, "warned")
    service.submit("bash", "-c", "trap 'echo warned; exit 0' USR1; while :; do sleep 0.05; done", output=out, time_limit=60, signal="B:USR1@59")
    deadline = time.time() + 30
    while time.time() < deadline and lines(out) != ["warned"]:
        time.sleep(0.05)
    equal(lines(out), ["warned"])
    equal(service.ask("POST", "/api/v1/jobs", {"command": ["true"], "signal": "B:NOPE"})[1]["error"]["field"], "signal")


run(a_step_is_numbered_and_remembered, a_step_ends_with_its_job, what_is_not_there_is_said, numbers_go_on_after_a_restart,
    a_job_begins_steps_with_its_token_and_nobody_else_does, signals_reach_the_script_or_the_steps, a_signal_comes_before_the_time_limit)
