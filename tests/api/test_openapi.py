#!/usr/bin/env python3
"""The API as programs read it: complete, and without loose ends."""
import re

from service import equal, run


def references(node):
    if isinstance(node, dict):
        if "$ref" in node:
            yield node["$ref"]
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def the_document_holds_together(service):
    document = service.ask("GET", "/openapi.json")[1]
    equal(document["openapi"], "3.1.0")
    for reference in references(document):
        target = document
        for part in reference.removeprefix("#/").split("/"):
            target = target[part]
        assert isinstance(target, dict), reference
    for path, methods in document["paths"].items():
        assert "*" not in path, path
        for method, about in methods.items():
            named = [parameter["name"] for parameter in about["parameters"] if parameter["in"] == "path"]
            equal(named, re.findall(r"{(\w+)}", path))
            assert about["summary"] and about["responses"], (method, path)


def what_can_be_asked_for_is_described(service):
    document = service.ask("GET", "/openapi.json")[1]
    body = document["paths"]["/api/v1/jobs"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    job = document["components"]["schemas"][body["$ref"].rsplit("/", 1)[1]]
    assert {"command", "gpus", "time_limit", "dependencies", "array"} <= set(job["properties"]), job["properties"].keys()
    # what it says is what is taken: every field of a small job, and no other
    service.submit("true", gpus=1, time_limit=60, hold=True)
    error = service.submit("true", nonsense=1, status=400)["error"]
    equal((error["field"], "nonsense" in job["properties"]), ("nonsense", False))
    codes = document["components"]["responses"]["error"]["content"]["application/json"]["schema"]["properties"]["error"]["properties"]["code"]["enum"]
    assert error["code"] in codes and len(set(codes)) == len(codes), codes
    queries = {parameter["name"] for parameter in document["paths"]["/api/v1/jobs"]["get"]["parameters"]}
    equal(queries, {"state", "user", "account", "partition", "name", "since", "until", "array", "limit", "after"})


run(the_document_holds_together, what_can_be_asked_for_is_described)
