#!/usr/bin/env python3
"""Users, accounts and qualities of service: what they are told to be holds, also after a restart."""
from service import arguments, equal, run


def limits_hold_and_are_kept(service):
    me = service.job(service.submit("true")["id"])["user"]
    set_to = service.api("PATCH", f"/users/{me}", {"weight": 2, "limits": {"jobs": 1}})
    equal((set_to["weight"], set_to["limits"]["jobs"]), (2, 1))
    jobs = [service.submit("sleep", "60")["id"] for _ in range(2)]
    service.wait(jobs[0], "running")
    equal(service.job(jobs[1])["reason"], "user_limit")
    service.kill()
    service.start()
    equal(service.job(jobs[1])["reason"], "user_limit")
    changed = service.api("PATCH", f"/users/{me}", {"limits": {"jobs": 2}})  # the weight stays
    equal((changed["weight"], changed["limits"]["jobs"]), (2, 2))
    service.wait(jobs[1], "running")


def accounts_are_above_each_other(service):
    service.api("PUT", "/accounts/lab", {"weight": 3, "limits": {"jobs": 1}})
    service.api("PUT", "/accounts/ateam", {"parent": "lab"})  # before its parent by name
    jobs = [service.submit("sleep", "60", account=account)["id"] for account in ("ateam", "lab")]
    service.wait(jobs[0], "running")
    equal(service.job(jobs[1])["reason"], "account_limit")
    service.kill()
    service.start()
    equal(service.job(jobs[1])["reason"], "account_limit")
    accounts = {account["name"]: account for account in service.api("GET", "/accounts")["accounts"]}
    equal((accounts["lab"]["running"], accounts["ateam"]["parent"]), (1, "lab"))


def what_makes_no_sense_changes_nothing(service):
    for body, field in [({"weight": 0}, "weight"), ({"bogus": 1}, "bogus"), ({"limits": {"jobs": -1}}, "limits.jobs")]:
        equal(service.api("PATCH", "/users/ann", body, 400)["error"]["field"], field)
    equal(service.api("PUT", "/accounts/a", {"parent": "nobody"}, 404)["error"]["field"], "parent")
    equal(service.api("PUT", "/qos/low", {"usage_factor": 0.5, "limits": {"gpus": 4}})["usage_factor"], 0.5)
    kinds = [event["kind"] for event in service.api("GET", "/events?format=json")["events"]]
    equal(kinds, ["people.changed"])


@arguments("--node", "big:cpus=4:memory=8G:gpus=0:partitions=long,short")
def partitions_have_their_own_time_limits(service):
    service.api("PUT", "/partitions/short", {"default": True, "time_limit": 60, "time_limit_max": 600})
    job = service.submit("true")["id"]  # which names none
    told = service.job(job)
    equal((told["partition"], told["time_limit_s"]), ("short", 60))
    error = service.submit("true", time_limit=601, status=400)["error"]
    equal(error["field"], "time_limit")
    equal(service.job(service.submit("true", time_limit=601, partition="long")["id"])["time_limit_s"], 601)
    waits = service.submit("true", hold=True)["id"]
    service.kill()
    service.start()
    equal((service.job(waits)["partition"], service.job(waits)["time_limit_s"]), ("short", 60))
    listed = {one["name"]: one for one in service.api("GET", "/partitions")["partitions"]}
    equal((listed["short"]["default"], listed["short"]["time_limit_max_s"], listed["long"]["default"]), (True, 600, False))


run(partitions_have_their_own_time_limits, limits_hold_and_are_kept, accounts_are_above_each_other, what_makes_no_sense_changes_nothing)
