#!/usr/bin/env python3
"""Mail about jobs: handed to sendmail as the user, once it is durable, and again until it takes it."""
import glob
import os
import stat
import time

from service import equal, run_with, Service

PROGRAM = """#!/bin/sh
# Keeps each letter in a file; fails as long as there is a file "broken".
[ -e {dir}/broken ] && exit 75
out=$(mktemp {dir}/letter.XXXXXX.part)
{{ echo "args: $*"; echo "uid: $(id -u)"; cat; }} > "$out"
mv "$out" "${{out%.part}}.eml"
"""


class Mailing(Service):
    """A service whose sendmail keeps letters beside it."""

    def __init__(self, *args):
        super().__init__("--webhook-retry", "1s", *args)

    def start(self, env=None):
        self.box = os.path.join(self.dir, "box")
        program = os.path.join(self.dir, "sendmail")
        if not os.path.exists(program):
            os.mkdir(self.box)
            os.chmod(self.box, 0o777)
            with open(program, "w") as file:
                file.write(PROGRAM.format(dir=self.box))
            os.chmod(program, stat.S_IRWXU | 0o055)
        if "--mail-program" not in self.args:
            self.args = [*self.args, "--mail-program", program]
        super().start(env)

    def letters(self, count, seconds=20):
        end = time.monotonic() + seconds
        while len(found := sorted(glob.glob(os.path.join(self.box, "letter.*.eml")), key=os.path.getmtime)) < count and time.monotonic() < end:
            time.sleep(0.05)
        texts = [open(path).read() for path in found]
        equal(len(texts), count)
        return texts


def the_end_is_told(service):
    job = service.submit("false", name="train", mail="ann@lab.example")["id"]
    service.wait(job, "failed")
    letter, = service.letters(1)
    assert letter.startswith(f"args: -i -t\nuid: {os.getuid()}\nTo: ann@lab.example\nSubject: Strata: job {job} (train) has failed\n"), letter
    assert f"Job {job} (train) of " in letter and "Exit status: 1\n" in letter and f"`strata show {job}`" in letter, letter


def begin_and_requeue_are_told_when_asked_for(service):
    job = service.submit("sleep", "600", mail="ann@lab.example", notify="begin,requeue")["id"]
    service.wait(job, "running")
    assert "has started" in service.letters(1)[0]
    service.api("PATCH", f"/jobs/{job}", {"requeue": True})
    assert any("is back in the queue" in letter for letter in service.letters(3))  # and starts again
    service.api("DELETE", f"/jobs/{job}", status=202)
    service.wait(job, "cancelled")
    time.sleep(0.5)
    service.letters(3)


def only_failures_are_told_when_only_these_are_asked_for(service):
    good = service.submit("true", mail="a@b.example", notify="fail")["id"]
    bad = service.submit("false", mail="a@b.example", notify="fail")["id"]
    service.wait(good, "completed")
    service.wait(bad, "failed")
    assert f"job {bad} (false) has failed" in service.letters(1)[0]


def an_array_is_one_letter(service):
    array = service.submit("true", array="1-5", mail="a@b.example", notify="all")["id"]
    for element in range(5):
        service.wait(array + element, "completed")
    letters = service.letters(2)
    equal(sorted("has started" in letter for letter in letters), [False, True])


def a_user_may_always_be_told(service):
    me = service.job(service.submit("true", hold=True)["id"])["user"]
    service.api("PUT", f"/users/{me}", {"mail": "me@lab.example", "notify": "end"})
    service.wait(service.submit("true")["id"], "completed")
    assert "To: me@lab.example\n" in service.letters(1)[0]
    service.wait(service.submit("true", notify="none")["id"], "completed")
    time.sleep(0.5)
    service.letters(1)
    equal(service.api("PUT", f"/users/{me}", {"notify": "sometimes"}, 400)["error"]["field"], "notify")
    equal(service.api("PUT", f"/users/{me}", {"mail": "a b"}, 400)["error"]["field"], "mail")


def a_letter_that_is_not_taken_is_sent_again_also_after_a_restart(service):
    broken = os.path.join(service.box, "broken")
    open(broken, "w").close()
    job = service.submit("true", mail="ann@lab.example")["id"]
    service.wait(job, "completed")
    end = time.monotonic() + 20
    while not any(one["attempts"] for one in service.api("GET", "/webhooks")["waiting"]) and time.monotonic() < end:
        time.sleep(0.05)
    waiting, = service.api("GET", "/webhooks")["waiting"]
    assert waiting["url"] == "mailto:ann@lab.example" and "ended with status 75" in waiting["error"], waiting
    service.kill()
    os.remove(broken)
    service.start()
    assert f"job {job} (true) has completed" in service.letters(1)[0]


def what_is_no_address_is_refused(service):
    for mail in ("a b", "@x", "a@", "-oQ/tmp", "a@b@c", "a@-x", "ä@b", ""):
        assert "is no mail address" in service.api("POST", "/jobs", {"command": ["true"], "mail": mail}, 400)["error"]["message"], mail
    service.api("POST", "/jobs", {"command": ["true"], "mail": "a\nBcc: b@c"}, 400)
    assert service.api("POST", "/jobs", {"command": ["true"], "notify": "begin,sometimes"}, 400)["error"]["field"] == "notify"
    service.submit("true", name="Übung", mail="a@b.example")
    assert "Subject: Strata: job 1 (??bung) has completed\n" in service.letters(1)[0]


run_with(lambda test: Mailing(), the_end_is_told, begin_and_requeue_are_told_when_asked_for, only_failures_are_told_when_only_these_are_asked_for,
         an_array_is_one_letter, a_user_may_always_be_told, a_letter_that_is_not_taken_is_sent_again_also_after_a_restart,
         what_is_no_address_is_refused)
