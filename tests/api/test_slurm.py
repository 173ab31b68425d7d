#!/usr/bin/env python3
"""Scripts for sbatch over the API: as curl sends them, and as a document with everything sbatch would know."""
import json
import os

from service import Skip, as_nobody, equal, run

SCRIPT = "#!/bin/sh\n#SBATCH --job-name=mine --time=5\n#SBATCH -c 2 --hint=nomultithread\necho got \"$@\" in $PWD $A\n"
PATH = {"PATH": "/usr/bin:/bin"}


def sbatch(service, script, options=(), status=201, directory=True, **headers):
    headers["Content-Type"] = "text/plain"
    if options:
        headers["X-Sbatch-Options"] = json.dumps(options)
    if directory:
        headers["X-Working-Dir"] = service.dir
    return service.api("POST", "/slurm/sbatch", script, status, headers=headers)


def document(service, status=201, **fields):
    return service.api("POST", "/slurm/sbatch", fields, status, headers={"Content-Type": "application/json"})


def a_script_is_taken_as_sbatch_would(service):
    answer = sbatch(service, SCRIPT, ["--time=10", "--export=A=7,PATH=/bin:/usr/bin", "dir/job.sh", "x y", "z"])
    equal(answer["ids"], [answer["id"]])
    assert any("--hint" in line for line in answer["warnings"]), answer
    job = service.wait(answer["id"], "completed")
    equal((job["name"], job["time_limit_s"], job["cpus"]), ("mine", 600, 2))
    equal(service.output(f"strata-{answer['id']}.out"), f"got x y z in {service.dir} 7\n")


def a_document_has_the_environment(service):
    answer = document(service, script=SCRIPT, options=["-c", "1"], working_dir=service.dir,
                      environment={**PATH, "A": "8", "SBATCH_TIMELIMIT": "7"})
    job = service.wait(answer["id"], "completed")
    equal((job["time_limit_s"], job["cpus"]), (420, 1))
    equal(service.output(f"strata-{answer['id']}.out"), f"got in {service.dir} 8\n")


def a_command_may_be_wrapped(service):
    answer = document(service, options=["--wrap", "echo wrapped"], working_dir=service.dir, environment=PATH)
    equal(service.wait(answer["id"], "completed")["name"], "wrap")
    equal(service.output(f"strata-{answer['id']}.out"), "wrapped\n")


def an_array_is_many_jobs(service):
    equal(len(sbatch(service, "#!/bin/sh\ntrue\n", ["--array=1-3", "--hold"])["ids"]), 3)


def what_slurm_refuses_is_refused_in_its_words(service):
    def refusal(*words, script="#!/bin/sh\ntrue\n"):
        status, answer = service.ask("POST", "/api/v1/slurm/sbatch", script,
                                     {"X-Sbatch-Options": json.dumps(words), "X-Working-Dir": service.dir})
        assert 400 <= status < 500, answer
        return answer["error"]["message"]
    equal(refusal("--time=2h"), "Invalid --time specification")
    assert "unrecognized option '--nonsense'" in refusal("--nonsense"), refusal("--nonsense")
    assert "#!" in refusal(script="echo hello\n"), refusal(script="echo hello\n")
    assert "one of them" in refusal("--wrap=true")
    assert "no job" in refusal("--test-only")
    equal(service.ask("POST", "/api/v1/slurm/sbatch", SCRIPT, {"X-Sbatch-Options": "{}"})[1]["error"]["field"], "options")
    equal(document(service, 400, script=SCRIPT, bogus=1)["error"]["field"], "bogus")
    equal(document(service, 400, script=SCRIPT, working_dir="here")["error"]["field"], "working_dir")
    equal(service.api("GET", "/queue")["jobs"], [])


def the_same_key_is_the_same_submission(service):
    first = sbatch(service, SCRIPT, ["--hold"], **{"Idempotency-Key": "k"})
    equal(sbatch(service, SCRIPT, ["--hold"], 200, **{"Idempotency-Key": "k"})["id"], first["id"])


def priority_counts_for_operators_and_is_said_to_have_no_effect_for_others(service):
    usual = service.submit("true", hold=True)["id"]
    first = sbatch(service, SCRIPT, ["--hold", "--priority=500"])
    assert "--priority" not in str(first), first
    equal((service.job(first["id"])["nice"], service.job(usual)["nice"]), (-500, 0))
    service.kill()
    service.start()
    equal(service.job(first["id"])["nice"], -500)
    if os.geteuid() != 0:
        raise Skip("another user is needed")
    os.chmod(service.dir, 0o777)
    status, made = as_nobody(service, "POST", "/api/v1/slurm/sbatch",
                             {"script": SCRIPT, "options": ["--hold", "--priority=500", "--array=1-3"], "working_dir": service.dir},
                             {"Content-Type": "application/json"})
    equal(status, 201)
    equal(len([text for text in made["warnings"] if "--priority" in text]), 1)
    equal(service.job(made["id"])["nice"], 0)


run(a_script_is_taken_as_sbatch_would, a_document_has_the_environment, a_command_may_be_wrapped, an_array_is_many_jobs,
    what_slurm_refuses_is_refused_in_its_words, the_same_key_is_the_same_submission,
    priority_counts_for_operators_and_is_said_to_have_no_effect_for_others)
