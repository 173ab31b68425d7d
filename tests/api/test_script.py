"""What a job runs, and its variables: for its owner and operators."""

import subprocess

from service import STRATA, Service, equal, run_with


def a_script_and_variables_come_back(service):
    job = service.api("POST", "/jobs", {"script": "#!/bin/sh\necho hi\n", "environment": {"A": "1", "B": "x=y z"}, "hold": True}, 201)["id"]
    equal(service.api("GET", f"/jobs/{job}/script"), {"script": "#!/bin/sh\necho hi\n", "environment": {"A": "1", "B": "x=y z"}})


def a_command_has_no_script(service):
    job = service.submit("true", hold=True)["id"]
    equal(service.api("GET", f"/jobs/{job}/script")["script"], None)


def it_is_there_after_the_end(service):
    job = service.api("POST", "/jobs", {"script": "#!/bin/sh\ntrue\n"}, 201)["id"]
    service.wait(job, "completed")
    equal(service.api("GET", f"/jobs/{job}/script")["script"], "#!/bin/sh\ntrue\n")


def nobody_else_reads_it(service):
    job = service.api("POST", "/jobs", {"script": "#!/bin/sh\ntrue\n", "hold": True}, 201)["id"]
    done = subprocess.run([STRATA, "slurm", "scontrol", "write", "batch_script", str(job), "-"], user="nobody", capture_output=True, text=True,
                          env={"STRATA_SOCKET": service.socket, "HOME": "/"})
    equal((done.returncode, done.stdout), (1, ""))
    assert "Access/permission denied" in done.stderr, done.stderr
    service.api("GET", "/jobs/999/script", None, 404)


run_with(lambda test: Service(), a_script_and_variables_come_back, a_command_has_no_script, it_is_there_after_the_end, nobody_else_reads_it)
