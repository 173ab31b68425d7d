#!/usr/bin/env python3
"""strata.ray: a real Ray cluster inside a job of three emulated nodes of a real service."""
import os
import subprocess
import sys
import time

import client_env

ENVIRONMENT = os.path.join(client_env.SOURCE, "build", "python-ray")
if not os.path.exists(os.path.join(ENVIRONMENT, "pins")):
    print("1..0 # SKIP there is no build/python-ray; `make test T=python-ray` makes it")
    sys.exit(0)

import service as services  # noqa: E402
import strata  # noqa: E402
from service import equal, run  # noqa: E402

SCRIPT = """
import os, sys
import ray
import strata.ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
print("nodes:", strata.ray.node_count(), flush=True)
with strata.ray.cluster() as ray:
    found = ray.cluster_resources()
    print("CPUs:", found["CPU"], "GPUs:", found["GPU"], flush=True)
    print("names:", *sorted(node["NodeName"] for node in ray.nodes()), flush=True)

    @ray.remote(num_cpus=1)
    def square(number):
        return os.environ["SLURMD_NODENAME"], number ** 2

    @ray.remote(num_gpus=1)
    def gpu():
        return os.environ["CUDA_VISIBLE_DEVICES"]
    on = [NodeAffinitySchedulingStrategy(node["NodeID"], soft=False) for node in ray.nodes()]
    done = ray.get([square.options(scheduling_strategy=on[number % 3]).remote(number) for number in range(6)])
    print("squares:", *(value for _, value in done), "on", *sorted({name for name, _ in done}), flush=True)
    print("a GPU:", ray.get(gpu.remote()), flush=True)
    token = os.environ["RAY_AUTH_TOKEN"]
    os.environ["ADDRESS"] = ray.get_runtime_context().gcs_address
    stranger = os.spawnve(os.P_WAIT, sys.executable, [sys.executable, "-c", "import os, ray; ray.init(address=os.environ['ADDRESS'])"],
                          {**os.environ, "RAY_AUTH_TOKEN": "0" * 64})
    print("a stranger is let in:", stranger == 0, flush=True)
print("token kept:", "RAY_AUTH_TOKEN" in os.environ, flush=True)
"""


def left(folder):
    """Processes of Ray that have outlived their job."""
    found = subprocess.run(["ps", "-eo", "args"], capture_output=True, encoding="utf-8").stdout
    return [line for line in found.splitlines() if "/strata-ray-" in line and folder in line]


def a_job_of_three_nodes_is_a_cluster(service):
    tools, script = os.path.join(service.dir, "bin"), os.path.join(service.dir, "script.py")
    os.mkdir(tools)
    os.symlink(os.path.abspath(services.STRATA), os.path.join(tools, "srun"))
    with open(script, "w", encoding="utf-8") as file:
        file.write(SCRIPT)
    it = strata.Client(service.socket)
    words = ["/usr/bin/env", f"PATH={tools}:{os.environ['PATH']}", f"PYTHONPATH={client_env.PACKAGE}", os.path.join(ENVIRONMENT, "bin", "python"), script]
    job = it.submit(words, nodes=3, cpus_per_task=2, gpus=3, working_dir=service.dir)
    ended = it.wait(job, 300)
    said = "".join(it.logs(job))
    assert ended.state == "completed", said
    lines = said.splitlines()
    for line in ("nodes: 3", "CPUs: 6.0 GPUs: 3.0", "names: n1 n2 n3", "squares: 0 1 4 9 16 25 on n1 n2 n3", "a stranger is let in: False", "token kept: False"):
        assert line in lines, (line, said)
    assert any(line in ("a GPU: 0", "a GPU: 1") for line in lines), said
    time.sleep(0.5)
    equal(left(service.dir), [])


def the_template_runs(service):
    """`strata init ray`, as it is, in an environment that has Ray."""
    tools, place = os.path.join(service.dir, "names"), os.path.join(service.dir, "mine")
    os.mkdir(tools)
    os.symlink(os.path.abspath(services.STRATA), os.path.join(tools, "srun"))
    env = {**os.environ, "STRATA_SOCKET": service.socket, "PYTHONPATH": client_env.PACKAGE,
           "PATH": os.pathsep.join([tools, os.path.join(ENVIRONMENT, "bin"), os.environ["PATH"]])}
    subprocess.run([services.STRATA, "init", "ray", place], env=env, check=True, capture_output=True)
    done = subprocess.run([services.STRATA, "submit", "--quiet", "--wait", "ray.sh"], cwd=place, env=env, capture_output=True, encoding="utf-8", timeout=300)
    with open(os.path.join(place, f"ray-{done.stdout.split()[0]}.out"), encoding="utf-8") as file:
        said = file.read()
    assert done.returncode == 0 and "328350" in said.split(), (done, said)  # the sum of the squares below 100
    assert "'CPU': 16.0" in said, said


def elsewhere_it_says_what_is_missing(_):
    code = "import strata.ray\nwith strata.ray.cluster():\n    pass"
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("STRATA_JOB", "SLURM_"))}
    for more, words in (({}, "this is not a job; `strata submit --nodes 3"), ({"STRATA_JOB_ID": "1", "PATH": "/nonexistent"}, "srun is not in PATH"),
                        ({"STRATA_JOB_ID": "1", "SLURM_STEP_ID": "0"}, "one of the tasks of srun")):
        done = subprocess.run([os.path.join(ENVIRONMENT, "bin", "python"), "-c", code], capture_output=True, encoding="utf-8", timeout=120,
                              env={**plain, "PYTHONPATH": client_env.PACKAGE, **more})
        assert done.returncode and words in done.stderr, done


run(a_job_of_three_nodes_is_a_cluster, the_template_runs, elsewhere_it_says_what_is_missing)
