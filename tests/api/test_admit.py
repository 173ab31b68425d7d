#!/usr/bin/env python3
"""Who may submit what, whichever way it comes in: accounts, partitions and qos that somebody made; bands and nice that somebody allowed."""
import os
import pwd
import subprocess

from service import NOBODY, NODES, STRATA, Service, Skip, as_nobody, equal, run_with

SIZE = "cpus=4:memory=8G:gpus=0:partitions"
PARTITIONS = f"n1:{SIZE}=long,n2:{SIZE}='long,gpu',n3:{SIZE}=gpu"
SCRIPT = "#!/bin/sh\n#SBATCH --hold --chdir=/tmp --output=/dev/null\n"


def need_root():
    if os.geteuid() != 0:
        raise Skip("it takes root to be somebody else")


def job(**fields):
    return {"command": ["true"], "working_dir": "/tmp", "output": "/dev/null", "hold": True, **fields}


def theirs(service, status=201, **fields):
    """A submission of somebody else's."""
    got, answer = as_nobody(service, "POST", "/api/v1/jobs", job(**fields))
    assert got == status, (got, answer)
    return answer if status == 201 else answer["error"]


def refused(service, field, status=403, **fields):
    """Every way in refuses it, and nothing is left of it."""
    before = service.api("GET", "/queue")["jobs"]
    error = theirs(service, status, **fields)
    equal(error["field"], field)
    theirs(service, status, array="1-3", **fields)
    got, answer = as_nobody(service, "POST", "/api/v1/jobs", {"jobs": [job(), job(**fields)]})
    equal((got, answer["error"]["field"]), (status, f"jobs[1].{field}"))
    words = [f"--{name.replace('priority', 'comment')}={value}" for name, value in fields.items()]
    if "priority" not in fields:  # which sbatch has no word for
        got, answer = as_nobody(service, "POST", "/api/v1/slurm/sbatch", {"script": SCRIPT, "options": words},
                                {"Content-Type": "application/json"})
        equal((got, answer["error"]["field"]), (status, field))
    equal(len(service.api("GET", "/queue")["jobs"]), len(before))
    return error["message"]


def sbatch(service, *words, user=None):
    script = os.path.join(service.dir, "job.sh")
    with open(script, "w") as file:
        file.write(SCRIPT)
    os.chmod(script, 0o755)
    as_user = {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []} if user else {}
    return subprocess.run([os.path.abspath(STRATA), "slurm", "sbatch", *words, script], capture_output=True, text=True, cwd="/tmp",
                          env={**os.environ, "STRATA_SOCKET": service.socket, "HOME": "/tmp"}, **as_user)


def names_that_nobody_made_are_refused(service):
    service.api("PUT", "/accounts/physics", {})
    service.api("PUT", "/qos/fast", {})
    service.api("PUT", "/partitions/gpu", {})
    for name, near, made in (("account", "phisics", "physics"), ("qos", "fats", "fast"), ("partition", "gpus", "gpu")):
        for value in (near, "freedom"):
            error = service.submit("true", **{name: value}, status=404)["error"]
            equal(error["field"], name)
            assert f"'{value}'" in error["message"] and (f"did you mean '{made}'" in error["message"]) == (value == near), error
    equal(service.api("GET", "/queue")["jobs"], [])
    for kind in ("accounts", "qos", "partitions"):
        equal(len(service.api("GET", f"/{kind}")[kind]), 1)  # none was invented


def sbatch_says_what_slurm_says(service):
    service.api("PUT", "/accounts/physics", {})
    for word, sentence in (("-Afreedom", "Invalid account or account/partition combination specified"),
                           ("-pfreedom", "Invalid partition name specified"), ("-qfreedom", "Invalid qos specification")):
        done = sbatch(service, word)
        assert f"sbatch: error: Batch job submission failed: {sentence}" in done.stderr.splitlines(), done.stderr
        equal((done.returncode, done.stdout), (1, ""))
    for state in ("drain", "inactive"):
        service.api("PUT", "/partitions/gpu", {"state": state})
        done = sbatch(service, "-pgpu")
        equal(done.stderr.splitlines()[0],
              "sbatch: error: Batch job submission failed: Required partition not available (inactive or drain)")
    equal(sbatch(service, "-pall").returncode, 0)  # as sinfo calls the nodes that are in no partition


def a_user_nobody_spoke_of_has_no_account_and_the_default_qos(service):
    need_root()
    service.api("PUT", "/accounts/physics", {})
    service.api("PUT", "/qos/normal", {"default": True})
    service.api("PUT", "/qos/fast", {"priority": 10})
    told = service.job(theirs(service)["id"])
    equal((told["account"], told["qos"], told["partition"]), (None, "normal", None))
    assert "allowed: none" in refused(service, "account", account="physics")
    assert "allowed: normal" in refused(service, "qos", qos="fast")
    for fields in ({"account": "physics", "qos": "fast"}, {"priority": "high", "nice": -5}):
        service.submit("true", hold=True, **fields)  # operators may


def users_have_accounts_and_qos(service):
    need_root()
    for account in ("physics", "lab", "other"):
        service.api("PUT", f"/accounts/{account}", {})
    for qos in ("slow", "fast", "other"):
        service.api("PUT", f"/qos/{qos}", {"priority": 10})
    service.api("PUT", f"/users/{NOBODY}", {"account": "physics", "allowed_accounts": ["lab"], "qos": "slow", "allowed_qos": ["fast"]})
    told = service.job(theirs(service)["id"])
    equal((told["account"], told["qos"]), ("physics", "slow"))
    for fields in ({"account": "physics"}, {"account": "lab"}, {"qos": "fast"}):
        theirs(service, **fields)
    assert "allowed: physics, lab" in refused(service, "account", account="other")
    assert "allowed: slow, fast" in refused(service, "qos", qos="other")
    service.kill()
    service.start()
    refused(service, "account", account="other")
    jobs = service.api("GET", "/queue")["jobs"]
    equal(sorted(job["account"] for job in jobs), ["lab", "physics", "physics", "physics"])


def partitions_say_who_may_use_them(service):
    need_root()
    service.api("PUT", "/accounts/physics", {})
    service.api("PUT", "/partitions/gpu", {"allowed_users": ["root"]})
    refused(service, "partition", partition="gpu")
    theirs(service, partition="long")
    # whoever names none goes where it may
    mine = service.job(theirs(service)["id"])
    equal(mine["request"]["node_exclude"], "n3")
    far = as_nobody(service, "POST", "/api/v1/jobs", {**job(node_list="n3", queue_anyway=True), "hold": False})[1]["id"]
    equal(service.job(far)["reason"], "impossible")
    service.kill()
    service.start()
    equal(service.job(far)["reason"], "impossible")
    service.api("PUT", "/partitions/gpu", {"allowed_users": [NOBODY], "allowed_accounts": ["physics"]})
    refused(service, "account", partition="gpu")
    service.api("PUT", f"/users/{NOBODY}", {"account": "physics"})
    theirs(service, partition="gpu")
    service.api("PUT", "/partitions/long", {"allowed_users": ["root"]})
    service.api("PUT", "/partitions/gpu", {"allowed_users": ["root"]})
    assert "no partition is open" in theirs(service, 403)["message"]


def partitions_are_up_down_drained_or_inactive(service):
    states = {"up": (True, True), "down": (True, False), "drain": (False, True), "inactive": (False, False)}
    for state, (takes, starts) in states.items():
        service.api("PATCH", "/partitions/gpu", {"state": "down"})
        waits = service.submit("true", partition="gpu")["id"]
        service.wait(waits, "queued")
        equal(service.api("PATCH", "/partitions/gpu", {"state": state})["state"], state)
        answer = service.submit("true", partition="gpu", status=201 if takes else 409)
        if not takes:
            assert answer["error"]["field"] == "partition" and "takes no new jobs" in answer["error"]["message"], answer
        if starts:
            service.wait(waits, "completed")
        else:
            equal(service.wait(waits, "queued")["reason"], "partition_down")
            assert any(state in line for line in service.api("GET", f"/jobs/{waits}/why")["sentences"])
        service.submit("true", partition="long")
    service.kill()
    service.start()
    service.submit("true", partition="gpu", status=409)


def going_before_others_needs_a_right(service):
    need_root()
    service.api("PUT", "/accounts/lab", {})
    service.api("PUT", "/qos/fast", {})
    service.api("PUT", f"/users/{NOBODY}", {"allowed_accounts": ["lab"], "allowed_qos": ["fast"]})
    message = refused(service, "priority", priority="high")
    assert f"strata users set {NOBODY} --raise-priority" in message, message
    refused(service, "nice", nice=-1)
    theirs(service, priority="low", nice=5)
    for kind, name, fields in (("users", NOBODY, {}), ("accounts", "lab", {"account": "lab"}), ("qos", "fast", {"qos": "fast"})):
        service.api("PATCH", f"/{kind}/{name}", {"raise_priority": True})
        theirs(service, priority="high", nice=-1, **fields)
        service.api("PATCH", f"/{kind}/{name}", {"raise_priority": False})
        theirs(service, 403, priority="high", **fields)


def a_change_gives_no_more_than_a_submission(service):
    need_root()
    mine = theirs(service, nice=3)["id"]

    def change(status, **fields):
        got, answer = as_nobody(service, "PATCH", f"/api/v1/jobs/{mine}", fields)
        assert got == status, (got, answer)
        return answer

    for fields, field in (({"priority": "high"}, "priority"), ({"nice": -1}, "nice"), ({"time_limit": "31d"}, "time_limit")):
        equal(change(403, hold=False, **fields)["error"]["field"], field)
        equal(service.job(mine)["reason"], "held")  # nothing of it was done
    change(200, nice=0, priority="low", time_limit="2d")
    service.api("PATCH", f"/jobs/{mine}", {"priority": "high", "nice": -4})  # an operator gives it
    change(200, priority="high", nice=-4)  # which is what it has
    change(403, nice=-5)
    about = [event["about"] for event in service.api("GET", "/events?format=json")["events"] if event["kind"] == "job.changed"]
    equal(about[1], {"by": "root", "from": {"priority": "low", "nice": 0}, "to": {"priority": "high", "nice": -4}})


partitions_say_who_may_use_them.nodes = partitions_are_up_down_drained_or_inactive.nodes = PARTITIONS
run_with(lambda test: Service(nodes=getattr(test, "nodes", NODES)),
         names_that_nobody_made_are_refused, sbatch_says_what_slurm_says, a_user_nobody_spoke_of_has_no_account_and_the_default_qos,
         users_have_accounts_and_qos, partitions_say_who_may_use_them, partitions_are_up_down_drained_or_inactive,
         going_before_others_needs_a_right, a_change_gives_no_more_than_a_submission)
