#!/usr/bin/env python3
"""Who may ask what: every route by every kind of caller. A route without a row here fails."""
import os
import re

from service import NOBODY, Skip, arguments, as_nobody, equal, run

TCP = arguments("--listen", "127.0.0.1:0")
CALLERS = ["socket", "none", "wrong", "read-only", "user", "operator", "admin"]

# What a caller gets: somebody else on the socket; over TCP nobody, with a wrong token, and with a token of each role that is somebody else's.
ANYBODY = [200, 200, 200, 200, 200, 200, 200]
READERS = [200, 401, 401, 200, 200, 200, 200]
OWNERS = [403, 401, 401, 403, 403, 200, 200]  # of somebody else's job
USERS = [400, 401, 401, 403, 400, 400, 400]  # with a body that makes no sense
OPERATORS = [403, 401, 401, 403, 403, 200, 200]
ADMINS = [403, 401, 401, 403, 403, 403, 200]

TABLE = {
    ("GET", "/healthz"): ANYBODY, ("GET", "/readyz"): ANYBODY, ("GET", "/openapi.json"): ANYBODY,
    ("GET", "/metrics"): READERS,
    ("POST", "/api/v1/jobs"): USERS,
    ("GET", "/api/v1/jobs"): READERS,
    ("GET", "/api/v1/jobs/*"): READERS,
    ("PATCH", "/api/v1/jobs/*"): OWNERS,
    ("GET", "/api/v1/jobs/*/why"): READERS,
    ("GET", "/api/v1/jobs/*/output"): OWNERS,
    ("GET", "/api/v1/jobs/*/checkpoints"): READERS,
    ("POST", "/api/v1/jobs/*/checkpoints"): [403, 401, 401, 403, 403, 201, 201],
    ("DELETE", "/api/v1/jobs/*/checkpoints"): OWNERS,
    ("GET", "/api/v1/jobs/*/script"): OWNERS,
    ("GET", "/api/v1/jobs/*/steps"): READERS,
    ("POST", "/api/v1/jobs/*/steps"): [403, 401, 401, 403, 403, 201, 201],
    ("PATCH", "/api/v1/jobs/*/steps/*"): [403, 401, 401, 403, 403, 404, 404],
    ("POST", "/api/v1/jobs/*/resubmit"): [403, 401, 401, 403, 403, 403, 403],  # somebody else's, whoever asks
    ("DELETE", "/api/v1/jobs/*"): [403, 401, 401, 403, 403, 202, 202],
    ("POST", "/api/v1/reload"): [202 if code == 200 else code for code in OPERATORS],
    ("GET", "/api/v1/queue"): READERS,
    ("GET", "/api/v1/nodes"): READERS,
    ("GET", "/api/v1/topology"): READERS,
    ("GET", "/api/v1/gpus"): READERS,
    ("GET", "/api/v1/reservations"): READERS,
    ("GET", "/api/v1/settings"): OPERATORS,
    ("POST", "/api/v1/reservations"): OPERATORS,
    ("DELETE", "/api/v1/reservations/*"): [403, 401, 401, 403, 403, 404, 404],
    ("PUT", "/api/v1/reservations/*"): [403, 401, 401, 403, 403, 400, 400],  # without nodes
    ("PATCH", "/api/v1/nodes/*"): OPERATORS,
    ("GET", "/api/v1/tokens"): [200, 401, 401, 403, 200, 200, 200],
    ("POST", "/api/v1/tokens"): [403, 401, 401, 403, 403, 403, 403],  # a token makes none
    ("DELETE", "/api/v1/tokens/*"): [404, 401, 401, 403, 404, 404, 200],  # somebody else's
    ("GET", "/api/v1/webhooks"): [200, 401, 401, 403, 200, 200, 200],
    ("GET", "/api/v1/accounting"): READERS,
    ("GET", "/api/v1/events"): READERS,
    ("GET", "/api/v1/passes"): READERS,
    ("GET", "/api/v1/trace"): READERS,
    ("POST", "/api/v1/slurm/sbatch"): [422 if status == 400 else status for status in USERS],  # no script
}
TABLE.update({
    # the page's own files say nothing about anybody
    ("GET", "/"): ANYBODY, ("GET", "/web/*/*"): [404] * 7,
    ("GET", "/api/v1/jobs/*/samples"): OWNERS, ("GET", "/api/v1/jobs/*/sooner"): OWNERS,
    ("GET", "/api/v1/problems"): READERS,
    ("POST", "/api/v1/studies"): USERS, ("POST", "/api/v1/plans"): USERS, ("GET", "/api/v1/studies"): READERS,
    ("GET", "/api/v1/studies/*"): [404, 401, 401, 404, 404, 404, 404], ("DELETE", "/api/v1/studies/*"): [404, 401, 401, 403, 404, 404, 404],
    ("POST", "/api/v1/trial"): USERS, ("GET", "/api/v1/series"): READERS, ("GET", "/api/v1/figures"): READERS,
    ("GET", "/api/v1/report"): READERS,
    ("GET", "/api/v1/session"): READERS,
    ("POST", "/api/v1/session"): [403, 401, 401, 201, 201, 201, 201],
    ("DELETE", "/api/v1/session"): [409, 401, 401, 409, 409, 409, 409],  # a token is no session
    ("DELETE", "/api/v1/session/*"): [404, 401, 401, 404, 404, 404, 404],
    ("POST", "/api/v1/session-link"): [201, 401, 401, 403, 403, 403, 403],  # over the socket
    ("GET", "/api/v1/webhooks"): [200, 401, 401, 403, 200, 200, 200],
    ("POST", "/api/v1/generate"): USERS,
    ("GET", "/api/v1/samplers"): READERS, ("GET", "/api/v1/schedules"): READERS,
    ("GET", "/api/v1/tasks"): READERS, ("GET", "/api/v1/tasks/*"): READERS, ("GET", "/api/v1/tasks/*/why"): READERS,
    ("PATCH", "/api/v1/tasks/*"): OWNERS, ("DELETE", "/api/v1/tasks/*"): OWNERS,
    ("GET", "/api/v1/tasks/*/image"): [403, 401, 401, 403, 403, 404, 404],  # there is none yet
    ("GET", "/api/v1/tasks/*/image/*"): [403, 401, 401, 403, 403, 404, 404],
    ("DELETE", "/api/v1/tasks/*/image"): [403, 401, 401, 403, 403, 409, 409],
    ("GET", "/api/v1/tasks/*/preview"): [403, 401, 401, 403, 403, 404, 404],
    ("GET", "/api/v1/tasks/*/trace"): [403, 401, 401, 403, 403, 404, 404],
    ("GET", "/api/v1/tasks/*/events"): OWNERS,
    ("GET", "/api/v1/models"): READERS, ("GET", "/api/v1/models/*"): READERS,
    ("PUT", "/api/v1/models/*"): OPERATORS, ("DELETE", "/api/v1/models/*"): [403, 401, 401, 403, 403, 409, 409],  # a task needs it
    ("POST", "/api/v1/models/*/pause"): OPERATORS, ("POST", "/api/v1/models/*/resume"): OPERATORS,
    ("POST", "/v1/images/generations"): USERS, ("GET", "/v1/models"): READERS, ("GET", "/v1/models/*"): READERS,
    ("GET", "/pictures/*/*/*/*"): [403] * 7,  # a link that nobody made
    ("POST", "/sdapi/v1/txt2img"): USERS, ("POST", "/sdapi/v1/img2img"): USERS, ("GET", "/sdapi/v1/progress"): READERS,
    ("POST", "/sdapi/v1/interrupt"): [200, 401, 401, 403, 200, 200, 200],  # of nothing of his
    ("GET", "/sdapi/v1/samplers"): READERS, ("GET", "/sdapi/v1/schedulers"): READERS, ("GET", "/sdapi/v1/sd-models"): READERS,
    ("GET", "/sdapi/v1/options"): READERS, ("POST", "/sdapi/v1/options"): USERS,
    ("POST", "/api/v1/models/*/default"): OPERATORS, ("POST", "/api/v1/models/*/warm"): OPERATORS,
    # only a job that the service started for a model
    ("POST", "/api/v1/worker/pick"): [403, 401, 401, 403, 403, 403, 403], ("POST", "/api/v1/worker/done"): [403, 401, 401, 403, 403, 403, 403],
    ("GET", "/api/v1/worker/tasks/*/init"): [403, 401, 401, 403, 403, 403, 403],
    ("POST", "/api/v1/worker/beat"): [403, 401, 401, 403, 403, 403, 403],
    ("POST", "/api/v1/worker/trouble"): [403, 401, 401, 403, 403, 403, 403],
    ("PUT", "/api/v1/worker/image"): [403, 401, 401, 403, 403, 403, 403],
    ("PUT", "/api/v1/worker/tasks/*/preview"): [403, 401, 401, 403, 403, 403, 403],
    ("PUT", "/api/v1/worker/tasks/*/latents"): [403, 401, 401, 403, 403, 403, 403],
    ("PUT", "/api/v1/worker/tasks/*/trace"): [403, 401, 401, 403, 403, 403, 403],
    ("GET", "/api/v1/worker/tasks/*/latents"): [403, 401, 401, 403, 403, 403, 403],
})
for KIND in ("users", "accounts", "qos", "partitions"):
    TABLE[("GET", f"/api/v1/{KIND}")] = READERS
    TABLE[("PUT", f"/api/v1/{KIND}/*")] = TABLE[("PATCH", f"/api/v1/{KIND}/*")] = TABLE[("DELETE", f"/api/v1/{KIND}/*")] = ADMINS
TABLE[("PATCH", "/api/v1/users/*")] = OPERATORS  # weight and limits of others

# Changes of users by operators and administrators: of whom, what.
USER_CHANGES = [({"weight": 2}, 200, 200), ({"limits": {"jobs": 3}}, 200, 200), ({"weight": 2, "raise_priority": True}, 403, 200), ({"raise_priority": False}, 403, 200),
                ({"allowed_accounts": []}, 403, 200), ({"allowed_qos": []}, 403, 200), ({"account": ""}, 403, 200), ({"qos": ""}, 403, 200), ({"mail": "a@b.example"}, 403, 200)]

# What jobs may ask for, by who submits them. There are an account, a partition that is root's, and two qos.
GRANTED = [201, 401, 401, 403, 201, 201, 201]  # to every user
OPERATORS_ONLY = [403, 401, 401, 403, 403, 201, 201]
UNKNOWN = [404, 401, 401, 403, 404, 404, 404]
WISHES = [
    ({}, GRANTED), ({"priority": "low"}, GRANTED), ({"nice": 5}, GRANTED), ({"qos": "usual"}, GRANTED), ({"partition": "all"}, GRANTED),
    ({"account": "lab"}, OPERATORS_ONLY), ({"partition": "gpu"}, OPERATORS_ONLY), ({"qos": "fast"}, OPERATORS_ONLY),
    ({"priority": "high"}, OPERATORS_ONLY), ({"nice": -1}, OPERATORS_ONLY),
    ({"account": "freedom"}, UNKNOWN), ({"partition": "freedom"}, UNKNOWN), ({"qos": "freedom"}, UNKNOWN),
]
# What changes of one's own job may ask for.
CHANGES = [({"priority": "low"}, [200, 401, 401, 403, 200, 200, 200]), ({"priority": "high"}, OPERATORS), ({"nice": -1}, OPERATORS),
           ({"time_limit": "40d"}, OPERATORS)]
# Tokens that are asked for with a token, without and with the setting that allows it.
TOKENS = [({}, [201, 401, 401, 403, 403, 403, 403], [201, 401, 401, 403, 201, 201, 201]),
          ({"expires_in": 0}, [201, 401, 401, 403, 403, 403, 403], [201, 401, 401, 403, 403, 403, 403]),
          ({"role": "operator"}, [403, 401, 401, 403, 403, 403, 403], [403, 401, 401, 403, 403, 201, 201]),
          ({"user": "root"}, [403, 401, 401, 403, 403, 403, 403], [403, 401, 401, 403, 403, 403, 403])]

BODIES = {("POST", "/api/v1/trial"): {"jobs": []}, ("POST", "/api/v1/studies"): {"policies": []}, ("POST", "/api/v1/plans"): "", ("POST", "/v1/images/generations"): {"nonsense": 1}, ("POST", "/sdapi/v1/txt2img"): {"n_iter": 0}, ("POST", "/sdapi/v1/img2img"): {},
          ("POST", "/sdapi/v1/options"): {"sd_model_checkpoint": "nosuch"}, ("POST", "/api/v1/generate"): {"nonsense": 1}, ("PATCH", "/api/v1/tasks/*"): {"priority": 3}, ("PUT", "/api/v1/models/*"): {},
          ("POST", "/api/v1/jobs"): {"nonsense": 1}, ("PATCH", "/api/v1/jobs/*"): {"nice": 1},
          ("PATCH", "/api/v1/nodes/*"): {"state": "up"}, ("POST", "/api/v1/reservations"): {"job_id": "theirs"},
          ("POST", "/api/v1/tokens"): {"user": "root", "role": "read-only"},
          ("POST", "/api/v1/jobs/*/checkpoints"): {"path": "/tmp"}, ("PATCH", "/api/v1/jobs/*/steps/*"): {"exit_code": 0}}


def settings(path):
    return {"weight": 1} if "users" in path or "accounts" in path else {"priority": 1}


def real(path, job, token, task=1):
    return (path.replace("tasks/*", f"tasks/{task}").replace("image/*", "image/0").replace("models/*", "models/digits").replace("nodes/*", "nodes/n1").replace("tokens/*", f"tokens/{token}").replace("jobs/*", f"jobs/{job}").replace("steps/*", "steps/0")
            .replace("*", "someone").replace("v1/events", "v1/events?format=json"))


def ask_as(service, caller, tokens, method, path, body):
    if caller == "socket":
        return as_nobody(service, method, path, body)
    token = {"none": None, "wrong": "strata_" + "x" * 43}.get(caller, tokens.get(caller))
    return service.ask(method, path, body, tcp=True, token=token)


def their_tokens(service):
    return {role: service.api("POST", "/tokens", {"user": NOBODY, "role": role}, 201)["token"] for role in CALLERS[3:]}


def need_root():
    if os.geteuid() != 0:
        raise Skip("it takes root to be somebody else")


@TCP
def every_cell_of_the_table_holds(service):
    need_root()
    routes = {(method.upper(), re.sub("{\\w+}", "*", path)) for path, methods in service.ask("GET", "/openapi.json")[1]["paths"].items()
              for method in methods}
    equal(routes, set(TABLE))
    service.api("POST", "/reservations", {"job_id": "theirs"}, 201)
    tokens = their_tokens(service)
    for (method, path), row in TABLE.items():
        body = BODIES.get((method, path), settings(path) if method in ("PUT", "PATCH") else None)
        for caller, want in zip(CALLERS, row):
            runs = path.endswith("output") or (method, path) in (("DELETE", "/api/v1/jobs/*"), ("POST", "/api/v1/jobs/*/checkpoints"),
                                                                 ("POST", "/api/v1/jobs/*/steps"))
            job = service.submit("sleep", "60", output="/dev/null", hold=not runs)["id"]
            mine = service.api("POST", "/tokens", {}, 201)["id"]
            service.api("POST", "/models/digits/pause")  # or a worker may have drawn it by then
            task = service.api("POST", "/generate", {"prompt": "a seven"}, 201)["id"]
            if runs:
                service.wait(job, "running")
            if path.endswith("tasks/*/events"):  # a stream that ends
                service.ask("DELETE", f"/api/v1/tasks/{task}")
            target = real(path, job, mine, task)
            got = ask_as(service, caller, tokens, method, target, body)
            assert got[0] == want, f"{method} {path} by {caller} gave {got}, expected {want}"
            service.ask("DELETE", f"/api/v1/jobs/{job}")
            service.ask("DELETE", f"/api/v1/tokens/{mine}")
            service.ask("DELETE", f"/api/v1/tasks/{task}")


@TCP
def operators_change_weight_and_limits_of_other_users(service):
    need_root()
    service.api("PUT", "/users/ann", {"weight": 1})
    operator, admin = (service.api("POST", "/tokens", {"user": NOBODY, "role": role}, 201)["token"] for role in ("operator", "admin"))
    for body, by_operator, by_admin in USER_CHANGES:
        for token, want in ((operator, by_operator), (admin, by_admin)):
            got = service.ask("PATCH", "/api/v1/users/ann", body, tcp=True, token=token)
            assert got[0] == want, f"{body} gave {got}, expected {want}"
    for name in (NOBODY, "root"):  # himself; who is an administrator
        got = service.ask("PATCH", f"/api/v1/users/{name}", {"weight": 2}, tcp=True, token=operator)
        assert got[0] == 403, f"{name} was changed by an operator: {got}"
    service.api("POST", "/tokens", {"user": "daemon", "role": "user"}, 201)
    equal(service.ask("PATCH", "/api/v1/users/daemon", {"weight": 2}, tcp=True, token=operator)[0], 200)
    high = service.api("POST", "/tokens", {"user": "daemon", "role": "operator"}, 201)
    got = service.ask("PATCH", "/api/v1/users/daemon", {"weight": 3}, tcp=True, token=operator)
    equal(got[0], 403)
    assert "daemon has a token of an operator or administrator" in got[1]["error"]["message"], got
    of = {user["name"]: user["may_change"] for user in service.ask("GET", "/api/v1/users", tcp=True, token=operator)[1]["users"]}
    equal(of, {"ann": True, "daemon": False})
    service.api("DELETE", f"/tokens/{high['id']}")
    equal(service.ask("PATCH", "/api/v1/users/daemon", {"weight": 3}, tcp=True, token=operator)[0], 200)
    last = [event["about"] for event in service.api("GET", "/events?format=json&limit=1000")["events"] if event["kind"] == "entity.changed"][-1]
    equal((last["name"], last["by"], last["from"], last["to"]), ("daemon", NOBODY, {"weight": 2}, {"weight": 3}))


@TCP
def jobs_get_what_their_callers_may_ask_for(service):
    need_root()
    service.api("PUT", "/accounts/lab", {})
    service.api("PUT", "/partitions/gpu", {"allowed_users": ["root"]})
    service.api("PUT", "/qos/usual", {"default": True})
    service.api("PUT", "/qos/fast", {"priority": 10})
    tokens = their_tokens(service)
    job = {"command": ["true"], "working_dir": "/tmp", "output": "/dev/null", "hold": True}
    for wish, row in WISHES:
        for caller, want in zip(CALLERS, row):
            got = ask_as(service, caller, tokens, "POST", "/api/v1/jobs", {**job, **wish})
            assert got[0] == want, f"{wish} by {caller} gave {got}, expected {want}"
    for change, row in CHANGES:
        for caller, want in zip(CALLERS, row):
            mine = as_nobody(service, "POST", "/api/v1/jobs", job)[1]["id"]
            got = ask_as(service, caller, tokens, "PATCH", f"/api/v1/jobs/{mine}", change)
            assert got[0] == want, f"{change} by {caller} gave {got}, expected {want}"


def check_tokens(service, allowed):
    need_root()
    tokens = their_tokens(service)
    for wish, *rows in TOKENS:
        for caller, want in zip(CALLERS, rows[allowed]):
            got = ask_as(service, caller, tokens, "POST", "/api/v1/tokens", wish)
            assert got[0] == want, f"{wish} by {caller} gave {got}, expected {want}"


@TCP
def a_token_makes_no_token(service):
    check_tokens(service, False)


@arguments("--listen", "127.0.0.1:0", "--token-from-token")
def a_token_makes_no_more_than_itself_where_that_is_allowed(service):
    check_tokens(service, True)


@TCP
def a_token_counts_instead_of_the_uid(service):
    token = service.api("POST", "/tokens", {"role": "read-only"}, 201)["token"]
    equal(service.ask("POST", "/api/v1/jobs", {}, token=token)[0], 403)
    equal(service.ask("GET", "/api/v1/queue", token="strata_no")[0], 401)


@TCP
def what_is_refused_is_not_read(service):
    """Authorised before anything is parsed: a body that is no JSON does not matter to who may not send it."""
    token = service.api("POST", "/tokens", {"role": "read-only"}, 201)["token"]
    for secret, want in ((None, 401), ("strata_" + "x" * 43, 401), (token, 403)):
        equal(service.ask("POST", "/api/v1/jobs", "no json", tcp=True, token=secret)[0], want)


run(operators_change_weight_and_limits_of_other_users, every_cell_of_the_table_holds, jobs_get_what_their_callers_may_ask_for, a_token_makes_no_token,
    a_token_makes_no_more_than_itself_where_that_is_allowed, a_token_counts_instead_of_the_uid, what_is_refused_is_not_read)
