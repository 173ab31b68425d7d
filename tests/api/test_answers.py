#!/usr/bin/env python3
"""What the service answers, whole: one small lab, every list and every single thing of it, compared field by field with tests/data/answers.json. Defaults of
settings that nobody gave are fields too. What differs from run to run (times, keys, this machine) is a word in its place.

    STRATA_BUILD=build tests/api/test_answers.py --fill      writes what is answered now; look at the difference
"""
import json
import os
import re
import sys

from service import equal, run

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "answers.json")
SETTINGS = [
    ("/accounts/lab", {}),
    ("/accounts/ateam", {"parent": "lab", "weight": 3, "limits": {"jobs": 5, "waiting": 60, "gpus": 6, "gpu_hours": 7}}),
    ("/users/ann", {"account": "ateam", "limits": {"jobs": 4}}),
    ("/users/ben", {"weight": 2}),
    ("/partitions/gpu", {"default": True, "time_limit": 3600, "time_limit_max": 7200, "priority": 2}),
    ("/partitions/slow", {}),
    ("/qos/high", {"priority": 9}),
    ("/qos/plain", {}),
]
GETS = ["/accounts", "/users", "/partitions", "/qos", "/nodes", "/gpus", "/topology", "/models", "/models/m", "/tasks", "/tasks/1", "/webhooks",
        "/tokens", "/jobs", "/jobs/1", "/jobs/2", "/jobs/3", "/jobs/4", "/jobs/3/why", "/jobs/4/why", "/queue", "/accounting", "/accounting?by=user",
        "/jobs?state=completed", "/jobs?limit=1", "/jobs?limit=0", "/jobs?limit=many", "/nothing", "/jobs/99", "/accounts/lab",
        "/jobs?limit=1&limit=2", "/jobs?limit", "/jobs?nope=1", "/jobs?state=odd", "/jobs?user=nobody", "/jobs/x", "/jobs/1?x=1", "/queue?limit=1", "/tasks?limit=0",
        "/tasks/9", "/tasks?state=odd", "/models/none", "/events?since=x", "/passes?limit=0", "/series?from=x", "/jobs/1/output?from=-1", "/jobs/2/why?x",
        "/jobs/4_4", "/jobs/4_5", "/jobs/1_1", "/jobs/-1", "/jobs/99999999999999999999"]
# What is refused: the field, the value and what is allowed are in the sentence.
REFUSED = [
    ("POST", "/jobs", body) for body in (
        {}, [], "x", {"command": []}, {"command": [""]}, {"command": ["x"], "script": "y"}, {"command": "x"}, 
        {"command": ["true"], "nodes": -1}, {"command": ["true"], "nodes": 1.5}, {"command": ["true"], "gpus_per_node": -1},
        {"command": ["true"], "gpus_per_node": 5}, {"command": ["true"], "nodes": 4}, {"command": ["true"], "memory": "much"},
        {"command": ["true"], "memory": "1T"}, {"command": ["true"], "cpus_per_task": 9}, 
        {"command": ["true"], "time_limit": "3h"}, {"command": ["true"], "time_limit": "soon"}, {"command": ["true"], "partition": "none"},
        {"command": ["true"], "qos": "none"}, {"command": ["true"], "account": "none"}, {"command": ["true"], "array": "5-1"},
        {"command": ["true"], "array": "x"}, {"command": ["true"], "array": "0-100001"}, {"command": ["true"], "dependencies": "afterok:99"},
        {"command": ["true"], "dependencies": "after"}, {"command": ["true"], "priority": "most"},
        {"command": ["true"], "environment": ["=x"]}, {"command": ["true"], "environment": {"a=b": "c"}}, {"command": ["true"], "working_dir": "here"},
        {"command": ["true"], "name": "x" * 300}, {"command": ["true"], "name": "a\nb"}, {"command": ["true"], "hold": 1}, {"command": ["true"], "nope": 1},
        {"command": ["true"], "gpu_type": "none"}, {"command": ["true"], "features": "none"}, {"command": ["true"], "comment": "x" * 5000},
        {"command": ["true"], "begin": "never"}, {"command": ["true"], "gpus_per_node": 1, "gpu_share": 2})
] + [
    ("PUT", "/accounts/" + "x" * 129, {}), ("PUT", "/accounts/a%0ab", {}), ("PUT", "/accounts/a", {"parent": "none"}), ("PUT", "/accounts/a", {"weight": -1}),
    ("PUT", "/accounts/a", {"limits": {"jobs": -1}}), ("PUT", "/accounts/a", {"limits": 1}), ("PUT", "/users/ann", {"account": "none"}),
    ("PUT", "/partitions/p", {"state": "odd"}), ("PUT", "/qos/q", {"priority": "x"}),
    ("DELETE", "/accounts/lab", None), ("DELETE", "/accounts/none", None), ("DELETE", "/jobs/99", None), ("DELETE", "/jobs/1", None), ("PATCH", "/jobs/1", {"priority": "high"}),
    ("PATCH", "/jobs/3", {"nodes": 4}), ("PATCH", "/jobs/2", {"nodes": 2}), ("PATCH", "/nodes/n9", {"state": "up"}), ("PATCH", "/nodes/n1", {"state": "odd"}),
    ("POST", "/tokens", {"role": "king"}), ("POST", "/tokens", {"expires_in": -1}),
    ("POST", "/generate", {}), ("POST", "/generate", {"prompt": "x", "model": "none"}),
    ("POST", "/generate", {"requests": []}), ("PUT", "/models/m", {"batch": 0}), ("PUT", "/models/m", {"gpus": -1}),
    ("PUT", "/models/x y", {"folder": "/m"}), ("DELETE", "/models/none", None), ("DELETE", "/tasks/9", None), ("PATCH", "/tasks/1", {"priority": "x"}), ("POST", "/queue", {}),
]
# What a job has used so far, and what depends on when it is asked: only whether there is something.
PASSING = {"memory_peak_bytes", "cpu_user_ms", "cpu_system_ms", "expected_end_at", "expected_start_at", "expected_node", "factor", "share", "gpu_hours", "cpu_hours"}


def steady(value, name="", here=None):
    if name in PASSING:
        return "SOMETHING"
    if name in ("uid", "gid"):
        return "MINE" if value == (os.getuid() if name == "uid" else os.getgid()) else value
    if isinstance(value, dict):
        return {key: steady(item, key, here) for key, item in sorted(value.items())}
    if isinstance(value, list):
        return [steady(item, name, here) for item in value]
    if isinstance(value, str):
        value = value.replace(here.dir, "DIR").replace(here.me, "ME")
        value = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME", value)
        return "KEY" if re.fullmatch(r"[0-9a-f-]{20,}", value) else value
    return round(value, 6) if isinstance(value, float) else value


def differences(got, want, path):
    if isinstance(got, dict) and isinstance(want, dict):
        for key in sorted(got.keys() | want.keys()):
            yield from differences(got.get(key, "nothing"), want.get(key, "nothing"), f"{path} {key}")
    elif isinstance(got, list) and isinstance(want, list) and len(got) == len(want):
        for number, (one, other) in enumerate(zip(got, want)):
            yield from differences(one, other, f"{path}[{number}]")
    elif got != want:
        yield f"{path}: got {got!r}, expected {want!r}"


def set_up(service):
    service.me = service.api("GET", "/session")["user"] if service.ask("GET", "/api/v1/session")[0] == 200 else "root"
    for path, body in SETTINGS:
        status, answer = service.ask("PUT", "/api/v1" + path, body)
        assert status in (200, 201), (path, answer)
    service.api("PUT", "/models/m", {"folder": "/none", "workers_max": 0}, 201)
    service.api("POST", "/generate", {"model": "m", "prompt": "a one", "steps": 4, "seed": 5}, 201)
    service.submit("true", name="first")
    service.wait(1, "completed")
    service.submit("sleep", "60", name="runs", gpus_per_node=2, memory="2G", cpus_per_task=3, time_limit="30m", partition="gpu", qos="high")
    service.wait(2, "running")
    service.submit("true", name="waits", nodes=3, gpus_per_node=4)
    service.submit("true", name="held", hold=True, array="1-7:3%2", comment="later")


def every_answer_is_what_it_was(service):
    set_up(service)
    got = {}
    for path in GETS:
        status, answer = service.ask("GET", "/api/v1" + path)
        got[path] = {"status": status, "answer": steady(answer, "", service)}
    for method, path, body in REFUSED:
        status, answer = service.ask(method, "/api/v1" + path.replace(" ", "%20"), body)
        assert status >= 400, (method, path, body, answer)
        words = f"{method} {path} {json.dumps(body)}"
        got[words if len(words) < 200 else words[:100] + f"… {len(words)}"] = {"status": status, "answer": steady(answer, "", service)}
    if "--fill" in sys.argv:
        with open(FILE, "w", encoding="utf-8") as file:
            json.dump(got, file, indent=1, ensure_ascii=False, sort_keys=True)
            file.write("\n")
    with open(FILE, encoding="utf-8") as file:
        want = json.load(file)
    equal(list(differences(got, want, "")), [])


run(every_answer_is_what_it_was)
