#!/usr/bin/env python3
"""Models: made, changed, paused and removed by operators, and kept."""
from fake_worker import Worker, fake_service, generate
from service import equal, run_with


def a_model_is_made_changed_and_removed(service):
    equal([one["name"] for one in service.api("GET", "/models")["models"]], ["digits"])
    made = service.api("PUT", "/models/big", {"folder": "/models/big", "gpus": 1, "memory": "12G", "workers_max": 4, "solver": "euler",
                                              "steps": 30, "width": 1024, "height": 512, "guidance_scale": 7}, 201)
    equal((made["gpus"], made["memory_bytes"], made["defaults"]["solver"], made["policy"]), (1, 12 << 30, "euler", "fair"))
    asked = generate(service, model="big")
    equal(asked["parameters"], {"prompt": "a seven", "steps": 30, "seed": asked["seed"], "n": 1, "scheduler": "euler", "width": 1024, "height": 512,
                                "guidance_scale": 7.0})
    service.kill()
    service.start()
    equal(service.api("GET", "/models/big")["defaults"]["steps"], 30)
    equal(service.ask("DELETE", "/api/v1/models/big")[0], 409)
    equal(service.ask("PUT", "/api/v1/models/big", {"folder": "/models/big", "batch": 8})[0], 409)
    service.api("PUT", "/models/big", {"folder": "/models/big", "steps": 5, "workers_max": 0})
    equal(generate(service, model="big")["steps"], 5)


def what_is_no_model_is_said(service):
    for name, body, word in [("-x", {"folder": "/m"}, "name of a model"), ("m", {}, "folder"), ("m", {"folder": "m"}, "absolute"),
                             ("m", {"folder": "/m", "backend": "abacus"}, "backend"), ("m", {"folder": "/m", "workers_min": 2}, "workers_max"),
                             ("m", {"folder": "/m", "batch": 33}, "32"), ("n" * 129, {"folder": "/m"}, "128")]:
        status, answer = service.ask("PUT", f"/api/v1/models/{name}", body)
        equal((name, body, status), (name, body, 400))
        assert word in answer["error"]["message"], answer
    equal(service.ask("GET", "/api/v1/models/m")[0], 404)
    equal(service.ask("DELETE", "/api/v1/models/m")[0], 404)
    equal(service.api("PUT", "/models/m", {"folder": "/m", "batch": 32, "workers_max": 0}, 201)["batch"], 32)
    service.api("DELETE", "/models/m")
    equal(service.ask("GET", "/api/v1/models/m")[0], 404)


def a_paused_model_waits(service):
    generate(service)
    worker = Worker(service)
    equal(service.api("POST", "/models/digits/pause")["paused"], True)
    equal(worker.pick()["tasks"], [])
    assert "paused" in service.api("GET", "/tasks/1/why")["text"]
    service.kill()
    service.start()
    equal(worker.pick()["tasks"], [])
    service.api("POST", "/models/digits/resume")
    equal(len(worker.pick(5000)["tasks"]), 1)


run_with(fake_service, a_model_is_made_changed_and_removed, what_is_no_model_is_said, a_paused_model_waits)
