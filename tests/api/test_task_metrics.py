#!/usr/bin/env python3
"""Figures of generation: the line, waits, steps, batches, pictures and lost leases of each model."""
import re

from fake_worker import Worker, fake_service, generate
from service import arguments, equal, run_with


def figure(service, name, labels='model="digits"'):
    text = service.ask("GET", "/metrics")[1]
    found = re.search(rf"^strata_{name}{{{re.escape(labels)}}} (\S+)$" if labels else rf"^strata_{name} (\S+)$", text, re.M)
    assert found, (name, text)
    return float(found.group(1))


def what_is_done_is_counted(service):
    service.api("PUT", "/models/digits", {"batch": 2, "workers_max": 1})
    for _ in range(3):
        generate(service, steps=4)
    equal(figure(service, "tasks_pending"), 3)
    assert abs(figure(service, "tasks_pending_seconds") - 1.2) < 1e-6  # a guess of 0.1 s each
    worker = Worker(service)
    equal(len(worker.pick(1000)["tasks"]), 2)
    equal((figure(service, "tasks_pending"), figure(service, "tasks_running"), figure(service, "task_workers")), (1, 2, 1))
    equal((figure(service, "task_batches_total"), figure(service, "task_batch_members_total")), (1, 2))
    equal(figure(service, "task_wait_seconds_count", ""), 2)
    worker.report("steps", 3)
    worker.pick(1000)
    worker.finish()
    equal((figure(service, "task_steps_total"), figure(service, "task_images_total")), (8, 2))
    assert abs(figure(service, "task_image_seconds_total") - 0.004) < 1e-6  # two reports of a millisecond for each
    assert figure(service, "task_result_bytes", "") > 0
    equal(figure(service, "task_trouble"), 0)


@arguments("--worker-lease", "1s")
def a_lost_lease_is_counted(service):
    generate(service)
    worker = Worker(service)
    worker.pick(1000)
    equal(figure(service, "task_leases_lost_total"), 0)
    while figure(service, "tasks_running"):
        pass
    equal((figure(service, "task_leases_lost_total"), figure(service, "tasks_pending")), (1, 1))


run_with(fake_service, what_is_done_is_counted, a_lost_lease_is_counted)
