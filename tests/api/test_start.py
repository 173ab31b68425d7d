#!/usr/bin/env python3
"""What a job finds when it starts: its files, its variables, its token."""
import os
import re

from service import equal, run


def a_job_has_a_token_of_its_own_while_it_runs(service):
    job = service.submit("sh", "-c", "echo $STRATA_TOKEN_FILE; cat $STRATA_TOKEN_FILE; stat -c ' %a' $STRATA_TOKEN_FILE")["id"]
    service.wait(job, "completed")
    path, token = service.output(f"strata-{job}.out").splitlines()
    assert re.fullmatch(rf"strata_job_{job}\.1\.[0-9a-f]{{64}} 600", token), token
    assert not os.path.exists(path)
    key = os.path.join(service.state, "job.key")
    equal((os.stat(key).st_mode & 0o777, os.stat(key).st_size), (0o600, 32))


def a_restart_keeps_the_key(service):
    with open(os.path.join(service.state, "job.key"), "rb") as file:
        before = file.read()
    service.kill()
    service.start()
    with open(os.path.join(service.state, "job.key"), "rb") as file:
        equal(file.read(), before)


def a_program_is_found_on_the_jobs_own_path(service):
    os.mkdir(os.path.join(service.dir, "bin"))
    tool = os.path.join(service.dir, "bin", "tool")
    with open(tool, "w") as file:
        file.write("#!/bin/sh\necho found $1\n")
    os.chmod(tool, 0o755)
    job = service.submit("tool", "it", environment={"PATH": f"/nowhere:{service.dir}/bin"}, output="%j-%x-%u.txt", name="n")["id"]
    service.wait(job, "completed")
    equal(service.output(f"{job}-n-{service.job(job)['user']}.txt"), "found it\n")


def a_job_needs_no_variables(service):
    job = service.api("POST", "/jobs", {"command": ["/usr/bin/env"], "working_dir": service.dir}, 201)["id"]
    service.wait(job, "completed")
    variables = dict(line.partition("=")[::2] for line in service.output(f"strata-{job}.out").splitlines())
    equal((variables["STRATA_JOB_ID"], "LS_COLORS" in variables), (str(job), False))
    assert "runtime error" not in service.said(), service.said()  # of a sanitizer


def a_script_runs_from_a_file_of_its_own(service):
    job = service.submit(script="#!/bin/sh\necho $0; stat -c %a $0\n")["id"]
    service.wait(job, "completed")
    path, mode = service.output(f"strata-{job}.out").split()
    equal(mode, "500")
    assert path.endswith(f"/{job}.1.script") and not os.path.exists(path), path


run(a_job_has_a_token_of_its_own_while_it_runs, a_restart_keeps_the_key, a_program_is_found_on_the_jobs_own_path, a_job_needs_no_variables,
    a_script_runs_from_a_file_of_its_own)
