#!/usr/bin/env python3
"""Tokens: made once, good until they expire or are revoked, also after a restart; their texts are kept nowhere."""
import glob
import os
import sqlite3
import time

from service import NOBODY, PATIENCE_S, Skip, arguments, as_nobody, equal, run

TCP = arguments("--listen", "127.0.0.1:0")
GENEROUS = arguments("--listen", "127.0.0.1:0", "--token-from-token")
OF_A_USER, OF_ALL = 64, 4096  # STRATA_USER_TOKENS_MAX and STRATA_TOKENS_MAX


def rows(service, change=None, *values):
    """The tokens that the store has: their numbers, oldest first."""
    with sqlite3.connect(glob.glob(os.path.join(service.state, "*.db"))[0], timeout=PATIENCE_S) as store:
        if change:
            store.executemany(change, *values)
        return [int(row[0]) for row in store.execute("SELECT id FROM tokens ORDER BY CAST(id AS INTEGER)")]


def over_tcp(service, token, body, status):
    got, answer = service.ask("POST", "/api/v1/tokens", body, tcp=True, token=token)
    assert got == status, (got, answer)
    return answer


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
    for role in ("user", "operator", "admin"):
        made = service.api("POST", "/tokens", {"role": role, "expires_in": 30}, 201)
        for body in ({}, {"expires_in": 0}, {"role": "read-only", "expires_in": 1}):
            error = over_tcp(service, made["token"], body, 403)["error"]["message"]
            assert "Unix socket" in error and "token_from_token" in error, error
        equal(service.ask("POST", "/api/v1/tokens", {}, token=made["token"])[0], 403)  # shown on the socket it is no more


@GENEROUS
def where_the_setting_allows_it_a_token_makes_no_more_than_itself(service):
    made = service.api("POST", "/tokens", {"role": "operator", "expires_in": 600}, 201)
    child = over_tcp(service, made["token"], {}, 201)
    equal((child["user"], child["role"], child["expires_at"]), (made["user"], "user", made["expires_at"]))
    equal(over_tcp(service, made["token"], {"role": "operator", "expires_in": 60}, 201)["role"], "operator")
    for body, field in [({"role": "admin"}, "role"), ({"user": NOBODY}, "user"), ({"expires_in": 0}, "expires_in"),
                        ({"expires_in": 601}, "expires_in")]:
        equal(over_tcp(service, made["token"], body, 403)["error"]["field"], field)
    admin = service.api("POST", "/tokens", {"role": "admin", "expires_in": 0}, 201)
    equal(over_tcp(service, admin["token"], {"user": NOBODY}, 403)["error"]["field"], "user")
    equal(over_tcp(service, admin["token"], {"expires_in": 0}, 201)["expires_at"], None)


@GENEROUS
def what_a_token_made_ends_when_it_is_revoked(service):
    made = service.api("POST", "/tokens", {}, 201)
    child = over_tcp(service, made["token"], {}, 201)
    grandchild = over_tcp(service, child["token"], {}, 201)
    other = service.api("POST", "/tokens", {}, 201)
    service.kill()
    service.start()
    service.api("DELETE", f"/tokens/{made['id']}")
    for token, status in ((made, 401), (child, 401), (grandchild, 401), (other, 200)):
        equal(service.ask("GET", "/api/v1/queue", tcp=True, token=token["token"])[0], status)


@GENEROUS
def the_token_of_a_job_makes_none(service):
    job = service.submit("sh", "-c", "cat $STRATA_TOKEN_FILE; sleep 60", output="token")["id"]
    service.wait(job, "running")
    deadline = time.time() + PATIENCE_S
    while not (os.path.exists(os.path.join(service.dir, "token")) and service.output("token")):
        assert time.time() < deadline
        time.sleep(0.02)
    over_tcp(service, service.output("token"), {}, 403)


@arguments("--keep", "4s")  # so that it looks every second
def what_is_over_is_deleted(service):
    for _ in range(3):
        service.api("POST", "/tokens", {"expires_in": 1}, 201)
    revoked = service.api("POST", "/tokens", {}, 201)["id"]
    service.api("DELETE", f"/tokens/{revoked}")
    last = int(service.api("POST", "/tokens", {}, 201)["id"])
    service.api("DELETE", f"/tokens/{last}")
    deadline = time.time() + PATIENCE_S
    while rows(service) != [last]:  # it stays, so that its number is not used again
        assert time.time() < deadline, rows(service)
        time.sleep(0.1)
    equal(service.api("GET", "/tokens")["tokens"], [])
    service.kill()
    service.start()
    equal(int(service.api("POST", "/tokens", {}, 201)["id"]), last + 1)


@TCP
def a_user_has_so_many_and_no_more(service):
    for _ in range(OF_A_USER):
        service.api("POST", "/tokens", {}, 201)
    error = service.api("POST", "/tokens", {}, 429)["error"]
    assert f"{OF_A_USER} tokens" in error["message"] and "strata token revoke" in error["message"], error
    service.api("DELETE", "/tokens/1")
    service.api("POST", "/tokens", {}, 201)
    if os.geteuid() == 0:
        service.api("POST", "/tokens", {"user": NOBODY}, 201)  # the limit is each user's own


@TCP
def there_are_so_many_and_no_more(service):
    service.kill()
    names = "id, hash, user_id, role, created_at, expires_at, revoked_at, used_at"
    rows(service, f"INSERT INTO tokens ({names}) VALUES (?, ?, ?, 'user', 1, 0, 0, 0)",
         [(str(i), f"{i:064x}", f"u{i}") for i in range(1, OF_ALL)])
    service.start()
    service.api("POST", "/tokens", {}, 201)
    error = service.api("POST", "/tokens", {}, 429)["error"]
    assert f"{OF_ALL} tokens" in error["message"], error
    service.api("DELETE", "/tokens/5")
    service.api("POST", "/tokens", {}, 201)


@TCP
def nobody_gives_more_than_he_has(service):
    if os.geteuid() != 0:
        raise Skip("it takes root to be somebody else")
    status, answer = as_nobody(service, "POST", "/api/v1/tokens", {"role": "operator"})
    equal((status, answer["error"]["message"]), (403, "role is operator; expected at most user, which is your own"))
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
    where_the_setting_allows_it_a_token_makes_no_more_than_itself, what_a_token_made_ends_when_it_is_revoked,
    the_token_of_a_job_makes_none, what_is_over_is_deleted, a_user_has_so_many_and_no_more, there_are_so_many_and_no_more,
    nobody_gives_more_than_he_has, the_text_is_kept_nowhere)
