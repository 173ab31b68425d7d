"""Prints, as JSON, what a step costs in diffusers' schedulers and in the one that takes their place. Run by area_solver.py."""

import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.environ["STRATA_BUILD"], "python"))
import diffusers  # noqa: E402
import torch  # noqa: E402

from strata.diffusers import Scheduler  # noqa: E402

CLASSES = ["DDIMScheduler", "EulerDiscreteScheduler", "DPMSolverMultistepScheduler", "DEISMultistepScheduler", "UniPCMultistepScheduler"]
TURNS, STEPS = 7, 30
torch.set_num_threads(1)


def microseconds(scheduler, x, m):
    scheduler.set_timesteps(STEPS)
    if hasattr(scheduler, "is_scale_input_called"):
        scheduler.is_scale_input_called = True
    began = time.process_time()
    for t in scheduler.timesteps:
        x = scheduler.step(m, t, x, return_dict=False)[0]
    return (time.process_time() - began) / len(scheduler.timesteps) * 1e6


def bound(x, m):
    """One pass of torch over what the smallest row takes: it reads two tensors and writes one."""
    out, best = torch.empty_like(x), 1e9
    for _ in range(200):
        began = time.process_time_ns()
        for _ in range(20):
            torch.add(x, m, out=out)
        best = min(best, (time.process_time_ns() - began) / 20e3)
    return best


for name in CLASSES:
    theirs = getattr(diffusers, name)()
    ours = Scheduler.from_scheduler(theirs)
    x, m = torch.randn(1, 4, 64, 64), torch.randn(1, 4, 64, 64)
    least = [1e9, 1e9]
    for _ in range(TURNS):
        for i, scheduler in enumerate((ours, theirs)):
            least[i] = min(least[i], microseconds(scheduler, x, m))
    print(json.dumps({"name": name, "ours_us": least[0], "peer_us": least[1], "peer": f"diffusers {diffusers.__version__}", "bound_us": bound(x, m)}))
