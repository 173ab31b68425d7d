#!/usr/bin/env python3
"""What a job finds when it starts: its files, its variables, its token."""
import os
import re
import subprocess

from service import STRATA, equal, run


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
    job = service.submit("nosuch", environment={"PATH": "/usr/bin:/bin"})["id"]
    service.wait(job, "failed")


def files_have_the_mode_that_was_asked_for(service):
    for umask, want in ((None, "0022"), ("0", "0000"), ("027", "0027"), ("0777", "0777")):
        fields = {} if umask is None else {"umask": umask}
        out = os.path.join(service.dir, f"out-{want}")
        job = service.submit("sh", "-c", f"umask; : > made-{want}", output=out, **fields)["id"]
        service.wait(job, "completed")
        equal(service.output(f"out-{want}"), want + "\n")
        for name in (f"out-{want}", f"made-{want}"):
            equal((name, os.stat(os.path.join(service.dir, name)).st_mode & 0o777), (name, 0o666 & ~int(want, 8)))
    for bad in ("", "8", "1000", "-1", "0x1f", "00777"):
        equal(service.submit("true", umask=bad, status=400)["error"]["field"], "umask")


def a_directory_is_no_program(service):
    os.makedirs(os.path.join(service.dir, "one", "true"))
    job = service.submit("true", environment={"PATH": f"{service.dir}/one:/usr/bin:/bin"})["id"]
    service.wait(job, "completed")


def a_script_runs_from_a_file_of_its_own(service):
    job = service.submit(script="#!/bin/sh\necho $0; stat -c %a $0\n")["id"]
    service.wait(job, "completed")
    path, mode = service.output(f"strata-{job}.out").split()
    equal(mode, "500")
    assert path.endswith(f"/{job}.1.script") and not os.path.exists(path), path


def what_could_not_be_started_says_why_everywhere(service):
    """Not "its exit status was not 0": nothing has run, so there is no exit code."""
    os.mkdir(os.path.join(service.dir, "folder"))
    cases = ((["/usr/bin/nosuch"], {}, "/usr/bin/nosuch: No such file or directory"),
             (["true"], {"working_dir": "/nonexistent"}, "/nonexistent: No such file or directory"),
             (["true"], {"output": "/nonexistent/x"}, "/nonexistent/x"),
             (["nosuch"], {}, "nosuch"),
             ([os.path.join(service.dir, "folder")], {}, "folder"))
    for command, fields, said in cases:
        number = service.submit(*command, **fields)["id"]
        job = service.wait(number, "failed")
        equal((job["reason"], job["exit_code"], job["exit_signal"], job["started_at"]), ("start_failed", None, None, None))
        assert job["reason_text"].startswith("could not start: ") and said in job["reason_text"], job["reason_text"]
        for path in (f"/jobs/{number}/why", f"/jobs?limit=1000"):
            assert job["reason_text"] in str(service.api("GET", path)), (path, service.api("GET", path))
        env = {**os.environ, "STRATA_SOCKET": service.socket}
        for words in (["show", str(number)], ["why", str(number)]):
            shown = subprocess.run([STRATA, *words], env=env, capture_output=True, text=True)
            assert said in shown.stdout, (words, shown.stdout, shown.stderr)
    service.kill()
    service.start()
    equal(service.job(number)["reason_text"], job["reason_text"])
    slurm = subprocess.run([STRATA, "slurm", "sacct", "-n", "-X", "-P", "-j", str(number), "-o", "State,Reason,ExitCode"], env=env,
                           capture_output=True, text=True)
    equal(slurm.stdout, "FAILED|JobLaunchFailure|0:53\n")
    waited = subprocess.run([STRATA, "submit", "--wait", "--", "/usr/bin/nosuch"], env=env, capture_output=True, text=True)
    assert waited.returncode == 1 and "could not start: " in waited.stderr + waited.stdout, waited


run(a_job_has_a_token_of_its_own_while_it_runs, a_restart_keeps_the_key, a_program_is_found_on_the_jobs_own_path, a_directory_is_no_program,
    files_have_the_mode_that_was_asked_for,
    a_script_runs_from_a_file_of_its_own, what_could_not_be_started_says_why_everywhere)
