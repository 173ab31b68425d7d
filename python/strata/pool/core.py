"""The three calls of a whole program: chitu_init(args), chitu_start(), and chitu_generate() until all is done.

    backend = chitu_init(args)
    chitu_start()
    while not DiffusionTaskPool.all_finished():
        chitu_generate()
"""
from __future__ import annotations

from typing import Any, Optional

from ..errors import ConflictError
from . import ranks
from .backend import DiffusionBackend, _argument
from .scheduler import DiffusionScheduler
from .task import DiffusionTask, DiffusionTaskPool

__all__ = ["chitu_generate", "chitu_init", "chitu_start", "chitu_terminate"]

_backend: Optional[DiffusionBackend] = None
_scheduler: Optional[DiffusionScheduler] = None


def chitu_init(args: Any) -> DiffusionBackend:
    """Loads the pipeline that args name (see DiffusionBackend). With torch.distributed every rank calls it."""
    global _backend, _scheduler
    _backend, _scheduler = DiffusionBackend(args), None
    return _backend


def chitu_start(scheduler: Optional[DiffusionScheduler] = None) -> DiffusionScheduler:
    """Begins to schedule: with this scheduler, or one as args say (policy, users, max_vram_gb, batch_size)."""
    global _scheduler
    if _backend is None:
        raise ConflictError("nothing was initialized; expected chitu_init(args) first")
    if scheduler is None:
        words = {name: _argument(_backend.args, name) for name in ("policy", "users", "max_vram_gb", "batch_size")
                 if not isinstance(_backend.args, str)}
        scheduler = DiffusionScheduler(**{name: value for name, value in words.items() if value is not None})
    _scheduler = scheduler
    return scheduler


def chitu_generate() -> Optional[DiffusionTask]:
    """One step of the task that is next, on every rank; that task, or None when there was nothing to do."""
    if _backend is None or _scheduler is None:
        raise ConflictError("nothing was started; expected chitu_init(args) and chitu_start() first")
    if ranks.is_alone():
        task_id = _scheduler.schedule()
        task = DiffusionTaskPool.get(task_id) if task_id is not None else None
    elif ranks.is_first():
        task = ranks.broadcast_task(_scheduler.schedule())
    else:
        task = ranks.receive_task_from_rank0()
    assert _backend.generator is not None
    _backend.generator.generate_step(task)
    return task


def chitu_terminate() -> None:
    """Lets pipeline and scheduler go; tasks stay in the pool."""
    global _backend, _scheduler
    _backend = _scheduler = None
