#!/usr/bin/env python3
"""What is wrong, and one thing to do about each."""
import os
import subprocess

from service import STRATA, Skip, as_nobody, equal, run


def problems(service):
    return service.api("GET", "/problems")


def nothing_is_wrong(service):
    equal(problems(service), {"problems": [], "count": 0})


def nodes_that_are_away_are_told_with_what_follows(service):
    service.wait(service.submit("sleep", "600", gpus=1)["id"], "running")
    service.api("PATCH", "/nodes/n1", {"state": "drained", "reason": "fan 3"})
    service.api("PATCH", "/nodes/n2", {"state": "down"})
    down, drained = problems(service)["problems"]
    equal((down["kind"], down["grave"], down["about"], down["text"]), ("node_down", True, "n2", "4 GPUs cannot be used."))
    equal((drained["kind"], drained["grave"]), ("node_drained", False))
    equal(drained["text"], "fan 3. Nothing new starts there; 1 job still runs.")
    equal(drained["action"], {"text": "See the node", "command": "strata nodes resume n1", "page": "#/now?node=n1"})
    assert drained["since"]
    service.api("PATCH", "/nodes/n1", {"state": "up"})
    service.api("PATCH", "/nodes/n2", {"state": "up"})
    nothing_is_wrong(service)


def jobs_that_can_never_start_are_told_to_who_may_do_something(service):
    first = service.submit("false")["id"]
    service.wait(first, "failed")
    job = service.submit("true", dependencies=f"afterok:{first}", name="after <b>it</b>")["id"]
    found = problems(service)["problems"]
    equal([(one["kind"], one["job"]) for one in found], [("job_never", job)])
    equal(found[0]["action"]["command"], f"strata why {job}")
    if os.geteuid() != 0:
        raise Skip("it takes root to be somebody else")
    equal(as_nobody(service, "GET", "/api/v1/problems")[1], {"problems": [], "count": 0})


def there_are_so_many_and_no_more(service):
    first = service.submit("false")["id"]
    service.wait(first, "failed")
    for _ in range(50):
        service.submit("true", dependencies=f"afterok:{first}")
    equal((len(problems(service)["problems"]), problems(service)["count"]), (50, 50))
    service.submit("true", dependencies=f"afterok:{first}")
    equal((len(problems(service)["problems"]), problems(service)["count"]), (50, 51))


def doctor_tells_them(service):
    service.api("PATCH", "/nodes/n1", {"state": "drained", "reason": "fan 3"})
    said = subprocess.run([STRATA, "--socket", service.socket, "doctor"], capture_output=True, text=True).stdout
    assert "n1 is drained: fan 3. Nothing new starts there, and nothing runs.; `strata nodes resume n1`" in " ".join(said.split()), said


run(nothing_is_wrong, nodes_that_are_away_are_told_with_what_follows, jobs_that_can_never_start_are_told_to_who_may_do_something, there_are_so_many_and_no_more,
    doctor_tells_them)
