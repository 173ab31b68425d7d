#!/usr/bin/env python3
"""Webhooks: a URL hears how a job or a task ended, once it is durable, until it has heard it."""
import os
import time

import postgres
from fake_worker import FAKE, Worker, generate, png
from service import NOBODY, PATIENCE_S, Service, Skip, as_nobody, equal, run_with
from webhook_listener import LOOPBACK, Listener, check_signature


def make(test):
    if test.__name__.endswith("_postgres"):
        if not postgres.possible():
            raise Skip("there is no PostgreSQL here")
        return Service(*FAKE, *LOOPBACK, store=postgres.Postgres().address())
    return Service(*FAKE, *(() if "nowhere" in test.__name__ else LOOPBACK))


def waiting(service):
    return service.api("GET", "/webhooks")["waiting"]


def until(condition):
    deadline = time.time() + PATIENCE_S
    while not condition():
        assert time.time() < deadline, "it does not become so"
        time.sleep(0.02)


def how_a_job_ended_is_told_and_signed(service):
    listener = Listener()
    secret = service.api("GET", "/webhooks")["secret"]
    service.submit("sh", "-c", "exit 3", webhook=listener.url("/a?x=1"), name="three")
    (message,) = listener.wait()
    path, headers, body = listener.messages[0]
    equal(path, "/a?x=1")
    equal((headers["Strata-Event"], headers["Strata-Delivery"], headers["Content-Type"]), ("job.ended", message["id"], "application/json"))
    equal((message["event"], message["job"]["id"], message["job"]["name"], message["job"]["state"], message["job"]["exit_code"]),
          ("job.ended", 1, "three", "failed", 3))
    check_signature(secret, headers, body)
    until(lambda: waiting(service) == [])
    held = service.submit("true", webhook=listener.url(), hold=True)["id"]
    service.api("DELETE", f"/jobs/{held}")
    equal(listener.wait(2)[1]["job"]["state"], "cancelled")
    listener.close()


def how_a_task_ended_is_told(service):
    listener = Listener()
    generate(service, "a seven", webhook=listener.url())
    generate(service, "an eight", webhook=listener.url())
    service.api("DELETE", "/tasks/2")
    equal(listener.wait()[0]["task"]["status"], "cancelled")
    worker = Worker(service)
    worker.pick(1000)
    worker.finish(png(9))
    message = listener.wait(2)[1]
    equal((message["event"], message["task"]["id"], message["task"]["status"], len(message["task"]["images"])), ("task.ended", 1, "finished", 1))
    listener.close()


def it_is_told_again_until_it_was_heard(service):
    listener = Listener(500, 204)
    service.submit("true", webhook=listener.url())
    listener.wait()
    until(lambda: waiting(service) and waiting(service)[0]["attempts"] >= 1)
    (one,) = waiting(service)
    equal((one["error"], one["url"], one["event"]), ("it answered 500", listener.url(), "job.ended"))
    first, second = listener.wait(2)
    equal(first, second)  # and the same id
    until(lambda: waiting(service) == [])
    listener.close()


def a_kill_loses_no_message(service):
    listener = Listener(503, 503, 204)
    service.submit("true", webhook=listener.url())
    listener.wait()
    until(lambda: waiting(service) and waiting(service)[0]["attempts"] >= 1)
    secret = service.api("GET", "/webhooks")["secret"]
    service.kill()
    service.start()
    equal(service.api("GET", "/webhooks")["secret"], secret)
    equal(len({message["id"] for message in listener.wait(2)}), 1)
    _, headers, body = listener.messages[-1]
    check_signature(secret, headers, body)
    listener.close()


def a_kill_loses_no_message_postgres(service):
    a_kill_loses_no_message(service)


def one_that_wants_no_more_gets_no_more(service):
    listener = Listener(410)
    service.submit("true", webhook=listener.url())
    listener.wait()
    until(lambda: waiting(service) == [])
    assert "is given up after 1 attempts: it answered 410" in service.said()
    listener.close()


def redirects_are_not_followed(service):
    listener = Listener(302)
    service.submit("true", webhook=listener.url())
    until(lambda: waiting(service) and waiting(service)[0]["attempts"] >= 1)
    equal(waiting(service)[0]["error"], "it answered 302; redirects are not followed")
    equal([path for path, _, _ in listener.messages], ["/done"])
    listener.close()


def loopback_is_nowhere_unless_an_operator_says_so(service):
    listener = Listener()
    for host in ("127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "2130706433"):
        service.submit("true", webhook=f"http://{host}:{listener.port}/")
    until(lambda: len(waiting(service)) == 6 and all(one["attempts"] for one in waiting(service)))
    for one in waiting(service):
        equal((one["url"], one["error"]), (one["url"], "its address is not one that messages may go to"))
    equal(listener.messages, [])
    listener.close()


def odd_urls_are_refused(service):
    for url in ("ftp://host/x", "file:///etc/passwd", "http://", "http:///x", "http://:80/", "https://user:pass@host/", "http://host/a b", "host",
                "http://host/\u00e9", "http://h/" + "x" * 2048):
        status, answer = service.ask("POST", "/api/v1/jobs", {"command": ["true"], "webhook": url})
        equal((url, status, answer["error"]["field"]), (url, 400, "webhook"))
        status, answer = service.ask("POST", "/api/v1/generate", {"prompt": "a seven", "webhook": url})
        equal((url, status, answer["error"]["field"]), (url, 400, "webhook"))
    equal(service.api("GET", "/queue")["jobs"], [])


def secrets_and_messages_are_their_users_own(service):
    if os.geteuid() != 0:
        raise Skip("it takes root to be somebody else")
    listener = Listener(500)
    service.submit("true", webhook=listener.url())
    listener.wait()
    until(lambda: waiting(service))
    status, theirs = as_nobody(service, "GET", "/api/v1/webhooks")
    equal((status, theirs["waiting"]), (200, []))
    assert theirs["secret"] != service.api("GET", "/webhooks")["secret"], NOBODY
    listener.close()


run_with(make, how_a_job_ended_is_told_and_signed, how_a_task_ended_is_told, it_is_told_again_until_it_was_heard, a_kill_loses_no_message,
         a_kill_loses_no_message_postgres, one_that_wants_no_more_gets_no_more, redirects_are_not_followed,
         loopback_is_nowhere_unless_an_operator_says_so, odd_urls_are_refused, secrets_and_messages_are_their_users_own)
