#!/usr/bin/env python3
"""The package webuiapi against the service, as users of stable-diffusion-webui write it: only host, port and password are ours."""
import os
import shutil
import threading
import time

import clients_env

clients_env.enter()

import webuiapi  # noqa: E402
from PIL import Image  # noqa: E402
from service import PATIENCE_S, Skip, arguments, equal, run  # noqa: E402

TCP = arguments("--listen", "127.0.0.1:0")
SIZE = {"width": 28, "height": 28}


def client(service):
    return webuiapi.WebUIApi(host="127.0.0.1", port=service.port(), username="me", password=clients_env.token(service))


@TCP
def a_prompt_becomes_a_picture(service):
    api = client(service)
    found = api.txt2img(prompt="a seven", negative_prompt="a one", seed=5, steps=6, cfg_scale=2, batch_size=2, sampler_name="Euler a", scheduler="Automatic", **SIZE)
    equal(([picture.size for picture in found.images], found.info["seed"], found.info["all_seeds"]), ([(28, 28)] * 2, 5, [5, 6]))
    again = api.txt2img(prompt="a seven", negative_prompt="a one", seed=6, steps=6, cfg_scale=2, sampler_name="Euler a", **SIZE)
    equal(again.image.tobytes() == found.images[1].tobytes(), True)
    for sampler in ("DPM++ 2M Karras", "Heun", "UniPC"):
        equal(api.txt2img(prompt="a seven", steps=3, sampler_name=sampler, **SIZE).image.size, (28, 28))


@TCP
def a_picture_becomes_a_picture(service):
    folder = os.path.join(os.environ.get("STRATA_DATA", "../shared"), "golden/pipelines/tiny-sd")
    if not os.path.isdir(folder):
        raise Skip(f"there is no {folder}")
    shutil.copytree(folder, os.path.join(service.dir, "tiny"))
    service.api("PUT", "/models/tiny", {"folder": os.path.join(service.dir, "tiny")}, 201)
    api = client(service)
    api.util_set_model("tiny")
    equal(api.util_get_current_model(), "tiny")
    found = api.img2img(images=[Image.new("RGB", (100, 70), (200, 100, 50))], prompt="a fox", denoising_strength=0.5, steps=4, width=64, height=64, seed=1)
    equal((found.image.size, found.info["sd_model_name"]), ((64, 64), "tiny"))


@TCP
def progress_is_told_and_it_can_be_interrupted(service):
    api, done = client(service), []
    thread = threading.Thread(target=lambda: done.append(api.txt2img(prompt="a three", steps=1000, **SIZE)))
    thread.start()
    deadline = time.time() + PATIENCE_S
    while (now := api.get_progress())["state"]["sampling_step"] < 10:
        assert time.time() < deadline, now
        time.sleep(0.05)
    assert 0 < now["progress"] < 1 and now["state"]["job_count"] == 1, now
    api.interrupt()
    thread.join()
    assert len(done[0].images) <= 1, done
    equal(service.api("GET", "/tasks/1")["status"], "cancelled")
    api.util_wait_for_ready(check_interval=0.1)


@TCP
def lists_are_in_its_form(service):
    api = client(service)
    assert {"Euler", "Euler a", "DPM++ 2M"} <= set(api.util_get_sampler_names()), api.util_get_sampler_names()
    assert "karras" in api.util_get_scheduler_names()
    equal((api.util_get_model_names(), api.util_get_current_model()), (["digits"], "digits"))
    try:
        api.txt2img(prompt="x", sampler_name="nosuch")
        raise AssertionError("there is a sampler nosuch")
    except RuntimeError as trouble:
        equal(trouble.args[0], 400)


run(a_prompt_becomes_a_picture, a_picture_becomes_a_picture, progress_is_told_and_it_can_be_interrupted, lists_are_in_its_form)
