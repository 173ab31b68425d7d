#!/usr/bin/env python3
"""Who used how much: by user, partition and day."""
import datetime

from service import equal, run


def accounting_adds_up(service):
    ids = [service.submit("sleep", "0.3", gpus=2)["id"] for _ in range(3)]
    for job in ids:
        service.wait(job, "completed")
    row = service.api("GET", "/accounting")["rows"][0]
    equal(row["jobs"], 3)
    assert 3 * 2 * 0.2 / 3600 < row["gpu_hours"] < 3 * 2 * 20 / 3600, row


def partitions_and_days_add_up_to_the_same(service):
    for job in [service.submit("sleep", "0.3", gpus=2)["id"] for _ in range(3)]:
        service.wait(job, "completed")
    row = service.api("GET", "/accounting")["rows"][0]
    equal([(one["partition"], one["jobs"]) for one in service.api("GET", "/accounting?by=partition")["rows"]], [(None, 3)])
    days = service.api("GET", "/accounting?by=day")["rows"]
    equal(sum(one["jobs"] for one in days), 3)
    assert abs(sum(one["gpu_hours"] for one in days) - row["gpu_hours"]) < 1e-9, (days, row)
    equal(service.api("GET", "/accounting?until=now-1hour")["rows"], [])


def what_runs_over_midnight_is_shared_out(service):
    job = service.wait(service.submit("sleep", "3", gpus=1)["id"], "completed")
    started = datetime.datetime.fromisoformat(job["started_at"]).timestamp()
    zone = 86400 - (int(started) + 2) % 86400  # midnight comes there while it runs
    apart = service.api("GET", f"/accounting?by=day&zone={zone}")["rows"]
    assert len(apart) == 2 and all(one["gpu_hours"] > 0 for one in apart), apart
    equal([one["jobs"] for one in apart], [1, 0])


run(accounting_adds_up, partitions_and_days_add_up_to_the_same, what_runs_over_midnight_is_shared_out)
