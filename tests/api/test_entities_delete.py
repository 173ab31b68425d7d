#!/usr/bin/env python3
"""What was made can be deleted, when no job and no setting names it."""
from service import arguments, equal, run

KINDS = ("users", "accounts", "qos", "partitions")


def what_was_made_can_be_deleted_when_nothing_uses_it(service):
    names = {"users": "me", "accounts": "lab", "qos": "fast", "partitions": "gpu"}
    names["users"] = me = service.wait(service.submit("true")["id"], "completed")["user"]
    for kind in ("accounts", "qos", "partitions"):
        service.api("PUT", f"/{kind}/{names[kind]}", {})
    service.api("PUT", f"/users/{me}", {"account": "lab", "qos": "fast", "weight": 3})
    jobs = [service.submit("true", hold=True, partition="gpu")["id"] for _ in range(7)]
    for kind, name in names.items():
        message = service.api("DELETE", f"/{kind}/{name}", status=409)["error"]["message"]
        assert "7 jobs" in message and "…" in message, message
    for job in jobs[1:]:
        service.api("DELETE", f"/jobs/{job}")
    message = service.api("DELETE", "/accounts/lab", status=409)["error"]["message"]
    assert f"1 job that has not ended: {jobs[0]}" in message, message
    service.api("DELETE", f"/jobs/{jobs[0]}")
    for kind in ("accounts", "qos"):
        message = service.api("DELETE", f"/{kind}/{names[kind]}", status=409)["error"]["message"]
        assert f"named by the settings of user {me}" in message, message
    for kind in KINDS:
        equal(service.api("DELETE", f"/{kind}/{names[kind]}"), {"name": names[kind]})
    for _ in range(2):
        for kind in KINDS:
            assert not [one for one in service.api("GET", f"/{kind}")[kind] if one["made"]], kind
            service.api("DELETE", f"/{kind}/{names[kind]}", status=404)
        service.submit("true", account="lab", status=404)
        told = service.job(service.submit("true")["id"])
        equal((told["account"], told["qos"]), (None, None))
        service.kill()
        service.start()
    service.api("PUT", "/accounts/top", {})
    service.api("PUT", "/accounts/lab", {"parent": "top"})  # made again, elsewhere
    message = service.api("DELETE", "/accounts/top", status=409)["error"]["message"]
    assert "account lab" in message, message


@arguments("--node", "big:cpus=4:memory=8G:gpus=0:partitions=long")
def a_partition_of_the_configuration_is_there_without_being_made(service):
    long = {one["name"]: one for one in service.api("GET", "/partitions")["partitions"]}["long"]
    equal((long["made"], long["configured"], long["state"]), (False, True, "up"))
    service.submit("true", partition="long", hold=True)
    message = service.api("DELETE", "/partitions/long", status=409)["error"]["message"]
    assert "configuration" in message, message


run(what_was_made_can_be_deleted_when_nothing_uses_it, a_partition_of_the_configuration_is_there_without_being_made)
