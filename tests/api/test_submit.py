#!/usr/bin/env python3
"""What can be submitted, and what comes of it."""
import http.client
import json
import os
import resource
import sqlite3
import threading

from service import STRATA, Connection, Skip, equal, run


def a_job_runs_and_its_end_is_known(service):
    made = service.submit("sh", "-c", "echo out; echo err >&2; exit 3")
    job = service.wait(made["id"], "failed")
    equal((job["exit_code"], job["exit_signal"], job["reason"]), (3, 0, "exit_code"))
    equal(service.output(f"strata-{made['id']}.out"), "out\nerr\n")
    equal(service.job(made["uuid"])["id"], made["id"])


def a_script_runs_as_it_is(service):
    made = service.submit(script="#!/bin/sh\necho script $SLURM_JOB_NAME\n", script_name="x/train.sh",
                          output="%x-%j.txt")
    service.wait(made["id"], "completed")
    equal(service.output(f"train.sh-{made['id']}.txt"), "script train.sh\n")


def a_script_gets_its_arguments(service):
    job = service.submit(script='#!/bin/sh\necho "$#:$1:$2"\n', arguments=["a b", ""], time_limit="unlimited")["id"]
    equal(service.wait(job, "completed")["time_limit_s"], 30 * 86400)
    equal(service.output(f"strata-{job}.out"), "2:a b:\n")


def a_time_to_begin_may_be_relative(service):
    job = service.job(service.submit("true", begin="now+1hour")["id"])
    assert job["state"] == "queued" and job["eligible_at"] > job["submitted_at"], job
    equal(service.submit("true", begin="someday", status=400)["error"]["field"], "begin")


def arrays_run_so_many_at_a_time(service):
    made = service.submit("sh", "-c", "sleep 0.3; echo $SLURM_ARRAY_TASK_ID", array="1-4%2", name="arr")
    equal(len(made["ids"]), 4)
    equal(made["array_id"], made["ids"][0])
    seen = 0
    while any(service.job(i)["state"] != "completed" for i in made["ids"]):
        counts = service.api("GET", "/queue")["counts"]  # all of one moment
        seen = max(seen, counts["running"] + counts["scheduled"])
    assert 1 <= seen <= 2, seen
    equal(service.output(f"strata-{made['array_id']}_3.out"), "3\n")


def dependencies_are_waited_for(service):
    first = service.submit("sleep", "0.5")["id"]
    bad = service.submit("false")["id"]
    after = service.submit("true", dependencies=f"afterok:{first}")["id"]
    never = service.submit("true", dependencies=f"afterok:{bad}")["id"]
    gone = service.submit("true", dependencies=f"afterok:{bad}", cancel_if_never=True)["id"]
    equal(service.job(after)["reason"], "dependency")
    service.wait(after, "completed")
    service.wait(gone, "cancelled")
    equal(service.job(never)["reason"], "dependency_never")
    equal(service.submit("true", dependencies="afterok:999", status=404)["error"]["field"], "dependencies")


def gangs_start_together(service):
    first = service.submit("sleep", "0.2", gang="g", gang_size=2, cpus_per_task=8)["id"]
    equal(service.job(first)["reason"], "gang")
    second = service.submit("sleep", "0.2", gang="g", gang_size=2, cpus_per_task=8)["id"]
    one, two = service.wait(first, "completed"), service.wait(second, "completed")
    equal(one["scheduled_at"], two["scheduled_at"])


def many_are_one_submission(service):
    jobs = [{"command": ["true"], "working_dir": service.dir, "name": f"j{i}"} for i in range(200)]
    made = service.api("POST", "/jobs", {"jobs": jobs}, 201)
    equal(len(made["ids"]), 200)
    jobs[7]["gpus"] = -1
    error = service.api("POST", "/jobs", {"jobs": jobs}, 400)["error"]
    equal(error["field"], "jobs[7].gpus")
    for job_id in made["ids"]:
        service.wait(job_id, "completed")


def the_same_key_is_the_same_submission(service):
    headers = {"Idempotency-Key": "abc"}
    body = {"command": ["true"], "working_dir": service.dir}
    first = service.api("POST", "/jobs", body, 201, headers=headers)
    equal(service.api("POST", "/jobs", body, 200, headers=headers)["id"], first["id"])
    other = service.api("POST", "/jobs", body, 201, headers={"Idempotency-Key": "abd"})
    assert other["id"] != first["id"]


def the_same_key_gets_the_same_bytes_of_arrays_and_lists_too(service):
    one = {"command": ["true"], "working_dir": service.dir, "hold": True}
    for key, body, count in (("array", {**one, "array": "1-3"}, 3), ("list", {"jobs": [one, {**one, "array": "5-6"}]}, 3), ("one", one, 1)):
        asked = [service.ask_raw("POST", "/api/v1/jobs", body, {"Idempotency-Key": key}) for _ in range(2)]
        service.kill()
        service.start()
        asked.append(service.ask_raw("POST", "/api/v1/jobs", body, {"Idempotency-Key": key}))
        equal([status for status, _ in asked], [201, 200, 200])
        equal(asked[1][1], asked[0][1])
        equal(asked[2][1], asked[0][1])
        equal(len(json.loads(asked[0][1])["ids"]), count)
    equal(len(service.api("GET", "/queue")["jobs"]), 7)
    error = service.api("POST", "/jobs", {"jobs": [one, {**one, "request_key": "k"}]}, 400)["error"]
    equal(error["field"], "jobs[1].request_key")


def a_key_is_for_one_request(service):
    body = {"command": ["true"], "working_dir": service.dir, "hold": True}
    service.api("POST", "/jobs", body, 201, headers={"Idempotency-Key": "k"})
    for other in ({**body, "name": "other"}, {"jobs": [body]}):
        error = service.api("POST", "/jobs", other, 409, headers={"Idempotency-Key": "k"})["error"]
        assert "another request" in error["message"], error
    equal(len(service.api("GET", "/queue")["jobs"]), 1)


def many_large_bodies_at_once_do_not_fill_the_memory(service):
    """512 MiB in all; small ones go on meanwhile."""
    senders = []
    for _ in range(24):
        connection = Connection(service.socket)
        connection.connect()
        connection.sock.sendall(b"POST /api/v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 62914560\r\n\r\n")
        connection.sock.settimeout(0.5)
        try:
            for _ in range(59):
                connection.sock.sendall(b" " * (1 << 20))
        except OSError:
            pass  # it was refused
        senders.append(connection)
    with open(f"/proc/{service.process.pid}/status") as file:
        resident = next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))
    assert resident < 1200 << 10, f"{resident} KiB"
    service.wait(service.submit("true")["id"], "completed")
    for connection in senders:
        connection.close()
    service.api("POST", "/jobs", json.dumps({"command": ["true"], "working_dir": "/", "script": "#!/bin/sh\n#" + "x" * (2 << 20)}), 400)


def a_submission_that_fails_half_way_leaves_nothing(service):
    one = {"command": ["true"], "working_dir": service.dir, "gang": "pair", "gang_size": 2, "hold": True}
    first = service.submit("true", gang="pair", gang_size=2)["id"]
    service.api("POST", "/jobs", {"jobs": [{**one, "script": "#!/bin/sh\n", "command": []}, {**one, "dependencies": "afterok:99"}]}, 404)
    equal([job["id"] for job in service.api("GET", "/jobs")["jobs"]], [first])
    equal(service.job(first)["state"], "queued")  # the other half of its gang may still come
    service.kill()
    database = sqlite3.connect(os.path.join(service.state, "strata.db"))
    equal(database.execute("SELECT (SELECT count(*) FROM jobs), (SELECT count(*) FROM blobs)").fetchone(), (1, 1))
    database.close()
    service.start()


def an_array_is_there_as_a_whole_or_not_at_all(service):
    """Out of memory at some point of its way in, which a lower limit on address space brings about."""
    if any(word in STRATA for word in ("address", "thread")):
        raise Skip("sanitizers reserve address space without end")
    pairs = ",".join(f"{i}-{i + 1}" for i in range(0, 15000, 3))  # 5000 rows of two elements each
    body = {"command": ["true"], "working_dir": service.dir, "array": pairs, "hold": True}
    acknowledged = 0
    for megabytes in (1, 3, 6, 9, 12, 20):
        with open(f"/proc/{service.process.pid}/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        resource.prlimit(service.process.pid, resource.RLIMIT_AS, (used + (megabytes << 20), resource.RLIM_INFINITY))
        try:
            status, _ = service.ask("POST", "/api/v1/jobs", body)
        except (OSError, http.client.HTTPException):
            status = 0
        acknowledged += status == 201
        service.process.kill()
        service.process.wait()
        database = sqlite3.connect(os.path.join(service.state, "strata.db"))
        count = database.execute("SELECT sum(max(elements, 1)) FROM (SELECT elements FROM jobs UNION ALL SELECT 0)").fetchone()[0] - 1
        database.close()
        assert count % 10000 == 0 and count >= 10000 * acknowledged, (megabytes, status, count)
        service.start()
    print(f"# {acknowledged} of 6 fitted", flush=True)


def the_same_key_at_the_same_time_is_one_submission(service):
    body = {"command": ["true"], "working_dir": service.dir, "hold": True}
    answers = []

    def submit(key):
        answers.append((key, service.ask("POST", "/api/v1/jobs", body, {"Idempotency-Key": key})))

    for round_number in range(10):
        threads = [threading.Thread(target=submit, args=(f"k{round_number}",)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    equal(len(answers), 80)
    for key in {key for key, _ in answers}:
        equal(len({answer["id"] for k, (_, answer) in answers if k == key}), 1)
    equal({status for _, (status, _) in answers}, {200, 201})


def what_the_store_cannot_keep_is_refused_and_harms_nobody(service):
    job = {"command": ["true"], "working_dir": service.dir}
    for body, headers, field in [
            ({**job, "command": ["x" * 500000] * 12}, {}, "command"),
            ({**job, "environment": {"A": "x" * 500000, "B" * 200000: "y"}, "comment": "c" * 2000}, {}, "comment"),
            (job, {"Idempotency-Key": "k" * 200}, "request_key"),
            (job, {"Idempotency-Key": b"\xff\xfe"}, "request_key"),
            (job, {"Idempotency-Key": "a\tb"}, "request_key"),
            (job, {"Idempotency-Key": ""}, "request_key"),
            ({**job, "request_key": ""}, {}, "request_key"),
            ({**job, "tasks": 4, "memory_per_task": 1 << 62}, {}, "memory_per_task"),
            ({**job, "nodes": 2, "memory": 1 << 62}, {}, "memory"),
            ({**job, "environment": {str(i): "" for i in range(65537)}}, {}, "environment")]:
        status, answer = service.ask("POST", "/api/v1/jobs", body, headers)
        assert status in (400, 413), (status, answer)
        equal(answer["error"]["field"], field)
    service.submit("true", hold=True, environment={str(i): "" for i in range(65536)})
    service.wait(service.submit("true")["id"], "completed")


def what_makes_no_sense_is_refused(service):
    for fields, field in [({}, "command"), ({"command": ["x"], "script": "#!/bin/sh\n"}, "script"),
                          ({"script": "echo"}, "script"), ({"command": ["x"], "bogus": 1}, "bogus"),
                          ({"command": ["x"], "gpus": 1, "gpu_share": 0.5}, "gpus"),
                          ({"command": ["x"], "time_limit": "100000d"}, "time_limit"),
                          ({"command": ["x"], "working_dir": "here"}, "working_dir"),
                          ({"command": ["x"], "array": "5-1"}, "array"),
                          ({"command": ["x"], "environment": {"A": 1}}, "environment")]:
        error = service.api("POST", "/jobs", fields, 400)["error"]
        equal((error["code"], error["field"]), ("invalid", field))
    equal(service.api("GET", "/queue")["jobs"], [])


run(a_job_runs_and_its_end_is_known, a_script_runs_as_it_is, a_script_gets_its_arguments, a_time_to_begin_may_be_relative, arrays_run_so_many_at_a_time,
    dependencies_are_waited_for, gangs_start_together, many_are_one_submission,
    the_same_key_is_the_same_submission, the_same_key_gets_the_same_bytes_of_arrays_and_lists_too, a_key_is_for_one_request, many_large_bodies_at_once_do_not_fill_the_memory,
    a_submission_that_fails_half_way_leaves_nothing,
    an_array_is_there_as_a_whole_or_not_at_all, the_same_key_at_the_same_time_is_one_submission,
    what_the_store_cannot_keep_is_refused_and_harms_nobody, what_makes_no_sense_is_refused)
