#!/usr/bin/env python3
"""Jobs by number and name of their own, while they live and after."""
import datetime
import os
import sqlite3
import time

from service import equal, run


def the_history_is_in_pages_newest_first(service):
    ids = [service.submit("true", name=f"j{i}")["id"] for i in range(7)]
    for job in ids:
        service.wait(job, "completed")
    page = service.api("GET", "/jobs?limit=3")
    equal([job["id"] for job in page["jobs"]], ids[:3:-1])
    page = service.api("GET", f"/jobs?limit=3&after={page['next']}")
    equal([job["id"] for job in page["jobs"]], ids[3:0:-1])
    page = service.api("GET", f"/jobs?limit=3&after={page['next']}")
    equal(([job["id"] for job in page["jobs"]], page["next"]), ([ids[0]], None))
    equal(len(service.api("GET", "/jobs?state=failed,cancelled")["jobs"]), 0)
    equal(service.ask("GET", "/api/v1/jobs?limit=0")[0], 400)


def a_job_is_known_after_a_restart(service):
    made = service.submit("sh", "-c", "exit 7")
    service.wait(made["id"], "failed")
    service.kill()
    service.start()
    job = service.job(made["uuid"])  # from the history now
    equal((job["id"], job["state"], job["exit_code"]), (made["id"], "failed", 7))


def moment(job, key):
    return datetime.datetime.fromisoformat(job[key].replace("Z", "+00:00")).timestamp()


def a_cancelled_job_has_ended_when_it_did(service):
    waits, runs = service.submit("true", hold=True)["id"], service.submit("sleep", "600")["id"]
    began = moment(service.wait(runs, "running"), "started_at")
    time.sleep(2.2)
    asked = time.time()
    service.api("DELETE", f"/jobs/{waits}")
    service.api("DELETE", f"/jobs/{runs}", None, 202)
    never, stopped = service.wait(waits, "cancelled"), service.wait(runs, "cancelled")
    seen = time.time()
    equal((never["started_at"], moment(stopped, "started_at")), (None, began))
    assert began + 2 <= moment(stopped, "ended_at") <= seen, stopped  # in whole seconds
    assert asked - 1 < moment(never, "ended_at") <= seen, (asked, never)
    service.kill()
    service.start()
    equal([service.job(job)["ended_at"] for job in (waits, runs)], [never["ended_at"], stopped["ended_at"]])


def rows(service):
    """Of the table of jobs, and how many jobs they stand for."""
    database = sqlite3.connect(os.path.join(service.state, "strata.db"))
    found = database.execute("SELECT count(*), sum(max(elements, 1)) FROM jobs").fetchone()
    database.close()
    return found


def all_pages(service, query):
    ids, after = [], 0
    while after is not None:
        page = service.api("GET", f"/jobs?limit=7&{query}" + (f"&after={after}" if after else ""))
        ids += [job["id"] for job in page["jobs"]]
        after = page["next"]
    return ids


def an_array_is_one_row_until_its_elements_differ(service):
    before = service.submit("true", hold=True)["id"]
    made = service.submit("true", array="5-43:2", hold=True)
    ids = made["ids"]
    after = service.submit("true", hold=True)["id"]
    equal(rows(service), (3, 22))
    for restarted in range(2):
        shown = [service.job(i) for i in ids]
        equal([job["id"] for job in shown], ids)
        equal([job["array_index"] for job in shown], list(range(5, 44, 2)))
        equal({(job["array_id"], job["state"], job["reason"]) for job in shown}, {(ids[0], "queued", "held")})
        equal(shown[0]["uuid"], made["uuid"])
        equal(len({job["uuid"] for job in shown}), 20)
        for job in shown:
            equal(service.job(job["uuid"]), job)
        queue = service.api("GET", "/queue")
        equal([job["id"] for job in queue["jobs"]], [before, *ids, after])
        equal(queue["counts"]["queued"], 22)
        equal(all_pages(service, "state=queued"), [after, *ids[::-1], before])
        equal(rows(service), (3, 22))  # looking at them changes nothing
        service.kill()
        service.start()
    # what is said of one of them makes a row for it, and one for those on either side
    service.api("PATCH", f"/jobs/{ids[7]}", {"nice": 5})
    service.api("DELETE", f"/jobs/{shown[12]['uuid']}")
    service.api("PATCH", f"/jobs/{ids[-1]}", {"hold": False})
    service.wait(ids[-1], "completed")
    service.api("DELETE", f"/jobs/{ids[0]}")
    equal(rows(service), (9, 22))
    for restarted in range(2):
        states = [service.job(i)["state"] for i in ids]
        expected = ["queued"] * 20
        expected[0] = expected[12] = "cancelled"
        expected[19] = "completed"
        equal(states, expected)
        equal([service.job(i)["nice"] for i in ids], [5 if i == ids[7] else 0 for i in ids])
        equal([job["id"] for job in service.api("GET", "/queue")["jobs"]], [before, *ids[1:12], *ids[13:19], after])
        equal(all_pages(service, "state=queued"), [after, *ids[18:12:-1], *ids[11:0:-1], before])
        equal(all_pages(service, "state=cancelled,completed,failed"), [ids[19], ids[12], ids[0]])
        equal([service.job(job["uuid"])["id"] for job in shown], ids)
        service.kill()
        service.start()
    for i in ids[1:12] + ids[13:19]:
        service.api("PATCH", f"/jobs/{i}", {"hold": False})
    for i in ids[1:12] + ids[13:19]:
        service.wait(i, "completed")
    equal(rows(service), (22, 22))


def elements_that_start_get_rows_and_the_others_wait_on(service):
    made = service.submit("sh", "-c", "sleep 0.4; echo $SLURM_ARRAY_TASK_ID", array="1-9", cpus_per_task=8)
    last = made["ids"][-1]
    service.wait(made["ids"][0], "running")
    equal(service.job(last)["state"], "queued")
    service.kill()
    service.start()
    for i, job in enumerate(made["ids"]):
        equal(service.wait(job, "completed")["attempt"], 1)
        equal(service.output(f"strata-{made['array_id']}_{i + 1}.out"), f"{i + 1}\n")


def a_row_that_says_too_much_is_trimmed(service):
    """The rows of what was taken out of a range were written, and not that of the rest: a batch too large for one transaction."""
    ids = service.submit("true", array="0-9", hold=True)["ids"]
    for i in ids[:3]:
        service.api("PATCH", f"/jobs/{i}", {"nice": 3})
    service.api("DELETE", f"/jobs/{ids[3]}")
    service.kill()
    database = sqlite3.connect(os.path.join(service.state, "strata.db"))
    equal(database.execute("UPDATE jobs SET elements = 10 WHERE id = ?", (ids[9],)).rowcount, 1)
    database.commit()
    database.close()
    service.start()
    equal([job["id"] for job in service.api("GET", "/queue")["jobs"]], ids[:3] + ids[4:])
    equal(rows(service), (5, 10))


run(the_history_is_in_pages_newest_first, a_job_is_known_after_a_restart, a_cancelled_job_has_ended_when_it_did, an_array_is_one_row_until_its_elements_differ,
    elements_that_start_get_rows_and_the_others_wait_on, a_row_that_says_too_much_is_trimmed)
