#!/usr/bin/env python3
"""Prompts and pictures are shown to their owner and to operators, and to nobody else."""
import os

from fake_worker import Worker, fake_service, generate
from service import Skip, as_nobody, equal, run_with


def need_root():
    if os.geteuid() != 0:
        raise Skip("it takes root to be somebody else")


def prompts_and_pictures_are_their_owners(service):
    need_root()
    generate(service, "a secret")
    Worker(service).work()
    for path in ("/tasks", "/tasks/1", "/tasks/1/why", "/events?format=json"):
        status, answer = as_nobody(service, "GET", "/api/v1" + path)
        equal((path, status), (path, 200))
        assert "secret" not in str(answer) and "hash" not in str(answer), answer
    kinds = {event["kind"] for event in as_nobody(service, "GET", "/api/v1/events?format=json")[1]["events"]}
    assert "task" not in kinds and "job.submitted" in kinds, kinds
    equal(as_nobody(service, "GET", "/api/v1/tasks/1/image")[0], 403)
    equal(as_nobody(service, "DELETE", "/api/v1/tasks/1/image")[0], 403)
    equal(as_nobody(service, "POST", "/api/v1/generate", {"prompt": "mine"})[0], 201)
    equal(as_nobody(service, "GET", "/api/v1/tasks/2")[1]["parameters"]["prompt"], "mine")
    equal(as_nobody(service, "DELETE", "/api/v1/tasks/2")[0], 200)


run_with(fake_service, prompts_and_pictures_are_their_owners)
