#!/usr/bin/env python3
"""The variables that a job finds."""
from service import equal, run


def variables_of(service, **fields):
    job = service.api("POST", "/jobs", {"command": ["/usr/bin/env"], "working_dir": service.dir, "output": "%A_%a.env", **fields}, 201)["id"]
    service.wait(job, "completed")
    shown = service.job(job)
    name = f"{shown['array_id'] or job}_{4294967294 if shown['array_id'] is None else shown['array_index']}.env"
    return job, dict(line.partition("=")[::2] for line in service.output(name).splitlines())


def a_job_needs_no_variables(service):
    job = service.api("POST", "/jobs", {"command": ["/usr/bin/env"], "working_dir": service.dir}, 201)["id"]
    service.wait(job, "completed")
    variables = dict(line.partition("=")[::2] for line in service.output(f"strata-{job}.out").splitlines())
    equal((variables["STRATA_JOB_ID"], "LS_COLORS" in variables), (str(job), False))
    assert "runtime error" not in service.said(), service.said()  # of a sanitizer


def what_was_submitted_comes_first_and_what_is_ours_wins(service):
    job, variables = variables_of(service, environment={"A": "b=c", "STRATA_JOB_ID": "0"})
    equal((variables["A"], variables["STRATA_JOB_ID"], variables["SLURM_JOB_ID"]), ("b=c", str(job), str(job)))


def what_was_asked_for_is_said_and_nothing_else(service):
    _, plain = variables_of(service)
    equal([name for name in ("SLURM_NTASKS", "SLURM_CPUS_PER_TASK", "SLURM_ARRAY_JOB_ID") if name in plain], [])
    _, asked = variables_of(service, tasks=1, cpus_per_task=2, hold=False)
    equal((asked["SLURM_NTASKS"], asked["SLURM_CPUS_PER_TASK"]), ("1", "2"))


def an_element_knows_its_array(service):
    job, variables = variables_of(service, array="3-9:3")
    equal([variables[f"SLURM_ARRAY_{name}"] for name in ("JOB_ID", "TASK_ID", "TASK_COUNT", "TASK_MIN", "TASK_MAX")],
          [str(job), "3", "3", "3", "9"])


run(a_job_needs_no_variables, what_was_submitted_comes_first_and_what_is_ours_wins, what_was_asked_for_is_said_and_nothing_else,
    an_element_knows_its_array)
