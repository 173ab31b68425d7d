"""Generation tasks: who waits, and whose step is next. The decisions are those of Strata's pool level.

    >>> from strata.pool import DiffusionScheduler, DiffusionTask, DiffusionTaskPool, DiffusionUserParams, TaskStatus
    >>> DiffusionTaskPool.clear()
    >>> scheduler = DiffusionScheduler(policy="priority")
    >>> for prompt, priority in (("later", 1), ("at once", 9)):
    ...     DiffusionTaskPool.add(DiffusionTask.from_user_request(DiffusionUserParams(prompt=prompt, priority=priority)))
    >>> task = DiffusionTaskPool.get(scheduler.schedule())
    >>> task.user_params.prompt
    'at once'
    >>> task.status = TaskStatus.FINISHED
    >>> DiffusionTaskPool.get(scheduler.schedule()).user_params.prompt
    'later'
    >>> DiffusionTaskPool.clear()

What needs torch and diffusers (the backend, the generator, ranks, the chitu_ functions) is imported when it is used.
"""
import importlib
from typing import TYPE_CHECKING, Any

from .scheduler import DiffusionScheduler
from .task import DiffusionTask, DiffusionTaskPool, DiffusionUserParams, TaskStatus

if TYPE_CHECKING:
    from .backend import DiffusionBackend
    from .core import chitu_generate, chitu_init, chitu_start, chitu_terminate
    from .generator import DiffusionGenerator
    from .ranks import broadcast_task, receive_task_from_rank0

__all__ = ["DiffusionBackend", "DiffusionGenerator", "DiffusionScheduler", "DiffusionTask", "DiffusionTaskPool", "DiffusionUserParams", "TaskStatus",
           "broadcast_task", "chitu_generate", "chitu_init", "chitu_start", "chitu_terminate", "receive_task_from_rank0"]

_LATER = {"DiffusionBackend": "backend", "DiffusionGenerator": "generator", "chitu_init": "core", "chitu_start": "core", "chitu_generate": "core",
          "chitu_terminate": "core", "broadcast_task": "ranks", "receive_task_from_rank0": "ranks"}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(importlib.import_module(f"{__name__}.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
