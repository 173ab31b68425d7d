#!/usr/bin/env python3
"""Tokens: made once, good until they expire or are revoked, also after a restart; their texts are kept nowhere."""
import os
import time

from service import NOBODY, arguments, as_nobody, equal, run

TCP = arguments("--listen", "127.0.0.1:0")


@TCP
def a_token_stands_for_its_user(service):
    made = service.api("POST", "/tokens", {"comment": "laptop"}, 201)
    me = service.job(service.submit("true")["id"])["user"]
    equal((made["user"], made["role"], made["comment"]), (me, "user", "laptop"))
    status, job = service.ask("POST", "/api/v1/jobs", {"command": ["true"], "working_dir": service.dir}, tcp=True,
                              token=made["token"])
    equal(status, 201)
    equal(service.wait(job["id"], "completed")["user"], me)
    listed = service.api("GET", "/tokens")["tokens"]
    equal([token["id"] for token in listed], [made["id"]])
    assert listed[0]["used_at"] and "token" not in listed[0] and "hash" not in listed[0], listed


@TCP
def it_is_good_after_a_restart_and_until_revoked(service):
    made = service.api("POST", "/tokens", {}, 201)
    service.kill()
    service.start()
    equal(service.ask("GET", "/api/v1/queue", tcp=True, token=made["token"])[0], 200)
    equal(service.api("DELETE", f"/tokens/{made['id']}"), {"id": made["id"]})
    equal(service.ask("GET", "/api/v1/queue", tcp=True, token=made["token"])[0], 401)
    service.kill()
    service.start()
    equal(service.ask("GET", "/api/v1/queue", tcp=True, token=made["token"])[0], 401)
    assert service.api("POST", "/tokens", {}, 201)["id"] != made["id"]
    kinds = [event["kind"] for event in service.api("GET", "/events?format=json")["events"]]
    equal(kinds, ["token.made", "token.revoked", "token.made"])


@TCP
def it_expires(service):
    made = service.api("POST", "/tokens", {"expires_in": 1}, 201)
    equal(service.ask("GET", "/api/v1/queue", tcp=True, token=made["token"])[0], 200)
    deadline = time.time() + 10
    while service.ask("GET", "/api/v1/queue", tcp=True, token=made["token"])[0] == 200:
        assert time.time() < deadline
        time.sleep(0.1)
    equal(service.api("POST", "/tokens", {"expires_in": 0}, 201)["expires_at"], None)


@TCP
def a_token_makes_no_token(service):
    made = service.api("POST", "/tokens", {"role": "operator"}, 201)
    status, answer = service.ask("POST", "/api/v1/tokens", {}, tcp=True, token=made["token"])
    equal((status, "Unix socket" in answer["error"]["message"]), (403, True))
    admin = service.api("POST", "/tokens", {"role": "admin"}, 201)
    equal(service.ask("POST", "/api/v1/tokens", {}, tcp=True, token=admin["token"])[0], 201)


@TCP
def nobody_gives_more_than_he_has(service):
    if os.geteuid() != 0:
        return
    equal(as_nobody(service, "POST", "/api/v1/tokens", {"role": "operator"})[0], 403)
    equal(as_nobody(service, "POST", "/api/v1/tokens", {"user": "root"})[0], 403)
    equal(as_nobody(service, "POST", "/api/v1/tokens", {})[1]["user"], NOBODY)
    equal(service.api("POST", "/tokens", {"user": "no such user"}, 404)["error"]["field"], "user")
    equal(service.api("POST", "/tokens", {"role": "king"}, 400)["error"]["field"], "role")


@TCP
def the_text_is_kept_nowhere(service):
    text = service.api("POST", "/tokens", {}, 201)["token"]
    service.ask("GET", "/api/v1/queue", tcp=True, token=text)
    service.kill()
    for root, _, names in os.walk(service.dir):
        for name in names:
            path = os.path.join(root, name)
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    assert text.encode() not in file.read(), path
    service.start()


run(a_token_stands_for_its_user, it_is_good_after_a_restart_and_until_revoked, it_expires, a_token_makes_no_token,
    nobody_gives_more_than_he_has, the_text_is_kept_nowhere)
