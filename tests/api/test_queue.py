#!/usr/bin/env python3
"""The queue as it is listed: all of it, a part of it, and with odd texts in it."""
import os
import time

from datetime import datetime

from service import PATIENCE_S, equal, run

SHOWN = "q\"uote \\ back \u00e9 \u4e2d"
ODD = "q\"uote \\ back\ttab \u00e9 \u4e2d"


def a_job_in_the_queue_is_the_job_as_it_is_shown(service):
    job = service.submit("printf", "%s", ODD, '{"a":[1,"}"]}', name="odd", comment=SHOWN, tasks=3, nodes=2, gpus=2, nice=-5 + 10,
                         priority="low", hold=True)["id"]
    after = service.submit("true", dependencies=f"afterok:{job}", array="3-4")["ids"]
    queue = service.api("GET", "/queue")
    equal([one["id"] for one in queue["jobs"]], [job, *after])
    for one in queue["jobs"]:
        shown = service.job(one["id"])
        equal({key: value for key, value in shown.items() if key != "position"},
              {key: value for key, value in one.items() if key != "position"})
    first, second = queue["jobs"][:2]
    equal((first["comment"], first["command"]), (SHOWN, ["printf", "%s", ODD, '{"a":[1,"}"]}']))
    equal((first["tasks"], first["nodes"], first["gpus"], first["nice"], first["priority"]), (3, 2, 2, 5, "low"))
    equal((first["dependencies"], first["state"], first["reason"], first["exit_code"]), (None, "queued", "held", None))
    equal((second["dependencies"], second["array_id"], second["array_index"]), (f"afterok:{job}", after[0], 3))
    equal((second["tasks"], second["node_names"], second["gpu_ids"]), (1, [], {}))


def where_a_job_runs_is_said(service):
    job = service.submit("sleep", "60", gpus=4, nodes=2)["id"]
    service.wait(job, "running")
    one = service.api("GET", "/queue")["jobs"][0]
    equal((one["node_names"], one["gpu_ids"], one["stopping"]), (["n1", "n2"], {"n1": [0, 1], "n2": [0, 1]}, False))
    equal(one["output"], f"{service.dir}/strata-{job}.out")


def a_part_of_it_can_be_asked_for(service):
    held = service.submit("true", name="held", hold=True)["id"]
    runs = service.submit("sleep", "60", name="runs")["id"]
    service.wait(runs, "running")
    equal(service.api("GET", "/queue?fields=id,name,started_at,node_names&state=queued")["jobs"], [{"id": held, "name": "held"}])
    one, = service.api("GET", "/queue?fields=id,node_names&state=running,scheduled")["jobs"]
    equal(one, {"id": runs, "node_names": ["n1"]})
    service.api("GET", "/queue?state=run", status=400)  # a part of a word is none
    equal([job["id"] for job in service.api("GET", "/queue?limit=1")["jobs"]], [runs])
    equal(service.api("GET", "/queue?user=nobody-there")["jobs"], [])
    error = service.api("GET", "/queue?fields=id,colour", status=400)["error"]
    equal((error["field"], error["message"]), ("fields", "a job has no field colour (docs/api.md lists them)"))
    equal(service.api("GET", "/queue?limit=1")["counts"]["queued"], 1)


def some_names_can_be_asked_for(service):
    ids = {name: service.submit("sleep", "60", name=name, hold=name != "sweep-1")["id"] for name in ("sweep-1", "sweep-22", "train", "a[b")}
    service.wait(ids["sweep-1"], "running")
    asked = lambda name: [job["name"] for job in service.api("GET", f"/queue?name={name}&fields=name")["jobs"]]
    equal(asked("sweep-*"), ["sweep-1", "sweep-22"])
    equal(asked("sweep-%3F"), ["sweep-1"])
    equal(asked("train"), ["train"])
    equal(asked("a[*"), ["a[b"])
    equal(asked("*z*"), [])


def those_that_run_come_first_whatever_became_of_others(service):
    """Places are taken and given back, over a restart."""
    held = service.submit("true", hold=True)["id"]
    first, second = (service.submit("sleep", "60")["id"] for _ in range(2))
    array = service.submit("sleep", "60", array="1-40%1", gpus=1)["array_id"]
    for job in first, second, array:
        service.wait(job, "running")
    order = lambda: [job["id"] for job in service.api("GET", "/queue?collapse=1")["jobs"]]
    equal(order(), [first, second, array, held, array + 1])
    service.api("DELETE", f"/jobs/{first}", status=202)
    service.wait(first, "cancelled")
    equal(order(), [second, array, held, array + 1])
    service.kill()
    service.start()
    equal(order(), [second, array, held, array + 1])
    service.api("PATCH", f"/jobs/{second}", {"requeue": True})
    deadline = time.time() + PATIENCE_S
    while service.job(second)["attempt"] < 2:  # it may have passed all states between in one moment
        assert time.time() < deadline, service.job(second)
        time.sleep(0.02)
    service.wait(second, "running")
    equal(order(), [second, array, held, array + 1])
    service.api("DELETE", f"/jobs/{second}", status=202)
    service.wait(second, "cancelled")
    equal(order(), [array, held, array + 1])


def what_has_just_ended_can_be_listed_too(service):
    job = service.submit("sh", "-c", "exit 7", nodes=1, memory="1G")["id"]
    service.wait(job, "failed")
    equal(service.api("GET", "/queue")["jobs"], [])
    one, = service.api("GET", "/queue?ended=1")["jobs"]
    equal((one["id"], one["exit_code"], one["node_names"], one["uid"]), (job, 7, ["n1"], os.getuid()))
    equal([piece["node"] for piece in one["place"]], ["n1"])
    equal((one["request"]["nodes"], one["request"]["memory"]), (1, "1G"))
    assert not {"script", "environment"} & set(one["request"])
    service.api("GET", "/queue?ended=2", status=400)


def elements_that_nothing_tells_apart_can_be_one_row(service):
    array = service.submit("true", array="2-20:2", name="sweep", hold=True)["ids"]
    service.api("PATCH", f"/jobs/{array[0]}_6", {"nice": 7})
    rows = service.api("GET", "/queue?collapse=1")["jobs"]
    equal([(row["array_id"], row["array_index"], row.get("elements"), row.get("index_step")) for row in rows],
          [(array[0], 2, 2, 2), (array[0], 6, None, None), (array[0], 8, 7, 2)])
    equal([row["id"] for row in rows], [array[0], array[2], array[3]])
    equal(len(service.api("GET", "/queue")["jobs"]), 10)
    assert "elements" not in service.job(array[0])
    equal([row["array_index"] for row in service.api("GET", f"/jobs?array={array[0]}&limit=3")["jobs"]], [20, 18, 16])
    equal(service.api("GET", "/jobs?array=999")["jobs"], [])
    service.api("PATCH", f"/jobs/{array[0]}?elements=all", {"hold": False})
    for job in array:
        service.wait(job, "completed")
    equal(len(service.api("GET", f"/jobs?array={array[0]}&state=completed")["jobs"]), 10)


def who_holds_a_job_is_remembered(service):
    job = service.submit("true", hold=True)["id"]
    assert "held_by" not in service.job(job)["request"]
    other = service.submit("true", begin="now+1h")["id"]
    service.api("PATCH", f"/jobs/{other}", {"hold": True})
    equal(service.job(other)["request"]["held_by"], "operator")
    service.kill()
    service.start()
    equal((service.job(other)["reason"], service.job(other)["request"]["held_by"]), ("held", "operator"))
    service.api("PATCH", f"/jobs/{other}", {"hold": False})
    assert "held_by" not in service.job(other)["request"]


def many_are_listed_in_one_answer(service):
    jobs = [{"command": ["true"], "working_dir": service.dir, "hold": True, "name": f"j{i}"} for i in range(3000)]
    ids = service.api("POST", "/jobs", {"jobs": jobs}, 201)["ids"]
    queue = service.api("GET", "/queue?limit=3000")
    equal([job["id"] for job in queue["jobs"]], ids)
    equal([job["name"] for job in queue["jobs"]], [f"j{i}" for i in range(3000)])
    equal(len(service.api("GET", "/queue?limit=2999")["jobs"]), 2999)


def every_job_has_an_expected_start(service):
    """The first thousand are planned one by one; those behind them are told when all before them has been worked off."""
    service.wait(service.submit("sleep", "60", nodes=3, exclusive=True, time_limit=100)["id"], "running")
    for _ in range(2):
        service.api("POST", "/jobs", {"jobs": [{"command": ["true"], "gpus": 4, "time_limit": 60}] * 700}, 201)
    held = service.submit("true", hold=True)["id"]
    jobs = service.api("GET", "/queue?limit=5000&fields=id,state,expected_start_at")["jobs"]
    waiting = [job for job in jobs if job["state"] == "queued" and job["id"] != held]
    equal(len(waiting), 1400)
    starts = [job["expected_start_at"] for job in waiting]
    assert all(starts) and starts == sorted(starts), [job for job in waiting if not job["expected_start_at"]][:3]
    last = datetime.fromisoformat(starts[-1].rstrip("Z")) - datetime.fromisoformat(starts[0].rstrip("Z"))
    assert 1400 / 3 * 60 * 0.9 < last.total_seconds() < 1400 / 3 * 60 * 1.1, last
    assert "expected_start_at" not in next(job for job in jobs if job["id"] == held)


run(elements_that_nothing_tells_apart_can_be_one_row, every_job_has_an_expected_start, a_job_in_the_queue_is_the_job_as_it_is_shown, where_a_job_runs_is_said, a_part_of_it_can_be_asked_for, some_names_can_be_asked_for,
    those_that_run_come_first_whatever_became_of_others, what_has_just_ended_can_be_listed_too, who_holds_a_job_is_remembered, many_are_listed_in_one_answer)
