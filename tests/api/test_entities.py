#!/usr/bin/env python3
"""Users, accounts, qualities of service, partitions: what they are told to be holds, also after a restart."""
from service import arguments, equal, run

ALLOWED = 4096  # STRATA_ALLOWED_NAMES_MAX


def audit(service):
    """What happened to them."""
    return [event["about"] for event in service.api("GET", "/events?format=json&limit=1000")["events"] if event["kind"].startswith("entity.")]


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
    for body, field in [({"weight": 0}, "weight"), ({"bogus": 1}, "bogus"), ({"limits": {"jobs": -1}}, "limits.jobs"),
                        ({"allowed_users": ["ann"]}, "allowed_users")]:  # which is a partition's
        equal(service.api("PATCH", "/users/ann", body, 400)["error"]["field"], field)
    for name in ("a,b", "a%20b", "x" * 128):
        equal(service.api("PUT", f"/accounts/{name}", {}, 400)["error"]["field"], "name")
    for name in ("a%0ab", "a%7f"):  # no path has those
        service.api("PUT", f"/accounts/{name}", {}, 400)
    equal(service.api("PUT", "/accounts/a", {"parent": "nobody"}, 404)["error"]["field"], "parent")
    equal(service.api("PUT", "/qos/low", {"usage_factor": 0.5, "limits": {"gpus": 4}})["usage_factor"], 0.5)
    kinds = [event["kind"] for event in service.api("GET", "/events?format=json")["events"]]
    equal(kinds, ["entity.changed"])


def a_share_is_told_as_the_order_compares_it(service):
    service.api("PUT", "/users/ann", {"weight": 3})
    ann = [user for user in service.api("GET", "/users")["users"] if user["name"] == "ann"][0]
    equal((ann["gpu_hours"], ann["share"]), (0, 3))  # weight / (gpu_hours + 1)


@arguments("--node", "big:cpus=4:memory=8G:gpus=0:partitions='long,short'")
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


def settings_name_what_somebody_made(service):
    service.api("PUT", "/accounts/physics", {})
    service.api("PUT", "/qos/fast", {})
    for kind, body, near in [("users", {"account": "phisics"}, "physics"), ("users", {"allowed_accounts": ["physics", "phisics"]}, "physics"),
                             ("users", {"qos": "fats"}, "fast"), ("accounts", {"parent": "phisics"}, "physics"),
                             ("accounts", {"allowed_qos": ["fats"]}, "fast"), ("partitions", {"allowed_accounts": ["phisics"]}, "physics"),
                             ("partitions", {"allowed_qos": ["fats"]}, "fast")]:
        error = service.api("PUT", f"/{kind}/new", body, 404)["error"]
        equal(error["field"], list(body)[0])
        assert f"did you mean '{near}'" in error["message"], error
        assert "new" not in [one["name"] for one in service.api("GET", f"/{kind}")[kind]], "it was made nevertheless"


def every_change_tells_who_did_it_and_what_was_before(service):
    me = service.job(service.submit("true")["id"])["user"]
    service.api("PUT", "/accounts/lab", {"weight": 2})
    service.api("PATCH", "/accounts/lab", {"weight": 3, "limits": {"jobs": 5}})
    service.api("PATCH", "/accounts/lab", {"limits": {"gpus": 1}})
    service.api("DELETE", "/accounts/lab")
    lab = {"name": "lab", "by": me}
    equal(audit(service), [
        {"kind": "account", **lab, "made": True, "from": {"weight": None}, "to": {"weight": 2}},
        {"kind": "account", **lab, "made": False, "from": {"weight": 2, "limits": None}, "to": {"weight": 3, "limits": {"jobs": 5}}},
        {"kind": "account", **lab, "made": False, "from": {"limits": {"jobs": 5}}, "to": {"limits": {"gpus": 1}}},
        {"kind": "account", **lab, "from": {"weight": 3, "limits": {"jobs": 5, "gpus": 1}}}])


def there_is_one_default(service):
    for kind in ("qos", "partitions"):
        service.api("PUT", f"/{kind}/a", {"default": True})
        error = service.api("PUT", f"/{kind}/b", {"default": True}, 409)["error"]
        assert error["field"] == "default" and " a is the default" in error["message"], error
        service.api("PATCH", f"/{kind}/a", {"default": False})
        service.api("PUT", f"/{kind}/b", {"default": True})


def lists_have_an_end(service):
    names = [f"u{i}" for i in range(ALLOWED + 1)]
    equal(service.api("PUT", "/partitions/gpu", {"allowed_users": names}, 400)["error"]["field"], "allowed_users")
    equal(len(service.api("PUT", "/partitions/gpu", {"allowed_users": names[1:]})["allowed_users"]), ALLOWED)
    service.api("PUT", "/accounts/" + "x" * 127, {})  # the longest name; one more is refused


run(settings_name_what_somebody_made, every_change_tells_who_did_it_and_what_was_before,
    there_is_one_default, lists_have_an_end, partitions_have_their_own_time_limits, limits_hold_and_are_kept, accounts_are_above_each_other, what_makes_no_sense_changes_nothing,
    a_share_is_told_as_the_order_compares_it)
