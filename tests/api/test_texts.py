#!/usr/bin/env python3
"""Texts that others see: what cannot be shown is refused where it comes in, and escaped where it is there already."""
import os
import signal
import socket
import sqlite3
import subprocess
import urllib.parse

from service import STRATA, equal, run

HIDDEN = {"\x1b[2J": "\\x1b", "a\x07": "\\a", "a\rb": "\\r", "a\nforged": "\\n", "a\tb": "\\t", "\x7f": "\\x7f", "\x9b2J": "\\u009b", "\u202e": "\\u202e",
          "\u2066a": "\\u2066", "a\u200bb": "\\u200b", "\u2028": "\\u2028", "\u2029": "\\u2029", "\ufeffa": "\\ufeff"}


def refused(service, method, path, body, field, shown):
    error = service.api(method, path, body, 400)["error"]
    assert shown in error["message"] and error["message"].isprintable(), error
    equal(error["field"], field)


def what_cannot_be_shown_is_refused(service):
    job = {"command": ["true"], "hold": True}
    for text, shown in HIDDEN.items():
        for field in ("name", "comment", "features", "working_dir", "output", "error", "input", "gpu_type", "account", "partition", "qos", "gang", "node_list",
                      "node_exclude", "array", "dependencies", "begin", "signal", "script_name", "request_key"):
            value = "/tmp/" + text if field == "working_dir" else text
            refused(service, "POST", "/jobs", {**job, field: value}, field, shown)
        refused(service, "PATCH", "/nodes/n1", {"state": "drained", "reason": text}, "reason", shown)
        refused(service, "POST", "/tokens", {"comment": text}, "comment", shown)
        refused(service, "POST", "/reservations", {"job_id": text, "gpus": 1}, "job_id", shown)
        refused(service, "PUT", "/users/ann", {"account": text}, "account", shown)
        for path in ("/users/", "/accounts/", "/qos/", "/partitions/"):
            service.api("PUT", path + urllib.parse.quote(text, safe=""), {"weight": 1}, 400)
        status, answer = service.ask("POST", "/api/v1/slurm/sbatch", {"script": "#!/bin/sh\n#SBATCH --hold\ntrue\n", "options": ["-J", text]},
                                     {"Content-Type": "application/json"})
        equal((status, answer["error"]["code"]), (400, "invalid"))
    equal(service.api("GET", "/queue")["jobs"], [])
    for name in ("größe", "日本", "a|b", "\\n", "x y"):
        equal(service.job(service.submit("true", name=name, hold=True)["id"])["name"], name)


def scripts_arguments_and_variables_may_have_anything(service):
    text = "".join(HIDDEN) + "|"
    job = service.submit(script='#!/bin/sh\n# \x1b\u202e\nprintf %s "$1" "$V" >got', arguments=[text], environment={"PATH": "/usr/bin:/bin", "V": text})["id"]
    service.wait(job, "completed")
    with open(os.path.join(service.dir, "got"), newline="") as file:
        equal(file.read(), 2 * text)
    odd = service.submit("/bin/\x1b[2J", hold=True)["id"]
    equal(service.job(odd)["name"], "command")  # which is made from the program else
    said = subprocess.run([STRATA, "show", str(odd), "--socket", service.socket], capture_output=True, text=True, check=True).stdout
    assert "\x1b" not in said and "\\x1b[2J" in said, said


def what_is_there_already_is_escaped(service):
    job = service.submit("true", name="plain", comment="note", hold=True)["id"]
    service.kill(signal.SIGTERM)
    with sqlite3.connect(os.path.join(service.state, "strata.db")) as store:  # as an earlier version took it in
        store.execute("UPDATE jobs SET job_name = ?, comment = ?, spec = replace(replace(spec, '\"plain\"', ?), '\"note\"', ?) WHERE id = ?",
                      ("a\x1b[2J\nb", "\u202e\x9b", '"a\\u001b[2J\\nb"', '"\u202e\x9b"', job))
    service.start()
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(service.socket)
        sock.sendall(f"GET /api/v1/jobs/{job} HTTP/1.0\r\nHost: x\r\n\r\n".encode())
        answer = b""
        while more := sock.recv(65536):
            answer += more
    body = answer.partition(b"\r\n\r\n")[2].decode()
    assert body.isprintable() and "\\u202e\\u009b" in body, body
    found = service.job(job)
    equal((found["name"], found["comment"]), ("a\x1b[2J\nb", "\u202e\x9b"))
    for command in (["queue"], ["show", str(job)], ["slurm", "squeue"], ["slurm", "scontrol", "show", "job", str(job)], ["events"], ["why", str(job)],
                    ["slurm", "squeue", "-h", "-o", "%i|%j|%k"]):
        said = subprocess.run([STRATA, *command], capture_output=True, text=True, env={**os.environ, "STRATA_SOCKET": service.socket}, check=True).stdout
        assert all(line.isprintable() for line in said.split("\n")), (command, said)
    service.api("PATCH", f"/jobs/{job}", {"hold": False})
    service.wait(job, "completed")


def the_log_is_lines_of_its_own(service):
    job = service.submit("sleep", "60")["id"]
    service.wait(job, "running")
    service.api("POST", f"/jobs/{job}/checkpoints", {"path": "/tmp/a\nstrata: forged"}, 400)
    service.ask("GET", "/api/v1/jobs/%0Astrata:%20forged")
    assert "\nstrata: forged" not in service.said(), service.said()
    assert all(line.isprintable() for line in service.said().split("\n")), service.said()


run(what_cannot_be_shown_is_refused, scripts_arguments_and_variables_may_have_anything, what_is_there_already_is_escaped, the_log_is_lines_of_its_own)
