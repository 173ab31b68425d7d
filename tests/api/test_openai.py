#!/usr/bin/env python3
"""/v1: OpenAI's API of pictures, byte by byte, with a worker of the test's own; tests/python-clients has their client. And links that expire."""
import base64
import json
import os
import re
import time
from concurrent.futures import ThreadPoolExecutor

from fake_worker import Worker, fake_service, png
from service import Connection, arguments, as_nobody, equal, run_with

TCP = arguments("--listen", "127.0.0.1:0")


def ask(service, status=200, path="/v1/images/generations", **body):
    got, answer = service.ask("POST", path, body)
    equal((got, answer if got != status else None), (status, None))
    return answer


def fetch(service, path):
    connection = Connection(service.socket)
    connection.request("GET", path)
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    return answer.status, data


def a_picture_comes_in_their_form(service):
    with ThreadPoolExecutor() as pool:
        waits = pool.submit(ask, service, prompt="a seven", n=1, size="64x32", user="u", quality="hd", style="vivid", negative_prompt=None, steps=4, seed=9)
        Worker(service).work()
        answer = waits.result()
    equal(base64.b64decode(answer["data"][0]["b64_json"]), png())
    assert abs(answer["created"] - time.time()) < 60, answer
    parameters = service.api("GET", "/tasks/1")["parameters"]
    equal(parameters, {"prompt": "a seven", "steps": 4, "seed": 9, "n": 1, "width": 64, "height": 32})
    path = re.fullmatch("http://localhost(/pictures/1/0/.*)", answer["data"][0]["url"])[1]
    equal(fetch(service, path), (200, png()))


def what_is_asked_for_is_given_and_no_more(service):
    with ThreadPoolExecutor() as pool:
        for form, keys in (("url", {"url"}), ("b64_json", {"b64_json"})):
            waits = pool.submit(ask, service, prompt="x", response_format=form)
            Worker(service).work()
            equal(set(waits.result()["data"][0]), keys)


def what_makes_no_sense_has_their_form(service):
    for body, param in [({}, "prompt"), ({"prompt": "x", "size": "big"}, "size"), ({"prompt": "x", "size": "0x5"}, "size"),
                        ({"prompt": "x", "size": "9000x9000"}, "size"), ({"prompt": "x", "n": 65}, "n"), ({"prompt": "x", "n": 10**30}, None),
                        ({"prompt": "x", "n": "two"}, "n"), ({"prompt": "x", "model": "dall-e-9"}, "model"), ({"prompt": "x", "stream": "yes"}, "stream"),
                        ({"prompt": "x", "response_format": "gif"}, "response_format"), ({"prompt": "x", "output_format": "webp"}, "output_format"),
                        ({"prompt": "x" * 20000}, "prompt"), ({"prompt": "x", "partial_images": 4}, "partial_images"), ({"prompt": "x", "scheduler": "eulr"}, "scheduler")]:
        error = ask(service, 400, **body)["error"]
        equal((error["type"], error["param"] if param else None), ("invalid_request_error", param))
        assert error["message"] and error["code"], error
    status, answer = service.ask("GET", "/v1/models/nosuch")
    equal((status, answer["error"]["code"]), (404, "not_found"))
    status, answer = service.ask("GET", "/v1/nosuch")
    equal((status, answer["error"]["type"]), (404, "invalid_request_error"))
    equal(service.api("GET", "/tasks")["tasks"], [])


def models_are_listed(service):
    status, answer = service.ask("GET", "/v1/models")
    equal((status, answer["object"], [(one["id"], one["object"]) for one in answer["data"]]), (200, "list", [("digits", "model")]))
    equal(service.ask("GET", "/v1/models/digits")[1], answer["data"][0])


def events(response):
    kind = None
    while line := response.readline().decode():
        name, _, value = line.rstrip("\n").partition(": ")
        if name == "event":
            kind = value
        elif name == "data":
            yield kind, json.loads(value)


def a_stream_shows_what_comes_of_it(service):
    connection = Connection(service.socket)
    connection.request("POST", "/v1/images/generations", json.dumps({"prompt": "x", "stream": True, "partial_images": 1}))
    response = connection.getresponse()
    stream = events(response)
    worker = Worker(service)
    worker.pick(1000)
    worker.report(steps=1)
    worker.pick()
    equal(worker.ask("PUT", "/tasks/1/preview", png(5))[0], 204)
    kind, data = next(stream)
    equal((kind, data["type"], data["partial_image_index"], base64.b64decode(data["b64_json"])),
          ("image_generation.partial_image", "image_generation.partial_image", 0, png(5)))
    equal(worker.ask("PUT", "/tasks/1/preview", png(6))[0], 204)  # one was wanted
    worker.finish(png(7))
    rest = list(stream)
    equal([(kind, base64.b64decode(data["b64_json"]), data["size"]) for kind, data in rest], [("image_generation.completed", png(7), "2x2")])
    connection.close()


def a_stream_says_why_there_is_none(service):
    connection = Connection(service.socket)
    connection.request("POST", "/v1/images/generations", json.dumps({"prompt": "x", "stream": True}))
    response = connection.getresponse()
    worker = Worker(service)
    worker.pick(1000)
    worker.report("failed", 0, error="too many fingers")
    equal([(kind, data["error"]["message"]) for kind, data in events(response)], [("error", "too many fingers")])
    connection.close()


def links_are_good_for_one_picture_until_they_expire(service):
    with ThreadPoolExecutor() as pool:
        waits = pool.submit(ask, service, prompt="x", response_format="url")
        Worker(service).work()
        path = waits.result()["data"][0]["url"].removeprefix("http://localhost")
    _, _, task, number, expires, mac = path.split("/")
    assert 3500 < int(expires) - time.time() < 3700, path
    equal(fetch(service, path)[0], 200)
    if os.geteuid() == 0:
        equal(as_nobody(service, "GET", "/api/v1/tasks/1/image")[0], 403)
    for bad in (f"{task}/1/{expires}/{mac}", f"2/{number}/{expires}/{mac}", f"{task}/{number}/{int(expires) + 1}/{mac}", f"{task}/{number}/{expires}/{mac[:-1]}0" if mac[-1] != "0" else
                f"{task}/{number}/{expires}/{mac[:-1]}1", f"{task}/{number}/{expires}/", f"{task}/..%2f0/{expires}/{mac}", f"0{task}/{number}/{expires}/{mac}",
                f"{task}/{number}/1/{mac}", "9" * 30 + f"/{number}/{expires}/{mac}"):
        status = fetch(service, "/pictures/" + bad)[0]
        assert status in (403, 404), (bad, status)
    service.kill()
    service.start()
    equal(fetch(service, path)[0], 200)
    service.api("DELETE", "/tasks/1/image")
    equal(fetch(service, path)[0], 404)


@TCP
def a_link_needs_no_token_and_the_rest_does(service):
    token = service.api("POST", "/tokens", {}, 201)["token"]
    with ThreadPoolExecutor() as pool:
        waits = pool.submit(service.ask, "POST", "/v1/images/generations", {"prompt": "x"}, None, True, token)
        Worker(service).work()
        url = waits.result()[1]["data"][0]["url"]
    assert url.startswith(f"http://127.0.0.1:{service.port()}/pictures/1/0/"), url
    import urllib.request
    with urllib.request.urlopen(url) as answer:
        equal(answer.read(), png())
    status, answer = service.ask("POST", "/v1/images/generations", {"prompt": "x"}, tcp=True)
    equal((status, answer["error"]["type"]), (401, "authentication_error"))
    status, answer = service.ask("GET", "/v1/models", headers={"Host": "evil\"host"})
    equal(status, 200)


run_with(fake_service, a_picture_comes_in_their_form, what_is_asked_for_is_given_and_no_more, what_makes_no_sense_has_their_form, models_are_listed,
         a_stream_shows_what_comes_of_it, a_stream_says_why_there_is_none, links_are_good_for_one_picture_until_they_expire,
         a_link_needs_no_token_and_the_rest_does)
