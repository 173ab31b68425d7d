#!/usr/bin/env python3
"""What is decided about: from the configuration and the store."""
import subprocess

from service import STRATA, equal, run


def what_is_configured_wrongly_is_named(service):
    for words, said in [(["--order", "nonsense"], "nonsense"), (["--node", "a:gpus=99"], "gpus"),
                        (["--node", "a,a"], "two nodes a"), (["--preempt", "least_lost:grace=x"], "grace")]:
        done = subprocess.run([STRATA, "serve", "--state", service.dir + "/other", *words], capture_output=True,
                              text=True, timeout=60)
        assert done.returncode != 0 and said in done.stderr, (words, done.stderr)


def drained_nodes_stay_drained(service):
    for name in ("n1", "n2", "n3"):
        service.api("PATCH", f"/nodes/{name}", {"state": "drained", "reason": "disk"})
    job = service.submit("true")["id"]
    service.kill()
    service.start()
    node = service.api("GET", "/nodes")["nodes"][0]
    equal((node["name"], node["state"], node["reason"]), ("n1", "drained", "disk"))
    equal(service.job(job)["state"], "queued")
    service.api("PATCH", "/nodes/n2", {"state": "up"})
    equal(service.wait(job, "completed")["attempt"], 1)


run(what_is_configured_wrongly_is_named, drained_nodes_stay_drained)
