#!/usr/bin/env python3
"""POST /api/v1/generate: an id at once, a sentence for what makes no sense, once for each key, refused when the queue is full."""
import json
from concurrent.futures import ThreadPoolExecutor

from fake_worker import Worker, fake_service, generate
from service import Connection, arguments, equal, run_with


def task(service, number):
    return service.api("GET", f"/tasks/{number}")


def the_id_comes_at_once(service):
    first = generate(service, "a seven", scheduler="ddim", steps=20, seed=5, width=64, height=32, guidance_scale=3.5)
    equal((first["id"], first["status"], first["model"], first["position"]), (1, "pending", "digits", 1))
    equal(first["parameters"], {"prompt": "a seven", "steps": 20, "seed": 5, "n": 1, "scheduler": "ddim", "width": 64, "height": 32,
                                "guidance_scale": 3.5})
    second = generate(service)
    equal((second["id"], second["position"]), (2, 2))
    assert second["seed"] >= 0 and second["parameters"]["seed"] == second["seed"], second
    equal(task(service, "T2")["id"], 2)


def what_makes_no_sense_is_said(service):
    for fields, word in [({"scheduler": "eulr"}, "did you mean 'euler'"), ({"steps": 1001}, "1000"), ({"num_frames": 2}, "no pipeline for videos"),
                         ({"model": "nosuch"}, "no model nosuch"), ({"prompt": "x" * 16385}, "16384"), ({"width": 8193}, "8192"), ({"n": 65}, "64"),
                         ({"priority": 11}, "10"), ({"schedule": "nosuch"}, "nosuch"), ({"deadline": "never"}, "deadline"), ({"colour": 1}, "colour")]:
        status, answer = service.ask("POST", "/api/v1/generate", {"prompt": "x", **fields})
        equal((fields, status), (fields, 400))
        assert word in answer["error"]["message"] + answer["error"]["field"], answer
    equal(service.ask("POST", "/api/v1/generate", {})[0], 400)
    equal(service.api("GET", "/tasks")["tasks"], [])
    for word in ("sampler", "solver", "scheduler"):
        equal(generate(service, "x" * 16384, **{word: "Euler a"}, n=64, width=8192, steps=1000)["parameters"]["scheduler"], "Euler a")


def a_key_makes_it_once(service):
    first = generate(service, headers={"Idempotency-Key": "k"}, seed=1)
    equal(generate(service, status=200, headers={"Idempotency-Key": "k"}, seed=1)["id"], first["id"])
    generate(service, status=409, headers={"Idempotency-Key": "k"}, seed=2)
    service.kill()
    service.start()
    equal(generate(service, status=200, headers={"Idempotency-Key": "k"}, seed=1)["id"], first["id"])
    equal(len(service.api("GET", "/tasks")["tasks"]), 1)


@arguments("--task-queue-max", "3")
def a_full_queue_says_when_to_come_back(service):
    for _ in range(3):
        generate(service)
    connection = Connection(service.socket)
    connection.request("POST", "/api/v1/generate", json.dumps({"prompt": "one more"}))
    answer = connection.getresponse()
    equal((answer.status, answer.getheader("Retry-After"), json.loads(answer.read())["error"]["code"]), (429, "5", "quota"))
    connection.close()
    service.api("DELETE", "/tasks/1")
    equal(generate(service)["id"], 4)


def several_are_taken_in_or_none(service):
    answer = service.api("POST", "/generate", {"requests": [{"prompt": "one", "seed": 1}, {"prompt": "two", "steps": 3}]}, 201,
                         headers={"Idempotency-Key": "k"})
    equal([(one["id"], one["parameters"]["prompt"], one["position"]) for one in answer["tasks"]], [(1, "one", 1), (2, "two", 2)])
    again = service.api("POST", "/generate", {"requests": [{"prompt": "one", "seed": 1}, {"prompt": "two", "steps": 3}]}, 200,
                        headers={"Idempotency-Key": "k"})
    equal(again, answer)
    for body, field in [({"requests": []}, "requests"), ({"requests": [{}]}, "requests[0].prompt"), ({"requests": [{"prompt": "x"}] * 257}, "requests"),
                        ({"requests": [{"prompt": "x"}, {"prompt": "x", "model": "nosuch"}]}, "requests[1].model"),
                        ({"requests": [{"prompt": "x"}], "prompt": "y"}, "prompt"), ({"requests": [{"prompt": "x"}, {"requests": []}]}, "requests[1].requests")]:
        status, error = service.ask("POST", "/api/v1/generate", body)
        equal((status, error["error"]["field"]), (400, field))
    equal(len(service.api("GET", "/tasks")["tasks"]), 2)
    equal(generate(service, requests=None)["id"], 4)  # null is not said; a number is not given out twice
    service.api("DELETE", "/tasks/4")
    service.kill()
    service.start()
    equal([one["parameters"]["prompt"] for one in service.api("GET", "/tasks")["tasks"]], ["a seven", "two", "one"])
    equal(len(service.api("POST", "/generate", {"requests": [{"prompt": "x"}] * 256}, 201)["tasks"]), 256)


@arguments("--task-queue-max", "3")
def a_list_that_does_not_fit_leaves_nothing(service):
    generate(service)
    service.api("POST", "/generate", {"requests": [{"prompt": "x"}] * 3}, 429)
    equal(len(service.api("GET", "/tasks")["tasks"]), 1)
    equal(service.api("GET", "/models/digits")["pending"], 1)
    equal(len(service.api("POST", "/generate", {"requests": [{"prompt": "x"}] * 2}, 201)["tasks"]), 2)
    service.kill()
    service.start()
    equal(len(service.api("GET", "/tasks")["tasks"]), 3)


def whoever_waits_for_several_gets_all_of_them(service):
    with ThreadPoolExecutor() as pool:
        waits = pool.submit(service.api, "POST", "/generate?wait=60s", {"requests": [{"prompt": "a", "width": 64}, {"prompt": "b", "width": 128}]}, 201)
        Worker(service).work(2)
        equal([(one["id"], one["status"], len(one["images"])) for one in waits.result()["tasks"]], [(1, "finished", 1), (2, "finished", 1)])
    equal([one["status"] for one in service.api("POST", "/generate?wait=50ms", {"requests": [{"prompt": "a"}]}, 201)["tasks"]], ["pending"])


def lists_say_what_may_be_asked_for(service):
    names = {one["name"] for one in service.api("GET", "/samplers")["samplers"]}
    assert {"ddim", "euler", "dpmpp_2m"} <= names, names
    assert any(one["name"] == "karras" for one in service.api("GET", "/schedules")["schedules"])


run_with(fake_service, the_id_comes_at_once, what_makes_no_sense_is_said, a_key_makes_it_once, a_full_queue_says_when_to_come_back,
         several_are_taken_in_or_none, a_list_that_does_not_fit_leaves_nothing, whoever_waits_for_several_gets_all_of_them,
         lists_say_what_may_be_asked_for)
