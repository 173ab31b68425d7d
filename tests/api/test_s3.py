#!/usr/bin/env python3
"""The process that copies: what breaks is sent again, what an enemy answers does no harm; with a small S3 of our own, which
breaks in every way, or with moto (`test_s3.py moto`)."""
import hashlib
import json
import os
import shutil
import subprocess
import sys

from mirror_world import COPIER, MISSING, World
from service import PATIENCE_S, equal, run_with


def order(world, what, **more):
    given = {"what": what, "endpoint": world.s3.url, "region": world.s3.region, "bucket": world.s3.bucket, "access_key": world.s3.access,
             "secret_key": world.s3.secret, "key": "own/c", "dir": world.place, "name": "c", "part_bytes": 5 << 20, "retry_ns": 1000000, **more}
    done = subprocess.run([COPIER, "0", "0"], input=json.dumps(given), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=PATIENCE_S)
    return json.loads(done.stdout)


def make(world, size=12 << 20):
    path = os.path.join(world.place, "c")
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(path, "w"), "wb") as file:
        file.write(os.urandom(size))
    return path


def bytes_of(path):
    with open(os.path.join(path, "w"), "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def what_breaks_is_sent_again_and_nothing_twice(world):
    s3, path = world.s3, make(world)
    seen = {}

    def every_first(*what):
        what = str(what)
        seen[what] = seen.get(what, 0) + 1
        return ("cut", (500, "<Error><Code>InternalError</Code></Error>"), None)[min(seen[what], 3) - 1]

    s3.fault = every_first
    equal(order(world, "store")["code"], 0)
    s3.fault = None
    before, own = s3.keys(), bytes_of(path)
    equal(order(world, "store")["was_there"], True)
    equal(s3.keys(), before)
    shutil.rmtree(path)
    seen.clear()
    s3.fault = every_first
    equal(order(world, "fetch")["code"], 0)
    equal(bytes_of(path), own)
    s3.fault = None
    # cut at every request for good: an upload goes on where it was
    shutil.rmtree(path)
    make(world)
    s3.fault = lambda method, key, query: "cut" if query.get("partNumber") == "3" else None
    equal(order(world, "store")["code"], -11)
    s3.fault, s3.asked = None, []
    equal(order(world, "store")["code"], 0)
    equal([one[2]["partNumber"] for one in s3.asked if "partNumber" in one[2]], ["3"])
    equal((s3.uploads, order(world, "drop")["code"], s3.keys()), ({}, 0, []))


def credentials_that_end_are_said_so(world):
    make(world, 10)
    world.s3.expired = True
    told = order(world, "store")
    assert told["code"] == -13 and "400 ExpiredToken: no & never" in told["error"], told
    world.s3.expired, world.s3.session = False, "session/token=="
    assert "InvalidToken" in order(world, "store")["error"]
    equal(order(world, "store", session_token="session/token==")["code"], 0)
    assert "NoSuchBucket" in order(world, "store", bucket="other", session_token="session/token==")["error"]


def answers_of_an_enemy_do_no_harm(world):
    s3, path = world.s3, make(world, 1000)
    equal(order(world, "store")["code"], 0)
    shutil.rmtree(path)
    huge = b"<a>" * 3000000
    bomb = b'<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><Error><Code>&b;</Code></Error>'
    for answer, words in (((500, huge), "too large"), ((200, huge), "too large"), ((200, huge[:3000]), "cannot be read"), ((200, b"x" * (5 << 20)), "too large"), ((403, bomb), "says 403"),
                          ((200, b"{}"), "version"), ((200, b"\0\xff"), "cannot be read"),
                          ((301, b"", {"Location": f"{s3.url}/bucket/own/elsewhere"}), "sends on to another address"),
                          ((307, b"", {"Location": "file:///etc/passwd"}), "sends on to another address")):
        s3.fault, s3.asked = lambda *what, answer=answer: answer, []
        told = order(world, "fetch")
        assert told["code"] < 0 and words in told["error"], (answer[0], answer[1][:40], told)
        assert all("elsewhere" not in (one[1] or "") for one in s3.asked)
        equal(os.listdir(world.place), ["credentials"])
    s3.fault = None
    manifest = next(key for key in s3.keys() if key.endswith("/manifest"))
    good = json.loads(s3.objects[manifest][0])

    def told_of(**changes):
        s3.objects[manifest] = (json.dumps({**good, **changes}).encode(), "e")
        return order(world, "fetch", bytes_max=1 << 20)

    file = good["files"][0]
    for bad in ("../../etc/x", "/etc/x", "a/../../x", "", ".", "..", "a//b", "x" * 300, "/".join("d" * 17)):
        told = told_of(files=[{**file, "path": bad}])
        assert told["code"] < 0 and not os.path.exists("/etc/x"), (bad, told)
    for changes in ({"files": [{**file, "size_bytes": 1 << 40}]}, {"files": [{**file, "size_bytes": -1}]}, {"files": [file] * 70000},
                    {"directories": ["../x"]}, {"version": "../../x"}, {"files": [{**file, "sha256": "0" * 64}]},
                    {"files": [{**file, "size_bytes": 10}]}, {"files": [{**file, "size_bytes": 2000}]}, {"files": [file, file]},
                    {"files": [{**file, "mode": 0o4755}]}):
        told = told_of(**changes)
        assert told["code"] < 0, (changes, told)
        equal(os.listdir(world.place), ["credentials"])
    wrong = next(key for key in s3.keys() if not key.endswith("/manifest"))
    s3.objects[manifest] = (json.dumps(good).encode(), "e")
    s3.objects[wrong] = (os.urandom(1000), "e")
    told = order(world, "fetch")
    assert told["code"] < 0 and "is not what was stored: its SHA-256 is" in told["error"], told
    equal(os.listdir(world.place), ["credentials"])


def what_cannot_be_copied_is_said(world):
    path = make(world, 10)
    os.symlink("/etc/passwd", os.path.join(path, "link"))
    assert "neither a file nor a directory" in order(world, "store")["error"]
    os.unlink(os.path.join(path, "link"))
    os.mkfifo(os.path.join(path, "pipe"))
    assert "neither a file nor a directory" in order(world, "store")["error"]
    os.unlink(os.path.join(path, "pipe"))
    for bad in ({"name": "../c"}, {"name": ".c"}, {"key": "a b"}, {"key": "../x"}, {"secret_key": ""}, {"more": 1}):
        assert order(world, "store", **bad)["code"] < 0, bad
    equal(world.s3.keys(), [])
    path = os.path.join(world.place, "one")
    with open(path, "w") as file:
        file.write("a file")
    equal(order(world, "store", name="one", key="own/one")["code"], 0)
    os.unlink(path)
    equal(order(world, "fetch", name="one", key="own/one")["code"], 0)
    with open(path) as file:
        equal(file.read(), "a file")


BOTH = [what_cannot_be_copied_is_said]
OURS = [what_breaks_is_sent_again_and_nothing_twice, credentials_that_end_are_said_so, answers_of_an_enemy_do_no_harm]
run_with(World, *(BOTH if "moto" in sys.argv else BOTH + OURS), skip=MISSING)
