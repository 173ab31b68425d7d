"""What a step costs in a pipeline of diffusers: the scheduler that takes the place of its own, and its own, on the latent of a 512 x 512 picture, in processor time of one thread."""

import json
import os
import subprocess

from rows import Row
from torch_env import python, missing  # noqa: F401  pylint: disable=unused-import


def measure(build):
    done = subprocess.run([python(build), os.path.join(os.path.dirname(__file__), "torch_solver_steps.py")], check=True, capture_output=True, text=True,
                          env={**os.environ, "STRATA_BUILD": build, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"})
    for entry in map(json.loads, done.stdout.splitlines()):
        yield Row(f"{entry['name']}", "us", "less", entry["ours_us"], entry["peer_us"], entry["peer"], entry["bound_us"],
                  "one pass over it")
