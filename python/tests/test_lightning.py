#!/usr/bin/env python3
"""strata.lightning with the real Lightning: a training that is sent back goes on from its checkpoint, two processes of srun find each other."""
import os
import sys

import client_env

client_env.enter_torch()

import strata  # noqa: E402
from service import STRATA, equal, run  # noqa: E402
from strata.lightning import expand  # noqa: E402

TRAIN = """
import json, os, sys, time
import torch, lightning, strata.lightning
class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.layer = torch.nn.Linear(4, 1)
    def training_step(self, batch, index):
        time.sleep(float(os.environ["STEP_S"]))
        if self.global_rank == 0:
            print("step", self.global_step, flush=True)
        return self.layer(batch).pow(2).mean()
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)
data = torch.utils.data.DataLoader(torch.ones(40, 4), batch_size=1)
count = int(os.environ.get("DEVICES", "1"))
trainer = lightning.Trainer(accelerator="cpu", devices=count, strategy="ddp" if count > 1 else "auto", max_epochs=1, logger=False, enable_checkpointing=False,
                            enable_progress_bar=False, enable_model_summary=False, plugins=[strata.lightning.Environment()],
                            callbacks=[strata.lightning.Requeue()])
model = Model()
trainer.fit(model, data, ckpt_path=strata.lightning.checkpoint())
print("ended", trainer.global_step, trainer.world_size, trainer.global_rank, "%.9f" % float(model.layer.weight.detach().sum()), flush=True)
"""


def job(service, step_s, *before, **fields):
    path = os.path.join(service.dir, "train.py")
    with open(path, "w") as file:
        file.write(TRAIN)
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": client_env.PACKAGE, "STEP_S": str(step_s), "OMP_NUM_THREADS": "1", **fields.pop("variables", {})}
    return {"command": [*before, sys.executable, "-W", "ignore", path], "working_dir": service.dir, "environment": environment, **fields}


def a_training_that_is_sent_back_goes_on(service):
    it = strata.Client(service.socket)
    whole = it.submit(**job(service, 0))
    number = it.submit(**job(service, 0.1))
    for line in it.logs(number):
        if line == "step 10\n":
            it.change(number, requeue=True)
            break
    done = it.wait(number, 150)
    equal((done.state, done.attempt), ("completed", 2))
    steps = [line.split() for line in it.output(number).splitlines() if line.startswith(("step", "ended"))]
    first = int(next(words for words in reversed(steps[:-1]) if words)[1])
    equal(first, 39)
    kept = it.checkpoints(number)
    assert kept and 10 <= kept[0].step < 40 and os.path.basename(kept[0].path) == f"step-{kept[0].step}.ckpt", kept
    began = [int(words[1]) for words in steps if words[0] == "step"]
    equal(it.wait(whole, 150).state, "completed")
    end = [line for line in it.output(whole).splitlines() if line.startswith("ended")]
    equal([" ".join(words) for words in steps if words[0] == "ended"], end)  # the same weights
    equal(began.count(kept[0].step), 1)  # what was saved is not trained again


def two_processes_of_srun_find_each_other(service):
    it = strata.Client(service.socket)
    number = it.submit(**job(service, 0, os.path.abspath(STRATA), "slurm", "srun", nodes=1, tasks=2, variables={"DEVICES": "2"}))
    done = it.wait(number, 150)
    assert done.state == "completed", it.output(number)
    lines = sorted(line.split()[:4] for line in it.output(number).splitlines() if line.startswith("ended"))
    equal((done.state, lines), ("completed", [["ended", "20", "2", "0"], ["ended", "20", "2", "1"]]))


def lists_of_nodes_are_read(_service):
    equal(expand("n[1-3,07],x"), ["n1", "n2", "n3", "n07", "x"])
    equal(expand("one"), ["one"])


run(a_training_that_is_sent_back_goes_on, two_processes_of_srun_find_each_other, lists_of_nodes_are_read)
