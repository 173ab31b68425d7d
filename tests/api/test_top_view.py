#!/usr/bin/env python3
"""Somebody at strata top: selects, filters, sorts, reads a log and a reason, cancels after a question."""
from service import equal, run
from terminal import Terminal

UP, DOWN, ESCAPE = "\033[A", "\033[B", "\033"


class Top(Terminal):
    def __init__(self, service, **size):
        super().__init__(service, "top", "--interval", "60s", env={"NO_COLOR": "", "COLORTERM": "truecolor", "STRATA_COLOR": "always"}, **size)

    def screen(self, keys, words):
        """What is on the screen after some keys, once these words are there."""
        self.seen = ""
        self.type(keys)
        self.read(words)


def world(service):
    names = {"alpha": 1, "beta": 2, "gamma": 1}
    jobs = {name: service.submit("sh", "-c", f"echo {name} speaks; sleep 600", name=name, gpus=gpus)["id"] for name, gpus in names.items()}
    for job in jobs.values():
        service.wait(job, "running")
    return jobs


def a_job_is_selected_and_its_log_read(service):
    world(service)
    top = Top(service)
    top.read("▸")
    top.read("alpha")
    top.screen(DOWN, "▸")
    top.read("beta")  # the mark is before it
    top.screen("l", "beta speaks")
    top.screen("x", "q quit")
    top.screen("G", "▸")
    top.screen("\r", "gamma speaks")
    top.screen("x", "q quit")
    top.type("q")
    equal(top.end(), 0)


def cancelling_asks_first(service):
    jobs = world(service)
    top = Top(service)
    top.read("q quit")
    top.screen("j", "▸")
    top.screen("c", f"cancel job {jobs['beta']}? y for yes")
    top.screen("n", "q quit")
    equal(service.job(jobs["beta"])["state"], "running")
    top.screen("c", f"cancel job {jobs['beta']}?")
    top.screen("y", f"job {jobs['beta']} is cancelled")
    service.wait(jobs["beta"], "cancelled")
    equal(service.job(jobs["alpha"])["state"], "running")
    top.type("\x03")
    equal(top.end(), 0)


def it_is_filtered_and_sorted(service):
    world(service)
    top = Top(service)
    top.read("q quit")
    top.screen("/", "filter: ")
    top.screen("GAM", "filter: GAM")
    top.screen("\r", "filter: GAM")
    top.screen("s", "sort: user")
    top.screen(ESCAPE, "alpha")
    top.screen("s", "sort: GPUs")
    top.screen("g", "▸")
    top.read("beta")  # it has the most
    top.type("q")
    equal(top.end(), 0)


def why_a_job_waits(service):
    held = service.submit("true", hold=True)["id"]
    top = Top(service)
    top.read("q quit")
    top.screen("w", f"`strata release {held}` lets it start.")
    top.screen("x", "q quit")
    top.screen("?", "cancel it, after a question")
    top.type("xq")
    equal(top.end(), 0)


run(a_job_is_selected_and_its_log_read, cancelling_asks_first, it_is_filtered_and_sorted, why_a_job_waits)
