#!/usr/bin/env python3
"""Signing in to the page: sessions, their cookies and keys, what they are good for, and when they end."""
import http.client
import json
import os
import re
import signal
import subprocess

from service import NOBODY, STRATA, PATIENCE_S, Skip, arguments, equal, run

TCP = arguments("--listen", "127.0.0.1:0")


class Browser:
    """Keeps a cookie and a page's key, and sends what a browser would."""

    def __init__(self, service):
        self.port, self.cookie, self.key = service.port(), None, None

    def ask(self, method, path, headers=None, host=None, token=None, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        host = host or f"127.0.0.1:{self.port}"
        sent = {"Host": host, "Origin": f"http://{host}", "User-Agent": "Test/1.0 (a <b>)"}
        if token:
            sent["Authorization"] = f"Bearer {token}"
        if self.cookie and not token:
            sent["Cookie"] = f"other=1; {self.cookie}"
        if self.key and not token:
            sent["X-Strata-Page"] = self.key
        sent.update(headers or {})
        try:
            connection.request(method, path, body and json.dumps(body), {name: value for name, value in sent.items() if value is not None})
            answer = connection.getresponse()
            self.headers, data = answer.headers, answer.read()
            return answer.status, json.loads(data) if "json" in (answer.getheader("Content-Type") or "") else data
        finally:
            connection.close()

    def api(self, method, path, status=200, **more):
        got, answer = self.ask(method, "/api/v1" + path, **more)
        assert got == status, (method, path, got, answer)
        return answer

    def sign_in(self, token, **more):
        answer = self.api("POST", "/session", 201, token=token, **more)
        self.set_cookie = self.headers["Set-Cookie"]
        self.cookie, self.key = self.set_cookie.split(";")[0], answer["key"]
        return answer


def signed_in(service, **token):
    made = service.api("POST", "/tokens", token, 201)
    browser = Browser(service)
    browser.sign_in(made["token"])
    return browser, made


@TCP
def a_session_has_the_rights_of_its_token(service):
    browser, made = signed_in(service, role="read-only")
    own = browser.api("GET", "/session")
    equal((own["role"], own["cluster"]), ("read-only", "strata"))
    equal([(one["this"], one["browser"]) for one in own["sessions"]], [(True, "Test/1.0 (a <b>)")])
    equal(own["expires_at"] <= made["expires_at"], True)
    browser.api("GET", "/queue")
    equal(browser.api("POST", "/jobs", 403, body={"command": ["true"]})["error"]["code"], "forbidden")
    browser, _ = signed_in(service, role="user")
    browser.api("POST", "/jobs", 201, body={"command": ["true"], "working_dir": service.dir})


@TCP
def the_cookie_is_for_the_browser_alone(service):
    browser, _ = signed_in(service)
    words = [word.strip() for word in browser.set_cookie.split(";")]
    assert {"HttpOnly", "SameSite=Strict", "Path=/api/"} <= set(words) and "Secure" not in words, words
    assert words[0].startswith(f"strata_session_{service.port()}=strata_"), words
    token = browser.cookie.split("=")[1]
    equal(browser.ask("GET", "/api/v1/queue", token=token)[0], 401)  # a session is no token
    equal(browser.ask("GET", "/api/v1/queue", headers={"X-Strata-Page": None})[0], 401)  # nor is it good without its page's key
    equal(browser.ask("GET", "/api/v1/queue", headers={"X-Strata-Page": "x" * 43})[0], 401)
    other, _ = signed_in(service)
    equal(browser.ask("GET", "/api/v1/queue", headers={"X-Strata-Page": other.key})[0], 401)
    made = service.api("POST", "/tokens", {}, 201)["token"]  # and a token is no session
    equal(browser.ask("GET", "/api/v1/queue", headers={"Cookie": f"strata_session_{service.port()}={made}"})[0], 401)
    equal(browser.ask("GET", "/api/v1/queue")[0], 200)


@arguments("--listen", "127.0.0.1:0", "--web-hosts", "gpu.lab.example")
def a_proxy_with_tls_gets_a_secure_cookie(service):
    made = service.api("POST", "/tokens", {}, 201)
    browser = Browser(service)
    browser.sign_in(made["token"], host="gpu.lab.example", headers={"Origin": "https://gpu.lab.example"})
    assert browser.set_cookie.endswith("; Secure") and browser.cookie.startswith("strata_session_80="), browser.set_cookie
    equal(browser.ask("GET", "/api/v1/queue", host="gpu.lab.example")[0], 200)


@TCP
def other_names_and_origins_are_refused(service):
    browser, made = signed_in(service)
    for path in ("/", "/web/x/y", "/api/v1/session"):
        status, answer = browser.ask("GET", path, host="evil.example")
        assert status in (401, 403), (path, status)
    equal(browser.ask("GET", "/", host="evil.example")[0], 403)
    equal(browser.ask("POST", "/api/v1/session", host="evil.example", token=made["token"])[0], 403)
    equal(browser.ask("POST", "/api/v1/session", headers={"Origin": "http://evil.example"}, token=made["token"])[0], 403)
    equal(browser.ask("DELETE", "/api/v1/session", headers={"Origin": "null"})[0], 403)
    equal(browser.ask("PATCH", "/api/v1/nodes/n1", headers={"Origin": f"http://127.0.0.1:{service.port() + 1}"}, body={"state": "up"})[0], 403)
    equal(browser.ask("GET", "/api/v1/queue")[0], 200)
    # programs with a token may come under any name
    equal(browser.ask("GET", "/api/v1/queue", host="evil.example", token=made["token"])[0], 200)


@TCP
def a_session_ends_with_its_token_and_by_signing_out(service):
    browser, made = signed_in(service)
    second = Browser(service)
    second.sign_in(made["token"])
    ids = {one["id"]: one["this"] for one in browser.api("GET", "/session")["sessions"]}
    equal(len(ids), 2)
    browser.api("DELETE", "/session/" + next(one for one, this in ids.items() if not this))
    equal(second.ask("GET", "/api/v1/queue")[0], 401)
    browser.api("DELETE", "/session")
    assert "Max-Age=0" in browser.headers["Set-Cookie"], browser.headers["Set-Cookie"]
    equal(browser.ask("GET", "/api/v1/queue")[0], 401)
    browser.sign_in(made["token"])
    service.api("DELETE", "/tokens/" + made["id"])
    equal(browser.ask("GET", "/api/v1/queue")[0], 401)
    equal(browser.ask("POST", "/api/v1/session", token=made["token"])[0], 401)


@TCP
def a_session_does_not_outlive_its_token(service):
    browser, made = signed_in(service, expires_in=2)
    equal(browser.api("GET", "/session")["expires_at"], made["expires_at"])
    lasting, _ = signed_in(service, expires_in=0)
    assert 6.9 * 86400 < int(re.search(r"Max-Age=(\d+)", lasting.set_cookie)[1]) <= 7 * 86400, lasting.set_cookie


@TCP
def nobody_sees_or_ends_the_sessions_of_others(service):
    if os.geteuid() != 0:
        raise Skip("it takes root to be somebody else")
    browser, _ = signed_in(service)
    other, _ = signed_in(service, user=NOBODY, role="operator")
    theirs = browser.api("GET", "/session")["sessions"][0]["id"]
    equal([one["this"] for one in other.api("GET", "/session")["sessions"]], [True])
    other.api("DELETE", f"/session/{theirs}", 404)
    other.api("DELETE", "/session/1", 404)  # a token is no session
    equal(browser.ask("GET", "/api/v1/queue")[0], 200)


@TCP
def a_session_signs_nobody_in(service):
    browser, _ = signed_in(service)
    equal(browser.ask("POST", "/api/v1/session")[0], 403)
    equal(browser.ask("POST", "/api/v1/session-link")[0], 403)
    equal(service.ask("POST", "/api/v1/session")[0], 403)  # nor does the socket
    equal(service.ask("DELETE", "/api/v1/session")[0], 409)


def the_socket_opens_a_port_with_a_link(service):
    equal(service.ask("GET", "/api/v1/session")[1]["sessions"], [])
    done = subprocess.run([STRATA, "--socket", service.socket, "web"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/#(strata_[\w-]{43})\n", done.stdout)
    assert found, (done.stdout, done.stderr)
    service.port = lambda: int(found[1])
    browser = Browser(service)
    equal(browser.ask("GET", "/api/v1/queue", token=found[2])[0], 401)  # it signs in, and is good for nothing else
    browser.sign_in(found[2])
    equal(browser.ask("GET", "/api/v1/queue")[0], 200)
    equal(browser.ask("POST", "/api/v1/session", token=found[2])[0], 401)  # once
    again = service.api("POST", "/session-link", None, 201)["link"]
    equal(again.split("/#")[0], f"http://127.0.0.1:{found[1]}")
    service.kill(signal.SIGTERM)  # pages that are open find it where it was
    service.start()
    equal(browser.ask("GET", "/api/v1/queue")[0], 200)


@TCP
def others_pages_start_no_studies(service):
    browser, _ = signed_in(service, role="admin")
    job = service.submit("true", hold=True)["id"]
    for method, path, body in (("POST", "/studies", {"policies": ["fifo"]}), ("POST", "/plans?name=x.onnx", {"a": 1}), ("DELETE", "/studies/1", None)):
        equal(browser.ask(method, "/api/v1" + path, {"Origin": "http://evil.example"}, body=body)[0], 403)
        equal(browser.ask(method, "/api/v1" + path, {"Origin": "null"}, body=body)[0], 403)
        equal(browser.ask(method, "/api/v1" + path, {"X-Strata-Page": None}, body=body)[0], 401)
        equal(browser.ask(method, "/api/v1" + path, host=f"evil.example:{browser.port}", body=body)[0], 403)
    for path in ("/studies", "/problems", f"/jobs/{job}/samples", f"/jobs/{job}/sooner"):
        equal(browser.ask("GET", "/api/v1" + path, {"X-Strata-Page": None})[0], 401)
        equal(browser.ask("GET", "/api/v1" + path, host=f"evil.example:{browser.port}")[0], 403)
        equal(browser.ask("GET", "/api/v1" + path)[0], 200)
    equal(service.api("GET", "/studies")["studies"], [])


run(others_pages_start_no_studies, a_session_has_the_rights_of_its_token, the_cookie_is_for_the_browser_alone, a_proxy_with_tls_gets_a_secure_cookie,
    other_names_and_origins_are_refused, a_session_ends_with_its_token_and_by_signing_out, a_session_does_not_outlive_its_token,
    nobody_sees_or_ends_the_sessions_of_others, a_session_signs_nobody_in, the_socket_opens_a_port_with_a_link)
