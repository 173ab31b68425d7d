#!/usr/bin/env python3
"""Health and figures."""
import time

from service import equal, run


def it_is_there_and_ready(service):
    equal(service.ask("GET", "/healthz")[0], 200)
    status, answer = service.ask("GET", "/readyz")
    equal((status, answer["status"]), (200, "ready"))
    assert "memory: " in answer["limits"] and "CPUs: " in answer["limits"], answer
    assert "limits of jobs: " + answer["limits"] in service.said()


def figures_are_as_prometheus_wants_them(service):
    service.wait(service.submit("true")["id"], "completed")
    text = service.ask("GET", "/metrics")[1]
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    values = {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines}
    equal(values['strata_jobs{state="completed"}'], 1)
    equal(values["strata_gpus"], 12)
    assert values["strata_commits_total"] >= 1
    for name in ("pass", "store", "wait", "run", "http"):
        assert values[f"strata_{name}_seconds_count"] >= 1, name
        equal(values[f"strata_{name}_seconds_count"], values[f'strata_{name}_seconds_bucket{{le="+Inf"}}'])
    service.api("GET", "/nothing", status=404)
    service.submit("true", gpus=12, nodes=3)
    service.submit("sleep", "60", gpus=12, nodes=3)
    waits = service.submit("sleep", "60", gpus=12, nodes=3)["id"]
    service.submit("true", hold=True)
    deadline = time.time() + 20
    while time.time() < deadline:
        values = dict(line.rsplit(" ", 1) for line in service.ask("GET", "/metrics")[1].splitlines())
        if float(values["strata_oldest_waiting_seconds"]) > 0.5:
            break
    assert float(values["strata_oldest_waiting_seconds"]) > 0.5 and service.job(waits)["state"] == "queued"
    equal(values['strata_http_requests_total{code="4xx"}'], "1")


run(it_is_there_and_ready, figures_are_as_prometheus_wants_them)
