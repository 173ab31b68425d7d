#!/usr/bin/env python3
"""What jobs have written."""
import os

from service import as_nobody, equal, run


def output_can_be_read(service):
    job = service.submit("sh", "-c", "echo one; echo two")["id"]
    service.wait(job, "completed")
    equal(service.ask("GET", f"/api/v1/jobs/{job}/output"), (200, "one\ntwo\n"))
    equal(service.ask("GET", f"/api/v1/jobs/{job}/output?from=4"), (200, "two\n"))


def only_what_its_user_may_read_is_shown(service):
    """A job's user may point its output anywhere afterwards: the service reads it with his rights."""
    if os.geteuid() != 0:
        return
    os.chmod(service.dir, 0o777)
    secret, path = os.path.join(service.dir, "secret"), os.path.join(service.dir, "out")
    with open(secret, "w") as file:
        file.write("root's")
    os.chmod(secret, 0o600)
    job = as_nobody(service, "POST", "/api/v1/jobs",
                    {"command": ["echo", "mine"], "working_dir": service.dir, "output": path})[1]["id"]
    service.wait(job, "completed")
    equal(as_nobody(service, "GET", f"/api/v1/jobs/{job}/output"), [200, "mine\n"])
    os.unlink(path)
    os.symlink(secret, path)
    equal(as_nobody(service, "GET", f"/api/v1/jobs/{job}/output")[0], 404)


run(output_can_be_read, only_what_its_user_may_read_is_shown)
