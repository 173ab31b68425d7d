#!/usr/bin/env python3
"""Events as streams send them: the same to all, whoever comes when; those of pictures to their owners."""
import http.client
import json
import os
import time

from service import NOBODY, Skip, arguments, equal, run


class Reader:
    def __init__(self, service, after=None, token=None):
        path = "/events" + ("" if after is None else f"?after={after}")
        if token:
            self.connection = http.client.HTTPConnection("127.0.0.1", service.port(), timeout=60)
            self.connection.request("GET", "/api/v1" + path, headers={"Authorization": f"Bearer {token}"})
            self.response = self.connection.getresponse()
        else:
            self.connection, self.response = service.follow(path)
        self.rest, self.events = b"", []

    def read(self, until, patience=30):
        """Up to the event of this number."""
        deadline = time.time() + patience
        while not self.events or self.events[-1]["sequence"] < until:
            assert time.time() < deadline, (until, self.events[-1:])
            self.rest += self.response.read1(65536)
            *whole, self.rest = self.rest.split(b"\n\n")
            self.events += [json.loads(line[6:]) for part in whole for line in part.split(b"\n") if line.startswith(b"data: ")]
        return self.events

    def close(self):
        self.connection.close()


def last(service):
    return service.api("GET", "/events?format=json&last=1&limit=1")["events"][-1]["sequence"]


def all_get_the_same(service):
    service.submit("true", hold=True)
    begin = last(service)
    early = [Reader(service, begin) for _ in range(5)]
    for _ in range(20):
        service.submit("true", hold=True)
    late = [Reader(service, begin) for _ in range(3)]
    end = last(service)
    got = [[event["sequence"] for event in reader.read(end)] for reader in early + late]
    stored = [event["sequence"] for event in service.api("GET", f"/events?format=json&after={begin}&limit=1000")["events"]]
    for one in got:
        equal(one[:len(stored)], stored)
    for reader in early + late:
        reader.close()


def who_is_far_behind_gets_all_of_it(service):
    service.submit("true", hold=True, array="1-3")
    begin = last(service)
    now = Reader(service, begin)
    for _ in range(1300):  # more than are kept as text
        service.submit("true", hold=True)
    end = last(service)
    equal(len(now.read(end, 90)), end - begin)
    behind = Reader(service, 0)
    numbers = [event["sequence"] for event in behind.read(end, 90)]
    equal(numbers, list(range(1, end + 1)))
    now.close()
    behind.close()


def a_restart_goes_on_behind_the_last(service):
    service.submit("true", hold=True)
    begin = last(service)
    service.kill()
    service.start()
    reader = Reader(service, begin - 1)
    service.submit("true", hold=True)
    numbers = [event["sequence"] for event in reader.read(last(service))]
    equal(numbers, sorted(set(numbers)))
    equal(numbers[0], begin)
    reader.close()


@arguments("--listen", "127.0.0.1:0")
def pictures_are_their_owners(service):
    if os.geteuid() != 0:
        raise Skip("it takes root to be somebody else")
    tokens = {role: service.api("POST", "/tokens", {"user": NOBODY, "role": role}, 201)["token"] for role in ("user", "operator")}
    service.submit("true", hold=True)
    begin = last(service)
    readers = {name: Reader(service, begin, token) for name, token in {"owner": None, **tokens}.items()}
    service.api("POST", "/generate", {"prompt": "a secret"}, 201)
    end = service.submit("true", hold=True) and last(service)
    kinds = {name: {event["kind"] for event in reader.read(end)} for name, reader in readers.items()}
    equal(("task" in kinds["owner"], "task" in kinds["operator"], "task" in kinds["user"]), (True, True, False))
    for reader in readers.values():
        reader.close()


run(pictures_are_their_owners, all_get_the_same, who_is_far_behind_gets_all_of_it, a_restart_goes_on_behind_the_last)
