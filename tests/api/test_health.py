#!/usr/bin/env python3
"""Health, figures, the list of routes."""
from service import equal, run


def it_is_there_and_ready(service):
    equal(service.ask("GET", "/healthz")[0], 200)
    equal(service.ask("GET", "/readyz"), (200, {"status": "ready"}))


def figures_are_as_prometheus_wants_them(service):
    service.wait(service.submit("true")["id"], "completed")
    text = service.ask("GET", "/metrics")[1]
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    values = {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines}
    equal(values['strata_jobs{state="completed"}'], 1)
    equal(values["strata_gpus"], 12)
    assert values["strata_commits_total"] >= 1


def the_routes_are_listed(service):
    paths = service.ask("GET", "/openapi.json")[1]["paths"]
    assert "post" in paths["/api/v1/jobs"] and "get" in paths["/api/v1/queue"], paths


run(it_is_there_and_ready, figures_are_as_prometheus_wants_them, the_routes_are_listed)
