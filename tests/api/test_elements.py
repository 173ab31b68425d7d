#!/usr/bin/env python3
"""Elements of an array that are cancelled, held, released and changed by one request."""
import json
import os
import random
import sqlite3
import threading
import time

from service import Service, Skip, as_nobody, equal, rerun, run_with


class Recorded(Service):
    def start(self, env=None):
        if "--record" not in self.args:
            self.args += ["--record", os.path.join(self.dir, "record")]
        super().start(env)


def rows(service):
    """Of the table of jobs: last id, how many it stands for, state."""
    database = sqlite3.connect(os.path.join(service.state, "strata.db"))
    found = database.execute("SELECT id, max(elements, 1), state FROM jobs ORDER BY id").fetchall()
    database.close()
    return found


def states(service, ids):
    return [service.job(i)["state"] for i in ids]


def the_whole_array_is_one_request_and_stays_one_row(service):
    ids = service.submit("true", array="5-43:2", hold=True)["ids"]
    other = service.submit("true", hold=True)["id"]
    answer = service.api("PATCH", f"/jobs/{ids[0]}?elements=all", {"priority": "low", "time_limit": 90})
    equal((answer["id"], answer["jobs"], answer["left"], answer["priority"]), (ids[0], 20, 0, "low"))
    equal({(j["priority"], j["time_limit_s"]) for j in map(service.job, ids)}, {("low", 90)})
    equal(service.job(other)["priority"], "normal")
    equal(rows(service), [(ids[-1], 20, "queued"), (other, 1, "queued")])
    answer = service.api("DELETE", f"/jobs/{ids[0]}?elements=all")
    equal(answer, {"id": ids[0], "state": "cancelled", "stopping": False, "jobs": 20, "cancelled": 20})
    equal(rows(service), [(ids[-1], 20, "cancelled"), (other, 1, "queued")])
    for restarted in range(2):
        equal(set(states(service, ids)), {"cancelled"})
        equal([job["id"] for job in service.api("GET", "/jobs?state=cancelled")["jobs"]], ids[::-1])
        equal([job["id"] for job in service.api("GET", "/queue")["jobs"]], [other])
        equal(service.job(ids[3])["cancelled_by"], service.job(ids[3])["user"])
        if not restarted:  # once more it is refused, as of a job
            assert "have ended" in service.api("DELETE", f"/jobs/{ids[0]}?elements=all", status=409)["error"]["message"]
            service.api("DELETE", f"/jobs/{ids[4]}", status=409)
            service.api("PATCH", f"/jobs/{ids[4]}", {"hold": True}, 409)
            equal(rows(service), [(ids[-1], 20, "cancelled"), (other, 1, "queued")])
            service.kill()
            service.start()
    equal(rerun(service)["differing"], 0)


def some_elements_are_meant_by_their_indexes(service):
    ids = service.submit("true", array="1-20", hold=True)["ids"]
    by_index = dict(zip(range(1, 21), ids))
    equal(service.api("DELETE", f"/jobs/{ids[0]}?elements=3-9,12")["jobs"], 8)
    gone = [*range(3, 10), 12]
    for restarted in range(2):
        equal([i for i in by_index if service.job(by_index[i])["state"] == "cancelled"], gone)
        equal([(count, state) for _, count, state in rows(service)],
              [(2, "queued"), (7, "cancelled"), (2, "queued"), (1, "cancelled"), (8, "queued")])
        service.kill()
        service.start()
    # those that have ended are not counted, and what was never there is not found
    answer = service.api("PATCH", f"/jobs/{ids[0]}?elements=1-5,90", {"nice": 7})
    equal((answer["jobs"], answer["left"]), (2, 0))
    equal([i for i in by_index if service.job(by_index[i])["nice"] == 7], [1, 2])
    service.api("PATCH", f"/jobs/{ids[0]}?elements=90", {"nice": 7}, 404)
    # by the number of an array only; all of another job is the job
    service.api("DELETE", f"/jobs/{ids[1]}?elements=3", status=404)
    service.api("DELETE", "/jobs/4711?elements=all", status=404)
    equal(service.api("DELETE", f"/jobs/{ids[1]}?elements=all"), {"id": ids[1], "state": "cancelled", "stopping": False})
    for wrong in ("", "x", "3-", "1-5%252"):
        service.api("DELETE", f"/jobs/{ids[0]}?elements={wrong}", status=400)


def an_array_is_held_released_and_runs(service):
    ids = service.submit("true", array="0-11", hold=True)["ids"]
    equal(service.api("PATCH", f"/jobs/{ids[0]}?elements=all", {"hold": False})["jobs"], 12)
    for job in ids:
        service.wait(job, "completed")
    ids = service.submit("sleep", "60", array="0-9%3")["ids"]
    for job in ids[:3]:
        service.wait(job, "running")
    answer = service.api("PATCH", f"/jobs/{ids[0]}?elements=all", {"hold": True})  # those that wait
    equal((answer["jobs"], answer["left"], answer["id"]), (7, 3, ids[3]))
    service.api("PATCH", f"/jobs/{ids[0]}?elements=0-2", {"hold": True}, 409)
    equal([service.job(i)["reason"] for i in ids[3:]], ["held"] * 7)
    answer = service.api("PATCH", f"/jobs/{ids[0]}?elements=all", {"requeue": True})  # those that run
    equal((answer["jobs"], answer["left"]), (3, 7))
    for job in ids[:3]:
        deadline = time.time() + 60
        while (service.job(job)["state"], service.job(job)["attempt"]) != ("running", 2) and time.time() < deadline:
            time.sleep(0.05)
        equal(service.job(job)["attempt"], 2)
    answer = service.api("PATCH", f"/jobs/{ids[0]}?elements=all", {"signal": "URG"})
    equal((answer["jobs"], answer["left"]), (3, 7))
    answer = service.api("DELETE", f"/jobs/{ids[0]}?elements=all", status=202)
    equal(answer, {"id": ids[0], "state": "running", "stopping": True, "jobs": 10, "cancelled": 7})
    for job in ids:
        service.wait(job, "cancelled")
    kinds = [(e["kind"], e["job"], e["about"].get("jobs", 1)) for e in service.api("GET", "/events?format=json&limit=1000")["events"]
             if e["about"].get("by") and e["job"] in ids]
    assert ("job.ended", ids[3], 7) in kinds, kinds
    equal(rerun(service)["differing"], 0)


def frozen_elements_go_on_together(service):
    ids = service.submit("sleep", "60", array="1-3", cpus_per_task=8)["ids"]
    for job in ids:
        service.wait(job, "running")
    equal(service.api("PATCH", f"/jobs/{ids[0]}?elements=2-3", {"suspend": True})["jobs"], 2)
    for job in ids[1:]:
        service.wait(job, "preempted")
    answer = service.api("PATCH", f"/jobs/{ids[0]}?elements=all", {"suspend": False})
    equal((answer["jobs"], answer["left"]), (2, 1))
    for job in ids:
        equal(service.wait(job, "running")["attempt"], 1)


def a_gang_is_cancelled_with_its_array(service):
    ids = service.submit("true", array="1-4", hold=True, gang="g", gang_size=5)["ids"]
    last = service.submit("true", hold=True, gang="g", gang_size=5)["id"]
    equal(service.api("DELETE", f"/jobs/{ids[0]}?elements=2-3")["jobs"], 2)
    for job in [*ids, last]:
        service.wait(job, "cancelled")
    service.kill()
    service.start()
    equal(set(states(service, [*ids, last])), {"cancelled"})


def who_may_not_change_one_changes_none(service):
    if os.getuid():
        raise Skip("needs to be root")
    service.api("PUT", "/users/nobody", {}, 201) if service.ask("GET", "/api/v1/users/nobody")[0] == 404 else None
    mine = service.submit("true", array="1-5", hold=True)["ids"]
    path = f"/api/v1/jobs/{mine[0]}?elements=all"
    equal(as_nobody(service, "DELETE", path)[0], 403)
    equal(as_nobody(service, "PATCH", path, {"hold": False})[0], 403)
    made = as_nobody(service, "POST", "/api/v1/jobs", {"command": ["true"], "working_dir": "/tmp", "array": "1-5", "hold": True})
    equal(made[0], 201)
    theirs = made[1]["ids"]
    service.api("PATCH", f"/jobs/{theirs[3]}", {"hold": True})  # by an operator: one of them is not theirs to release
    path = f"/api/v1/jobs/{theirs[0]}?elements=all"
    equal(as_nobody(service, "PATCH", path, {"hold": False})[0], 403)
    equal({service.job(i)["reason"] for i in theirs}, {"held"})
    equal(as_nobody(service, "PATCH", path, {"priority": "high"})[0], 403)
    equal({service.job(i)["priority"] for i in theirs}, {"normal"})
    equal(as_nobody(service, "DELETE", path)[1]["jobs"], 5)
    equal(states(service, mine), ["queued"] * 5)


def what_is_no_array_is_nobodys(service):
    """`strata cancel 0` ended every job of the caller's: plain jobs are in array 0."""
    jobs = [service.submit("sleep", "60")["id"] for _ in range(3)]
    for name in ("0", "x", "30_x", "30_[1-2]", "nosuch", "00"):
        for elements in ("all", "1-3"):
            for method, body in (("DELETE", None), ("PATCH", {"hold": True}), ("PATCH", {"requeue": True}), ("PATCH", {"signal": "CONT"})):
                equal((name, method, body, service.ask(method, f"/api/v1/jobs/{name}?elements={elements}", body)[0]), (name, method, body, 404))
    equal({service.job(job)["state"] in ("running", "scheduled") and service.job(job)["attempt"] == 1 for job in jobs}, {True})


def a_job_with_its_own_token_means_itself_only(service):
    ids = service.submit("sh", "-c", 'cat "$STRATA_TOKEN_FILE"; echo; sleep 60', array="1-3%1", output="said-%a")["ids"]
    service.wait(ids[0], "running")
    deadline = time.time() + 60
    while "\n" not in (service.output("said-1") if os.path.exists(os.path.join(service.dir, "said-1")) else "") and time.time() < deadline:
        time.sleep(0.05)
    token = service.output("said-1").strip()
    for which in ("all", "2-3"):
        service.api("DELETE", f"/jobs/{ids[0]}?elements={which}", status=403, token=token)
        service.api("PATCH", f"/jobs/{ids[0]}?elements={which}", {"hold": True}, 403, token=token)
    equal(states(service, ids), ["running", "queued", "queued"])
    service.api("DELETE", f"/jobs/{ids[0]}", status=202, token=token)


def a_hundred_thousand_are_one_row_all_the_while(service):
    ids = service.submit("true", array="1-100000", hold=True)["ids"]
    for change in ({"hold": False, "begin": "now+1hour"}, {"hold": True}, {"priority": "low"}):
        if "begin" in change:  # they are not to start meanwhile
            service.api("PATCH", f"/jobs/{ids[0]}?elements=all", {"begin": "2099-01-01T00:00:00Z"})
            change = {"hold": False}
        equal(service.api("PATCH", f"/jobs/{ids[0]}?elements=all", change)["jobs"], 100000)
    equal(rows(service), [(ids[-1], 100000, "queued")])
    equal(service.api("DELETE", f"/jobs/{ids[0]}?elements=all")["cancelled"], 100000)
    equal(rows(service), [(ids[-1], 100000, "cancelled")])
    counts = service.api("GET", "/queue")["counts"]
    equal((counts["queued"], counts["cancelled"]), (0, 100000))
    equal(service.job(ids[777])["state"], "cancelled")


def killed_on_the_way_it_is_all_or_nothing(service):
    """Elements whose rows are many are changed by one request while the service is killed at some moment of it."""
    chance = random.Random(17)
    seen = set()
    for turn in range(12):
        ids = service.submit("true", array="1-2000", hold=True)["ids"]
        equal(service.api("PATCH", f"/jobs/{ids[0]}?elements=1-2000:2", {"nice": 1})["jobs"], 1000)  # 2,000 rows
        answers = []

        def cancel():
            try:
                answers.append(service.ask("DELETE", f"/api/v1/jobs/{ids[0]}?elements=all")[0])
            except OSError:
                pass
            except Exception as broken:  # an answer that ends early
                answers.append(repr(broken))

        thread = threading.Thread(target=cancel)
        thread.start()
        time.sleep(chance.uniform(0, 0.08))
        service.kill()
        thread.join()
        service.start()
        found = {state for last, _, state in rows(service) if ids[0] <= last <= ids[-1]}
        equal(len(found), 1)
        if 200 in answers:
            equal(found, {"cancelled"})
        seen |= found
        if found == {"queued"}:
            equal(service.api("DELETE", f"/jobs/{ids[0]}?elements=all")["jobs"], 2000)
    print(f"# found {json.dumps(sorted(seen))}")


run_with(lambda test: Recorded(), what_is_no_array_is_nobodys, the_whole_array_is_one_request_and_stays_one_row, some_elements_are_meant_by_their_indexes,
         an_array_is_held_released_and_runs, frozen_elements_go_on_together, a_gang_is_cancelled_with_its_array,
         who_may_not_change_one_changes_none, a_job_with_its_own_token_means_itself_only, a_hundred_thousand_are_one_row_all_the_while, killed_on_the_way_it_is_all_or_nothing)
