"""Tasks and the pool that holds them.

A task's status is its caller's to set: `task.status = TaskStatus.DENOISING`. Schedulers hear of it and move the task in their lines.
"""
from __future__ import annotations

import dataclasses
import enum
import itertools
import threading
import time
import weakref
from typing import Any, Callable, Optional

from ..errors import ConflictError, InvalidError, NotFoundError

__all__ = ["DiffusionTask", "DiffusionTaskPool", "DiffusionUserParams", "TaskStatus"]


class TaskStatus(enum.Enum):
    """Where a task stands."""

    PENDING = "pending"
    ENCODING = "encoding"
    DENOISING = "denoising"
    DECODING = "decoding"
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def ended(self) -> bool:
        """Nothing more will happen to such a task.

        >>> TaskStatus.FAILED.ended, TaskStatus.DENOISING.ended
        (True, False)
        """
        return self in (TaskStatus.FINISHED, TaskStatus.FAILED, TaskStatus.CANCELLED)


@dataclasses.dataclass
class DiffusionUserParams:
    """What a user asks for. What a pipeline takes beyond these goes into `pipeline`, as keyword arguments of its call.

    >>> DiffusionUserParams(prompt="a seven", num_inference_steps=4).size
    (512, 512)
    """

    prompt: Optional[str] = None
    negative_prompt: Optional[str] = None
    height: int = 512
    width: int = 512
    num_frames: int = 1
    num_inference_steps: int = 50
    guidance_scale: Optional[float] = None
    seed: Optional[int] = None
    user: str = "user"
    priority: int = 5
    """0 to 10; higher goes first under the policy priority."""
    weight: float = 1.0
    """What the task costs counts for its user divided by this, under the policy fair."""
    deadline_s: Optional[float] = None
    """To be finished so many seconds after it was added, under the policy deadline."""
    vram_gb: float = 0.0
    """Memory that it needs besides the model; 0: not counted."""
    model: str = ""
    """Tasks of different models never share a batch."""
    pipeline: dict[str, Any] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, least in (("height", 1), ("width", 1), ("num_frames", 1), ("num_inference_steps", 1)):
            value = getattr(self, name)
            if not isinstance(value, int) or value < least:
                raise InvalidError(f"{name} is {value!r}; expected a whole number of at least {least}", field=name)
        if not self.user:
            raise InvalidError("user is empty; expected a name", field="user")

    @property
    def size(self) -> tuple[int, int]:
        """Width and height."""
        return self.width, self.height


_numbers = itertools.count(1)


class DiffusionTask:
    """One request on its way: its parameters, its status, how far it is, and what came of it."""

    def __init__(self, user_params: DiffusionUserParams, task_id: Optional[str] = None) -> None:
        self.task_id: str = task_id if task_id is not None else f"task-{next(_numbers)}"
        self.user_params = user_params
        self.current_step = 0
        """Denoising steps done."""
        self.total_steps = user_params.num_inference_steps
        """As asked for; a generator that knows better says so."""
        self.used_ns = 0
        """Computing time so far, of generators that measure it."""
        self.result: Any = None
        """What the pipeline returned: its images or frames."""
        self.error: Optional[BaseException] = None
        """Why it failed."""
        self.state: Any = None
        """The generator's own, while the task is under way."""
        self.created_at = time.time()
        self._status = TaskStatus.PENDING
        self._listeners: list[Callable[["DiffusionTask", TaskStatus], None]] = []

    @classmethod
    def from_user_request(cls, params: DiffusionUserParams, task_id: Optional[str] = None) -> "DiffusionTask":
        """A task for what a user asks; DiffusionTaskPool.add() puts it in line.

        >>> DiffusionTask.from_user_request(DiffusionUserParams(prompt="a seven"), task_id="mine").status
        <TaskStatus.PENDING: 'pending'>
        """
        return cls(params, task_id)

    @property
    def status(self) -> TaskStatus:
        return self._status

    @status.setter
    def status(self, status: TaskStatus) -> None:
        status = TaskStatus(status)
        before = self._status
        if status is before:
            return
        if before.ended:
            raise ConflictError(f"task {self.task_id} is {before.value}; it cannot become {status.value}")
        self._status = status
        for hear in list(self._listeners):
            hear(self, before)

    def is_finished(self) -> bool:
        """Has it ended, well or not?"""
        return self._status.ended

    def cancel(self) -> None:
        """Ends it; what is under way stops at the next step boundary."""
        if not self._status.ended:
            self.status = TaskStatus.CANCELLED

    def __repr__(self) -> str:
        return f"<DiffusionTask {self.task_id}: {self._status.value}, step {self.current_step} of {self.total_steps}>"


class _Tasks(type):
    """The pool is used by its class name, so that all parts of a program see the same one."""

    @property
    def pool(cls) -> dict[str, DiffusionTask]:
        """All tasks by id, in the order of arrival."""
        return cls._pool  # type: ignore[attr-defined]

    def __len__(cls) -> int:
        return len(cls.pool)


class DiffusionTaskPool(metaclass=_Tasks):
    """The tasks of this process.

    >>> DiffusionTaskPool.clear()
    >>> DiffusionTaskPool.add(DiffusionTask.from_user_request(DiffusionUserParams(prompt="a seven"), task_id="a"))
    >>> DiffusionTaskPool.get_pending_tasks(), len(DiffusionTaskPool.pool), DiffusionTaskPool.all_finished()
    (['a'], 1, False)
    >>> DiffusionTaskPool.get("a").cancel()
    >>> DiffusionTaskPool.get_statistics()["cancelled"], DiffusionTaskPool.all_finished()
    (1, True)
    >>> DiffusionTaskPool.clear()
    """

    _pool: dict[str, DiffusionTask] = {}
    _lock = threading.RLock()
    _schedulers: "weakref.WeakSet[Any]" = weakref.WeakSet()

    @classmethod
    def add(cls, task: DiffusionTask) -> None:
        """Puts a task in line with every scheduler; refused by one, it is in none."""
        with cls._lock:
            if task.task_id in cls._pool:
                raise ConflictError(f"there is a task {task.task_id} already; expected another id")
            told = []
            try:
                for scheduler in list(cls._schedulers):
                    scheduler._enter(task)
                    told.append(scheduler)
            except Exception:
                for scheduler in told:
                    scheduler._leave(task)
                raise
            cls._pool[task.task_id] = task
            task._listeners.append(cls._hear)

    @classmethod
    def get(cls, task_id: str) -> DiffusionTask:
        """The task of an id."""
        task = cls._pool.get(task_id)
        if task is None:
            raise NotFoundError(f"there is no task {task_id} in the pool")
        return task

    @classmethod
    def remove(cls, task_id: str) -> DiffusionTask:
        """Takes a task out, whatever its status, and returns it. One under way is cancelled."""
        with cls._lock:
            task = cls.get(task_id)
            task.cancel()
            for scheduler in list(cls._schedulers):
                scheduler._leave(task)
            task._listeners.remove(cls._hear)
            del cls._pool[task_id]
            return task

    @classmethod
    def clear(cls) -> None:
        """Takes all tasks out."""
        with cls._lock:
            for task_id in list(cls._pool):
                cls.remove(task_id)

    @classmethod
    def all_finished(cls) -> bool:
        """Has every task ended?"""
        with cls._lock:
            return all(task.is_finished() for task in cls._pool.values())

    @classmethod
    def get_pending_tasks(cls) -> list[str]:
        """The ids of those whose next step may be done, in the order of arrival: they wait, or stand between two of their steps."""
        with cls._lock:
            return [task_id for task_id, task in cls._pool.items() if not task.is_finished()]

    @classmethod
    def get_statistics(cls) -> dict[str, int]:
        """How many tasks have each status ("pending", "encoding" …), and "total"."""
        with cls._lock:
            counts = {status.value: 0 for status in TaskStatus}
            for task in cls._pool.values():
                counts[task.status.value] += 1
            return {**counts, "total": len(cls._pool)}

    @classmethod
    def _hear(cls, task: DiffusionTask, before: TaskStatus) -> None:
        with cls._lock:
            for scheduler in list(cls._schedulers):
                scheduler._moved(task, before)
            if task.is_finished() and task.state is not None and hasattr(task.state, "stop"):
                task.state.stop()

    @classmethod
    def _join(cls, scheduler: Any) -> None:
        """A new scheduler hears of all that wait already."""
        with cls._lock:
            for task in cls._pool.values():
                if not task.is_finished():
                    scheduler._enter(task)
            cls._schedulers.add(scheduler)
