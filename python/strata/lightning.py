"""Lightning inside jobs.

    import strata.lightning
    trainer = lightning.Trainer(plugins=[strata.lightning.Environment()], callbacks=[strata.lightning.Requeue()], …)
    trainer.fit(model, ckpt_path=strata.lightning.checkpoint())

`Environment` says where each process is: one that srun started, or the first of those that Lightning starts itself. `Requeue` hears that the job has to go
(preempted, requeued, out of time with `signal`), saves a checkpoint at the end of the batch, tells the service of it and ends; the service starts the job
again by itself, with the path in STRATA_CHECKPOINT, which checkpoint() gives. Checkpoints on the way are told with their step: `strata checkpoints ID` shows
how far the training is.
"""
from __future__ import annotations

import os
import signal
import socket
import threading
import time
from dataclasses import replace
from typing import Any

from lightning.fabric.plugins.environments.cluster_environment import ClusterEnvironment
from lightning.pytorch.callbacks import Callback

from .client import Client
from .client.find import find, find_token
from .errors import Error

__all__ = ["Environment", "Requeue", "checkpoint", "inside"]

PORT_FIRST, PORT_COUNT = 20000, 20000


def inside() -> bool:
    """Is this a job of Strata's?"""
    return "STRATA_JOB_ID" in os.environ


def checkpoint() -> str | None:
    """The newest checkpoint of an earlier run of this job; None in the first run."""
    path = os.environ.get("STRATA_CHECKPOINT")
    return path if path and os.path.exists(path) else None


def _number(name: str, default: int = 0) -> int:
    text = os.environ.get(name, "")
    return int(text) if text.isdigit() else default


class Environment(ClusterEnvironment):
    """Where a process of the job is, from what the service and srun tell it."""

    @property
    def creates_processes_externally(self) -> bool:
        return "SLURM_STEP_ID" in os.environ and self._tasks() > 1

    @staticmethod
    def _tasks() -> int:
        return max(1, _number("SLURM_NTASKS", 1))

    @staticmethod
    def detect() -> bool:
        return inside()

    @property
    def main_address(self) -> str:
        """The first node; where that is an emulated one, which has no address, this machine."""
        if os.environ.get("MASTER_ADDR"):
            return os.environ["MASTER_ADDR"]
        first = os.environ.get("SLURM_JOB_NODELIST", "")
        try:
            first = expand(first)[0]
            socket.getaddrinfo(first, None)
            return first
        except (OSError, IndexError, UnicodeError):
            return "127.0.0.1"

    @property
    def main_port(self) -> int:
        """The same in all processes of a run, another in the next one."""
        return _number("MASTER_PORT") or PORT_FIRST + (_number("STRATA_JOB_ID") * 31 + _number("STRATA_ATTEMPT")) % PORT_COUNT

    def world_size(self) -> int:
        return self._tasks() if self.creates_processes_externally else getattr(self, "_world", 1)

    def set_world_size(self, size: int) -> None:
        self._world = size

    def global_rank(self) -> int:
        return _number("SLURM_PROCID") if self.creates_processes_externally else getattr(self, "_rank", 0)

    def set_global_rank(self, rank: int) -> None:
        self._rank = rank

    def local_rank(self) -> int:
        return _number("SLURM_LOCALID") if self.creates_processes_externally else _number("LOCAL_RANK")

    def node_rank(self) -> int:
        return _number("SLURM_NODEID")

    def validate_settings(self, num_devices: int, num_nodes: int) -> None:
        if self.creates_processes_externally and num_devices * num_nodes != self._tasks():
            raise ValueError(f"the job has {self._tasks()} tasks, the trainer {num_nodes} nodes × {num_devices} devices")


def expand(nodes: str) -> list[str]:
    """
    >>> expand("n[1-3,07],x")
    ['n1', 'n2', 'n3', 'n07', 'x']
    """
    import re
    found = []
    for word in re.findall(r"[^,\[]+(?:\[[^\]]*\])?[^,\[]*", nodes):
        match = re.fullmatch(r"([^\[]*)\[([^\]]*)\](.*)", word)
        if not match:
            found.append(word)
            continue
        for part in match[2].split(","):
            low, _, high = part.partition("-")
            found += [f"{match[1]}{number:0{len(low)}}{match[3]}" for number in range(int(low), int(high or low) + 1)]
    return found


class Requeue(Callback):
    """Saves a checkpoint when the job has to go, and every `every_s` seconds; the service is told of each.

    `directory` is the job's own (STRATA_CHECKPOINT_DIR) when left out. Two are kept: the service knows of no more."""

    def __init__(self, every_s: float | None = None, directory: str | None = None, signals: tuple[int, ...] = (signal.SIGTERM, signal.SIGUSR1)) -> None:
        self.every_s, self.signals = every_s, signals
        self.directory = directory or os.environ.get("STRATA_CHECKPOINT_DIR") or os.getcwd()
        self.going = False
        self._saved_at = time.monotonic()
        self._mine: list[str] = []
        self._before: dict[int, Any] = {}

    def _note(self, _number: int, _frame: Any) -> None:
        self.going = True

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._note) for number in self.signals}

    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
        self._before = {}

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        for number in self._before:  # Lightning sets its own when fitting begins
            signal.signal(number, self._note)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        going = trainer.strategy.reduce_boolean_decision(self.going, all=False)  # one that heard it is enough
        due = self.every_s is not None and time.monotonic() - self._saved_at >= self.every_s
        due = trainer.strategy.reduce_boolean_decision(due, all=False) if self.every_s is not None else False
        if going or due:
            self.save(trainer)
        if going:
            trainer.should_stop = True
            raise SystemExit(143)  # as what SIGTERM ends

    def save(self, trainer: Any) -> str:
        step = int(trainer.global_step)
        path = os.path.join(self.directory, f"step-{step}.ckpt")
        if trainer.is_global_zero:
            os.makedirs(self.directory, exist_ok=True)
        part = path + ".part"
        trainer.save_checkpoint(part)  # of all ranks
        if trainer.is_global_zero:
            os.replace(part, path)
            self._tell(path, step)
            self._mine = [one for one in self._mine if one != path] + [path]
            for old in self._mine[:-2]:
                if os.path.isfile(old):
                    os.unlink(old)
            self._mine = self._mine[-2:]
        self._saved_at = time.monotonic()
        return path

    def _tell(self, path: str, step: int) -> None:
        """With the job's own token. A service that is away is not worth a training: the file is there."""
        if not inside():
            return
        try:
            Client(place=replace(find(), token=find_token())).report_checkpoint(int(os.environ["STRATA_JOB_ID"]), path, step)
        except Error as wrong:
            print(f"strata.lightning: the service was not told of {path}: {wrong}", flush=True)
