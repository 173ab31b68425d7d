#!/usr/bin/env python3
"""/sdapi/v1: A1111's API, with a worker of the test's own; tests/python-clients has a client of theirs."""
import base64
import os
import time
from concurrent.futures import ThreadPoolExecutor

from fake_worker import Worker, fake_service, png
from service import PATIENCE_S, arguments, as_nobody, equal, run_with

TCP = arguments("--listen", "127.0.0.1:0")


def ask(service, path, body=None, status=200, method="POST", **more):
    got, answer = service.ask(method, "/sdapi/v1/" + path, body, **more)
    equal((got, answer if got != status else None), (status, None))
    return answer


def their_words_become_ours(service):
    with ThreadPoolExecutor() as pool:
        waits = pool.submit(ask, service, "txt2img", {
            "prompt": "a seven", "negative_prompt": "a one", "sampler_name": "DPM++ 2M", "scheduler": "Karras", "steps": 4, "seed": 9, "cfg_scale": 3,
            "width": 64, "height": 32, "batch_size": 1, "n_iter": 2, "restore_faces": True, "alwayson_scripts": {}, "denoising_strength": 0.7,
            "styles": [], "eta": None, "hr_upscaler": "Latent"})
        Worker(service).work()
        answer = waits.result()
    equal(answer["images"], [base64.b64encode(png()).decode()])
    equal(service.api("GET", "/tasks/1")["parameters"], {"prompt": "a seven", "negative_prompt": "a one", "scheduler": "DPM++ 2M", "schedule": "Karras", "steps": 4,
                                                         "seed": 9, "n": 2, "width": 64, "height": 32, "guidance_scale": 3.0})
    assert '"seed":9' in answer["info"] and answer["parameters"]["steps"] == 4, answer


def a_picture_starts_from_a_picture(service):
    start = png(40, 70, 70)
    with ThreadPoolExecutor() as pool:
        waits = pool.submit(ask, service, "img2img", {"prompt": "x", "init_images": ["data:image/png;base64," + base64.b64encode(start).decode()],
                                                      "denoising_strength": 0.3, "sampler_index": "Euler a", "scheduler": "automatic", "send_images": False})
        Worker(service).work()
        equal(waits.result()["images"], [])
    parameters = service.api("GET", "/tasks/1")["parameters"]
    equal((parameters["strength"], parameters["width"], parameters["scheduler"], "schedule" in parameters), (0.3, 64, "Euler a", False))


def what_makes_no_sense_is_said(service):
    picture = base64.b64encode(png(1)).decode()
    for path, body, word in [("txt2img", {"sampler_name": "eulr"}, "did you mean"), ("txt2img", {"batch_size": 0}, "batch_size"), ("txt2img", {"n_iter": 65}, "n_iter"),
                             ("txt2img", {"batch_size": 64, "n_iter": 2}, "64"), ("txt2img", {"n_iter": 1.5}, "n_iter"), ("txt2img", {"steps": "many"}, "steps"),
                             ("img2img", {"prompt": "x"}, "init_images"), ("img2img", {"init_images": [picture] * 2}, "one picture"),
                             ("img2img", {"init_images": [7]}, "init_images"), ("img2img", {"init_images": ["x"]}, "base64"),
                             ("img2img", {"init_images": [picture], "mask": picture}, "mask"), ("txt2img", {"override_settings": {"sd_model_checkpoint": "q"}}, "no model q"),
                             ("options", {"sd_model_checkpoint": "q"}, "no model q")]:
        got, answer = service.ask("POST", "/sdapi/v1/" + path, body)
        assert got in (400, 422) and word in answer["error"]["message"], (path, body, got, answer)
    equal(service.api("GET", "/tasks")["tasks"], [])


def progress_and_interrupt_are_about_what_the_caller_waits_for(service):
    equal(ask(service, "progress", method="GET")["state"]["job_count"], 0)
    equal(ask(service, "interrupt"), {})
    other = service.api("POST", "/generate", {"prompt": "not waited for"}, 201)["id"]
    with ThreadPoolExecutor() as pool:
        waits = pool.submit(ask, service, "txt2img", {"prompt": "x", "steps": 8})
        deadline = time.time() + PATIENCE_S
        while not (now := ask(service, "progress", method="GET"))["state"]["job_count"]:
            assert time.time() < deadline
            time.sleep(0.02)
        equal((now["progress"], now["state"]["job"], now["state"]["sampling_steps"], now["current_image"]), (0.0, "T2", 8, None))
        worker = Worker(service)
        worker.pick(1000)
        while 2 not in worker.held:
            worker.report(steps=1)
            worker.pick(1000)
        worker.report(steps=2)
        worker.pick()
        equal(worker.ask("PUT", "/tasks/2/preview", png(5))[0], 204)
        now = ask(service, "progress", method="GET")
        assert now["progress"] >= 0.25 and base64.b64decode(now["current_image"]) == png(5) and now["eta_relative"] >= 0, now
        equal(ask(service, "progress?skip_current_image=true", method="GET")["current_image"], None)
        if os.geteuid() == 0:
            equal(as_nobody(service, "GET", "/sdapi/v1/progress")[1]["state"]["job_count"], 0)
            as_nobody(service, "POST", "/sdapi/v1/interrupt")
            equal(service.api("GET", "/tasks/2")["status"] in ("denoising", "encoding"), True)
        ask(service, "interrupt")
        equal(waits.result()["images"], [base64.b64encode(png(5)).decode()])  # as it looked last
    equal(service.api("GET", "/tasks/2")["status"], "cancelled")
    assert service.api("GET", f"/tasks/{other}")["status"] != "cancelled"


def lists_and_the_chosen_model(service):
    names = {one["name"]: one for one in ask(service, "samplers", method="GET")}
    assert "Euler a" in names and "DPM++ 2M" in names and "euler" in names["Euler"]["aliases"], sorted(names)
    assert {"automatic", "karras"} <= {one["name"] for one in ask(service, "schedulers", method="GET")}
    service.api("PUT", "/models/other", {"folder": "/models/other", "workers_max": 0}, 201)
    equal([one["title"] for one in ask(service, "sd-models", method="GET")], ["digits", "other"])
    equal(ask(service, "options", method="GET")["sd_model_checkpoint"], "digits")
    ask(service, "options", {"sd_model_checkpoint": "other", "eta_noise_seed_delta": 3})
    ask(service, "options", {"samples_format": "jpg"})
    equal(ask(service, "options", method="GET")["sd_model_checkpoint"], "other")
    if os.geteuid() == 0:
        equal(as_nobody(service, "GET", "/sdapi/v1/options")[1]["sd_model_checkpoint"], "digits")
    with ThreadPoolExecutor() as pool:
        waits = pool.submit(ask, service, "txt2img", {"prompt": "x"})
        deadline = time.time() + PATIENCE_S
        while not service.api("GET", "/tasks")["tasks"]:
            assert time.time() < deadline
            time.sleep(0.02)
        equal(service.api("GET", "/tasks/1")["model"], "other")
        service.api("DELETE", "/tasks/1")
        equal(waits.result()["images"], [])
    service.api("DELETE", "/models/other")
    equal(ask(service, "options", method="GET")["sd_model_checkpoint"], "digits")


def basic(name, token):
    return {"Authorization": "Basic " + base64.b64encode(f"{name}:{token}".encode()).decode()}


@TCP
def basic_works_here_and_nowhere_else(service):
    token = service.api("POST", "/tokens", {}, 201)["token"]
    equal(service.ask("GET", "/sdapi/v1/options", None, basic("me", token), True)[0], 200)
    equal(service.ask("GET", "/sdapi/v1/options", None, None, True, token)[0], 200)
    for path in ("/api/v1/queue", "/v1/models", "/sdapi", "//sdapi/v1/options"):
        equal((path, service.ask("GET", path, None, basic("me", token), True)[0]), (path, 401))
    for headers in (basic("me", token + "x"), basic("", ""), basic("x" * 2000, token), {"Authorization": "Basic"}, {"Authorization": "Basic "},
                    {"Authorization": "Basic %%%"}, {"Authorization": "Basic " + base64.b64encode(token.encode()).decode()},
                    {"Authorization": "Basic " + base64.b64encode(b"a\0:" + token.encode()).decode()}, {"Authorization": "Digest x"}):
        equal((headers, service.ask("GET", "/sdapi/v1/options", None, headers, True)[0]), (headers, 401))


run_with(fake_service, their_words_become_ours, a_picture_starts_from_a_picture, what_makes_no_sense_is_said,
         progress_and_interrupt_are_about_what_the_caller_waits_for, lists_and_the_chosen_model, basic_works_here_and_nowhere_else)
