#!/usr/bin/env python3
"""OpenAI's Python package against the service, as its users write it: only base_url and api_key are ours."""
import base64
import urllib.error
import urllib.request

import clients_env

clients_env.enter()

import openai  # noqa: E402
from service import arguments, equal, run  # noqa: E402

TCP = arguments("--listen", "127.0.0.1:0")


def client(service, **more):
    return openai.OpenAI(base_url=f"http://127.0.0.1:{service.port()}/v1", api_key=clients_env.token(service), max_retries=0, **more)


@TCP
def a_prompt_becomes_a_picture(service):
    it = client(service)
    first = it.images.generate(model="digits", prompt="a seven", n=2, size="28x28", user="me", quality="hd", extra_body={"seed": 5, "steps": 6})
    pictures = [base64.b64decode(one.b64_json) for one in first.data]
    equal([picture[:4] for picture in pictures], [b"\x89PNG"] * 2)
    assert pictures[0] != pictures[1] and first.created > 0
    second = it.images.generate(model="digits", prompt="a seven", response_format="url", extra_body={"seed": 6, "steps": 6})
    equal(second.data[0].b64_json, None)
    with urllib.request.urlopen(second.data[0].url) as answer:
        equal(answer.read() == pictures[1], True)  # seed 5 and the next is seed 6
    try:
        urllib.request.urlopen(second.data[0].url[:-1] + ("0" if second.data[0].url[-1] != "0" else "1"))
        raise AssertionError("a changed link is good")
    except urllib.error.HTTPError as trouble:
        equal(trouble.code, 403)


@TCP
def a_stream_has_partial_pictures_and_the_whole_one(service):
    it = client(service)
    events = list(it.images.generate(model="digits", prompt="a seven", stream=True, partial_images=2, extra_body={"steps": 900, "seed": 1}))
    equal([type(event).__name__ for event in events][-1], "ImageGenCompletedEvent")
    partial = [event for event in events if event.type == "image_generation.partial_image"]
    assert 1 <= len(partial) <= 2 and [event.partial_image_index for event in partial] == list(range(len(partial))), events
    whole = it.images.generate(model="digits", prompt="a seven", extra_body={"steps": 900, "seed": 1})
    equal(events[-1].b64_json == whole.data[0].b64_json, True)


@TCP
def errors_are_the_ones_that_it_knows(service):
    it = client(service)
    for kind, fields in ((openai.BadRequestError, {"model": "dall-e-9", "prompt": "x"}), (openai.BadRequestError, {"prompt": "x", "n": 1000}),
                         (openai.UnprocessableEntityError, {"prompt": "x", "size": "64x64"})):
        try:
            it.images.generate(**fields)
            raise AssertionError(f"{fields} is good")
        except kind as trouble:
            assert trouble.type == "invalid_request_error" and trouble.code, trouble
    try:
        openai.OpenAI(base_url=it.base_url, api_key="strata_" + "x" * 43, max_retries=0).models.list()
        raise AssertionError("a wrong token is good")
    except openai.AuthenticationError as trouble:
        equal(trouble.type, "authentication_error")


@TCP
def models_are_listed(service):
    it = client(service)
    equal([model.id for model in it.models.list()], ["digits"])
    equal(it.models.retrieve("digits").object, "model")
    try:
        it.models.retrieve("nosuch")
        raise AssertionError("there is a model nosuch")
    except openai.NotFoundError:
        pass


run(a_prompt_becomes_a_picture, a_stream_has_partial_pictures_and_the_whole_one, errors_are_the_ones_that_it_knows, models_are_listed)
