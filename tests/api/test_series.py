#!/usr/bin/env python3
"""How busy the cluster was."""
from service import equal, run


def an_idle_cluster_was_idle(service):
    series = service.api("GET", "/series")
    equal((len(series["gpus"]), sum(series["gpus"]), sum(series["waiting"]), series["wait_median_s"], series["complete"], series["step_s"]), (96, 0, 0, None, True, 900))
    equal(set(series["wait_s"]), {None})


def what_ran_is_in_the_last_quarter(service):
    for gpus in (4, 2):
        job = service.submit("sleep", "0.3", gpus=gpus)["id"]
        service.wait(job, "completed")
    service.submit("sleep", "600", gpus=4)
    service.submit("true", hold=True)
    service.wait(3, "running")
    series = service.api("GET", "/series")
    equal([sum(values[:-2]) for values in (series["gpus"], series["waiting"])], [0, 0])
    assert 0 < series["gpus"][-1] + series["gpus"][-2] < 4, series["gpus"][-2:]
    assert 0 <= series["wait_median_s"] <= series["wait_longest_s"] < 60, series
    equal(service.api("GET", "/series"), series)  # within a minute it is not worked out again


run(an_idle_cluster_was_idle, what_ran_is_in_the_last_quarter)
