#!/usr/bin/env python3
"""Streams: many cost little, and those whose reader has gone are gone."""
import os
import time

from service import PATIENCE_S, equal, next_event, run


def descriptors(service):
    return len(os.listdir(f"/proc/{service.process.pid}/fd"))


def many_follow_and_disturb_nobody(service):
    threads = len(os.listdir(f"/proc/{service.process.pid}/task"))
    streams = [service.follow("/events") for _ in range(200)]
    assert len(os.listdir(f"/proc/{service.process.pid}/task")) < threads + 5
    job = service.submit("true")["id"]
    for _, answer in streams:
        equal(next_event(answer)["event"], "job.submitted")
    service.wait(job, "completed")
    for connection, _ in streams:
        connection.close()


def those_who_have_gone_are_gone(service):
    before = descriptors(service)
    job = service.submit("sleep", "60")["id"]
    service.wait(job, "running")
    streams = [service.follow(path) for path in ("/events", f"/jobs/{job}/output?follow=1") for _ in range(20)]
    assert descriptors(service) >= before + 40
    for connection, answer in streams:
        answer.close()
        connection.close()
    deadline = time.time() + PATIENCE_S
    while descriptors(service) > before + 5:
        assert time.time() < deadline, descriptors(service)
        time.sleep(0.1)


run(many_follow_and_disturb_nobody, those_who_have_gone_are_gone)
