#!/usr/bin/env python3
"""What the service works out for people: asked for, looked at, cancelled; whose it is."""
import json
import os
import time

from service import NOBODY, Skip, arguments, as_nobody, equal, printable, run

OVER = ("done", "failed", "cancelled")
UNET = os.path.join(os.environ.get("STRATA_SOURCE", "."), "models", "digits", "unet", "model.onnx")


def past(service, count=24):
    for i in range(count):
        service.submit("sleep", str(0.02 * (i % 3)), gpus=i % 5, time_limit="10m")
    deadline = time.time() + 60
    while service.api("GET", "/queue")["jobs"] and time.time() < deadline:
        time.sleep(0.1)


def finish(service, study, want="done"):
    deadline = time.time() + 60
    while (now := service.api("GET", f"/studies/{study['id']}"))["state"] not in OVER:
        assert time.time() < deadline, now
        time.sleep(0.05)
    equal((now["state"], now["error"] if want == "done" else None), (want, None))
    return now


def policies(service, *specs, status=202, **more):
    return service.api("POST", "/studies", {"policies": list(specs), **more}, status)


def the_past_is_replayed_under_others(service):
    past(service)
    study = finish(service, policies(service, "", "sjf/conservative"))
    equal(study["asked"].split(",")[1], "sjf/conservative/requested/best_fit")
    result = study["result"]
    real, usual, other = result["trials"]
    equal((result["jobs"], real["order"], usual["order"], other["order"], other["backfill"]), (24, "as it was", "fair_share", "sjf", "conservative"))
    equal(result["users"], [service.job(1)["user"]])
    for trial in result["trials"]:
        equal((trial["jobs"], len(trial["waits_s"]), trial["users"][0]["user"], sum(size["jobs"] for size in trial["sizes"])), (24, 101, 1, 24))
        assert trial["waits_s"] == sorted(trial["waits_s"]) and abs(trial["waits_s"][-1] - trial["max_wait_s"]) < 1e-6, trial
    listed = service.api("GET", "/studies")
    equal(([one["id"] for one in listed["studies"]], "result" in listed["studies"][0]), ([study["id"]], False))
    equal((listed["policies"]["order"]["now"], "sjf" in [one["name"] for one in listed["policies"]["order"]["classes"]]), ("fair_share", True))
    service.api("DELETE", f"/studies/{study['id']}")
    equal(service.ask("GET", f"/api/v1/studies/{study['id']}")[0], 404)


def what_makes_no_sense_is_refused(service):
    for specs in ([], ["a"] * 5, ["--config=/etc/passwd"], ["fifo,sjf"], ["fifo /x"], ["x" * 201], ["fi\nfo"]):
        equal(policies(service, *specs, status=400)["error"]["field"].split("[")[0].split(".")[0], "policies")
    equal(policies(service, "fifo", since="1s", status=400)["error"]["field"], "since")
    assert "no job of that time" in finish(service, policies(service, "fifo"), "failed")["error"]
    past(service, 3)
    for spec, words in (("nosuch", "there is no order 'nosuch'"), ("fifo/nosuch", "there is no backfill 'nosuch'"),
                        ("turnaround:bound=often", "bound"), ("fifo/easy/requested/best_fit/more", "'more' is a fifth part")):
        error = policies(service, spec, status=400)["error"]
        assert error["field"] == "policies" and words in error["message"], (spec, error)
    for dims in ("--config%3Dx", "a%20b", "batch%3D1%3Bx"):
        equal(service.ask("POST", f"/api/v1/plans?dims={dims}", b"x")[1]["error"]["field"], "dims")
    equal(service.ask("POST", "/api/v1/plans", b"")[0], 400)


def a_model_is_planned_and_forgotten(service):
    with open(UNET, "rb") as file:
        study = finish(service, service.ask("POST", "/api/v1/plans?name=unet.onnx", file.read())[1])
    plan = study["result"]
    equal((study["name"], plan["workload"], len(plan["ops"])), ("unet.onnx", "diffusion", 285))
    assert plan["latency_ns"] > 0 and plan["devices"] and plan["alternatives"], plan
    for nonsense in (b"\x08\x07garbage", b"{}", b"\x00", b"\xff" * 1000, b"[" * 100000):
        study = service.ask("POST", "/api/v1/plans", nonsense)[1]
        assert finish(service, study, "failed")["error"], nonsense[:10]
    service.api("GET", "/queue")  # and the service is there


def what_was_observed_stands_beside_what_is_predicted(service):
    """The process without rights gets what the service's user has learned, and a damaged file is as none."""
    with open(UNET, "rb") as file:
        model = file.read()
    path = os.path.join(service.dir, "home", "strata", "experience.json")
    os.makedirs(os.path.dirname(path))
    device = finish(service, service.ask("POST", "/api/v1/plans?name=unet.onnx", model)[1])["result"]["devices"][0]["name"]
    for text, conv in ((json.dumps({"strata_experience": 1, "devices": {device: {"Conv": {"slow": 1.0, "fast": 0.5, "count": 7}, "Mul": {"slow": 99, "fast": 0, "count": 1}},
                                                                      "elsewhere": {"Add": {"slow": 1.0, "fast": 0, "count": 3}}}}), (2, 7)), ("damaged", (None, 0)), (None, (None, 0))):
        if text is None:
            os.unlink(path)
        else:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(path, 0o600)
        service.kill()
        service.start({"XDG_STATE_HOME": os.path.join(service.dir, "home")})
        plan = finish(service, service.ask("POST", "/api/v1/plans?name=unet.onnx", model)[1])["result"]
        of = {one["kind"]: one for one in plan["observed"]}
        equal((of["Conv"]["factor"], of["Conv"]["seen"]), conv)
        equal([(kind, one["factor"]) for kind, one in of.items() if kind in ("Mul", "Add")], [("Mul", None), ("Add", None)])  # nonsense; another device
        busy = sum(op["finish_ns"] - op["start_ns"] for op in plan["ops"] if op["kind"] == "Conv")
        assert abs(of["Conv"]["predicted_ns"] - busy) < 1e-6 * busy, (of["Conv"], busy)


def names_in_a_model_are_shown_as_text(service):
    evil = "<b>\u202e\x1b[31m\x9b</b>"
    graph = {"ops": [{"name": evil, "kind": evil, "flops": 5}], "edges": []}
    study = service.ask("POST", "/api/v1/plans?name=%3Ci%3E%E2%80%AEx.onnx", graph)
    if study[0] == 202:
        study = service.api("GET", f"/studies/{study[1]['id']}")
        while study["state"] in ("waiting", "running"):
            study = service.api("GET", f"/studies/{study['id']}")
    status, data = service.ask_raw("GET", "/api/v1/studies")
    text = data.decode()
    assert printable(text.replace("\n", "")), text
    status, data = service.ask_raw("GET", "/api/v1/studies/1")
    assert printable(data.decode().replace("\n", "")), data


def a_user_has_one_at_a_time_and_sees_his_own(service):
    if os.geteuid() != 0:
        raise Skip("it takes root to be somebody else")
    past(service, 3)
    mine = finish(service, policies(service, "fifo"))
    equal(as_nobody(service, "GET", f"/api/v1/studies/{mine['id']}")[0], 404)
    equal(as_nobody(service, "DELETE", f"/api/v1/studies/{mine['id']}")[0], 404)
    equal(as_nobody(service, "GET", "/api/v1/studies")[1]["studies"], [])
    status, theirs = as_nobody(service, "POST", "/api/v1/studies", {"policies": ["sjf"]})
    equal((status, theirs["user"]), (202, NOBODY))
    finish(service, theirs)  # an operator sees it
    equal(len(service.api("GET", "/studies")["studies"]), 2)


@arguments("--listen", "127.0.0.1:0")
def many_are_kept_and_no_more(service):
    past(service, 2)
    for _ in range(34):
        finish(service, policies(service, "fifo"))
    studies = service.api("GET", "/studies")["studies"]
    equal((len(studies), studies[0]["id"]), (32, 34))  # the newest


run(the_past_is_replayed_under_others, what_makes_no_sense_is_refused, a_model_is_planned_and_forgotten, what_was_observed_stands_beside_what_is_predicted, names_in_a_model_are_shown_as_text, a_user_has_one_at_a_time_and_sees_his_own, many_are_kept_and_no_more)
