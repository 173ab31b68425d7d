"""Several processes that draw together (torch.distributed): only rank 0 schedules, and every rank hears of every decision, that there is
nothing to do included.

    if dist.get_rank() == 0:
        task = broadcast_task(scheduler.schedule())
    else:
        task = receive_task_from_rank0()
    generator.generate_step(task)
"""
from __future__ import annotations

from typing import Optional

import torch.distributed as dist

from .task import DiffusionTask, DiffusionTaskPool

__all__ = ["broadcast_task", "is_alone", "is_first", "receive_task_from_rank0"]


def is_alone() -> bool:
    return not (dist.is_available() and dist.is_initialized()) or dist.get_world_size() == 1


def is_first() -> bool:
    return is_alone() or dist.get_rank() == 0


def broadcast_task(task_id: Optional[str]) -> Optional[DiffusionTask]:
    """On rank 0: tells all ranks whose step is next; the task. A rank that does not know it yet gets its parameters."""
    task = DiffusionTaskPool.get(task_id) if task_id is not None else None
    if not is_alone():
        dist.broadcast_object_list([None if task is None else (task.task_id, task.user_params)], src=0)
    return task


def receive_task_from_rank0() -> Optional[DiffusionTask]:
    """On the other ranks: the task whose step is next, or None when there is nothing to do."""
    box: list[Optional[tuple]] = [None]
    dist.broadcast_object_list(box, src=0)
    if box[0] is None:
        return None
    task_id, params = box[0]
    if task_id not in DiffusionTaskPool.pool:
        DiffusionTaskPool.add(DiffusionTask.from_user_request(params, task_id=task_id))
    return DiffusionTaskPool.get(task_id)
