"""Which task's step is next, decided by the C pool (<strata/pool.h>).

A scheduler is one worker of a pool: schedule() reports what was done since the last call and picks anew.
"""
from __future__ import annotations

import time
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Optional, Union

from .._call import Arena, call, ffi, lib, memory, text
from ..errors import ConflictError, InvalidError, TooLargeError
from .task import DiffusionTask, DiffusionTaskPool, TaskStatus

__all__ = ["DiffusionScheduler"]

_GIB = 1 << 30
_STEP_NS = 1000  # of a pixel and a frame, until steps of that shape were measured; only what tasks cost beside each other matters


class DiffusionScheduler:
    """Selects whose step is next.

    policy is one of `strata classes policy`, with options if need be: "fifo", "priority", "fair", "round_robin", "shortest",
    "deadline", "resource_aware", "fair:max_queued=10". users: who may add tasks under fair, perhaps with weights. max_vram_gb: what tasks
    may need together. batch_size: how many tasks of one model and shape are picked together. preempt: whether a task under way gives
    way, between two steps, to one that the policy puts before it.

        >>> DiffusionTaskPool.clear()
        >>> scheduler = DiffusionScheduler(policy="fair", users=["alice", "bob"])
        >>> scheduler.schedule() is None, scheduler.get_pending_count()
        (True, 0)

    One's own order: a subclass with a schedule() of its own that returns an id or None.
    """

    def __init__(self, policy: str = "fifo", users: Union[Sequence[str], Mapping[str, float], None] = None,
                 max_vram_gb: Optional[float] = None, batch_size: int = 1, preempt: bool = False) -> None:
        self.policy = policy
        self._max_bytes = 0 if max_vram_gb is None else int(max_vram_gb * _GIB)
        if max_vram_gb is not None and self._max_bytes <= 0:
            raise InvalidError(f"max_vram_gb is {max_vram_gb}; expected more than 0", field="max_vram_gb")
        if not 1 <= batch_size <= lib.STRATA_BATCH_MAX:
            raise InvalidError(f"batch_size is {batch_size}; expected 1 to {lib.STRATA_BATCH_MAX}", field="batch_size")
        if users and not policy.startswith("fair"):
            raise InvalidError(f"users are kept by the policy fair, not by {policy}", field="users")
        words = f"{policy}:users='{','.join(users)}'" if users else policy
        self._batch_size = batch_size
        self._memory, out = memory(), ffi.new("struct strata_pool **")
        with Arena() as arena:
            conf = ffi.new("struct strata_pool_conf *", {
                "steps_per_pick": 2**32 - 1, "batch_max": batch_size, "preempt": preempt, "lease_ns": lib.STRATA_DURATION_NS_MAX})
            call(lib.strata_spec_build, lib.strata_kind_find(b"policy"), words.encode(), arena, ffi.addressof(conf, "policy"))
            call(lib.strata_pool_new, conf, self._memory, out)
        self._pool = ffi.gc(out[0], lambda pool, _kept=self._memory: lib.strata_pool_free(pool))
        if isinstance(users, Mapping):
            for user, weight in users.items():
                call(lib.strata_pool_set_user, self._pool, user.encode(), ffi.NULL, float(weight), ffi.NULL)
        worker = ffi.new("uint64_t *")
        call(lib.strata_pool_add_worker, self._pool, self._max_bytes, time.monotonic_ns(), worker)
        self._worker = worker[0]
        self._handles: dict[str, int] = {}   # of tasks that the C pool holds
        self._ids: dict[int, str] = {}
        self._held: dict[str, tuple[int, int, int]] = {}  # picked and not reported: steps, used_ns and time at the pick
        self._due: list[str] = []            # picked and not yet given out
        DiffusionTaskPool._join(self)

    # ---- what users call ----

    def schedule(self) -> Optional[str]:
        """The id of the task whose next step is to be done; None: there is nothing to do. Tasks of a batch come one after the other."""
        with DiffusionTaskPool._lock:
            while self._due:
                task_id = self._due.pop(0)
                if task_id in self._held:
                    return task_id
            self._report()
            picked = self._pick()
            self._due = picked[1:]
            return picked[0] if picked else None

    def schedule_batch(self) -> list[str]:
        """The ids of all tasks of the next batch, whose next steps can be done together."""
        with DiffusionTaskPool._lock:
            self._due = []
            self._report()
            return self._pick()

    def get_pending_count(self) -> int:
        """How many tasks wait for their first step, or again for a turn."""
        with DiffusionTaskPool._lock:
            return lib.strata_pool_pending_count(self._pool)

    def why(self, task_id: str) -> str:
        """Why a task waits, in words."""
        with DiffusionTaskPool._lock:
            handle = self._handles.get(task_id)
            if handle is None:
                return f"it is {DiffusionTaskPool.get(task_id).status.value}"
            answer, said, now = ffi.new("struct strata_why *"), ffi.new("char[]", 200), time.monotonic_ns()
            call(lib.strata_pool_why, self._pool, handle, now, answer)
            return text(lib.strata_why_print(answer, now, said, len(said)))

    def get_metrics(self) -> dict[str, int]:
        """Counts of the C pool: decisions, batched, preemptions …"""
        with DiffusionTaskPool._lock:
            raw = ffi.new("struct strata_pool_metrics *")
            lib.strata_pool_metrics(self._pool, raw)
            names = ("added", "refused", "decisions", "stalls", "idle", "batched", "overtakes", "preemptions", "returned", "late")
            return {name: int(getattr(raw, name)) for name in names}

    # ---- what the pool of tasks tells ----

    def _enter(self, task: DiffusionTask) -> None:
        params, request = task.user_params, ffi.new("struct strata_task_request *")
        lib.strata_task_request_init(request)
        user = ffi.new("char[]", params.user.encode())
        needed = int(params.vram_gb * _GIB)
        if self._max_bytes and needed > self._max_bytes:
            raise TooLargeError(f"task {task.task_id} needs {params.vram_gb:g} GB; expected at most {self._max_bytes / _GIB:g}", field="vram_gb")
        now = time.monotonic_ns()
        request.user, request.priority, request.weight = user, params.priority, params.weight
        request.steps = task.total_steps - task.current_step or 1
        request.cost_ns = min(params.width * params.height * params.num_frames * request.steps * _STEP_NS, lib.STRATA_TASK_COST_NS_MAX)
        request.model = zlib.crc32(params.model.encode())
        request.shape = zlib.crc32(repr((params.size, params.num_frames)).encode())
        request.memory_bytes = needed
        if params.deadline_s is not None:
            request.has_deadline, request.deadline_ns = True, now + int(params.deadline_s * 1e9)
        handle = ffi.new("uint64_t *")
        call(lib.strata_pool_add, self._pool, request, now, handle)
        self._handles[task.task_id], self._ids[handle[0]] = handle[0], task.task_id
        if self._batch_size > 1:
            call(lib.strata_pool_set_cap, self._pool, request.model, request.shape, self._batch_size)

    def _leave(self, task: DiffusionTask) -> None:
        """Out of the line; of one that was picked the C pool hears at the report."""
        handle = self._handles.get(task.task_id)
        if handle is None:
            return
        self._cancel(handle)
        if task.task_id in self._held:
            return
        self._forget(task.task_id)

    def _cancel(self, handle: int) -> None:
        try:
            call(lib.strata_pool_cancel, self._pool, handle, time.monotonic_ns())
        except ConflictError:
            pass  # it is cancelled already

    def _forget(self, task_id: str) -> None:
        handle = self._handles.pop(task_id)
        del self._ids[handle]
        call(lib.strata_pool_forget, self._pool, handle)

    def _moved(self, task: DiffusionTask, before: TaskStatus) -> None:
        """The status of a task was set. One that was picked here is reported at the next schedule(); another that somebody else began
        or ended leaves the line, and is in it again when it is pending again."""
        known, held = task.task_id in self._handles, task.task_id in self._held
        if held:
            if task.status is TaskStatus.CANCELLED:
                self._cancel(self._handles[task.task_id])
        elif known and task.status is not TaskStatus.PENDING:
            self._leave(task)
        elif not known and task.status is TaskStatus.PENDING:
            self._enter(task)

    # ---- reports and picks ----

    def _report(self) -> None:
        """Tells the C pool what became of the batch that it picked last."""
        if not self._held:
            return
        now, rows, gone = time.monotonic_ns(), [], []
        share = len(self._held)
        for task_id, (steps, used_ns, since) in self._held.items():
            handle, task = self._handles[task_id], DiffusionTaskPool._pool.get(task_id)
            if task is None or task.status is TaskStatus.CANCELLED:
                gone.append(task_id)
                continue
            kind = {TaskStatus.FINISHED: lib.STRATA_DONE_FINISHED, TaskStatus.FAILED: lib.STRATA_DONE_FAILED,
                    TaskStatus.PENDING: lib.STRATA_DONE_BACK}.get(task.status, lib.STRATA_DONE_STEPS)
            view = ffi.new("struct strata_task_view *")
            call(lib.strata_pool_get, self._pool, handle, view)
            done = min(max(task.current_step - steps, 0), view.steps - view.steps_done)
            cost = task.used_ns - used_ns if task.used_ns > used_ns else (now - since) // share
            rows.append((handle, kind, done, cost))
            if task.is_finished():
                gone.append(task_id)
        raw = ffi.new("struct strata_done[]", [{"task": handle, "kind": kind, "steps": done, "cost_ns": cost} for handle, kind, done, cost in rows])
        call(lib.strata_pool_done, self._pool, self._worker, raw, len(rows), now)
        self._held = {}
        for task_id in gone:
            self._forget(task_id)

    def _pick(self) -> list[str]:
        ask = ffi.new("struct strata_ask *", {"worker": self._worker, "free_bytes": -1})
        batch, now = ffi.new("struct strata_batch *"), time.monotonic_ns()
        call(lib.strata_pool_pick, self._pool, ask, now, batch, ffi.NULL)
        picked = [self._ids[batch.tasks[k]] for k in range(batch.count)]
        for task_id in picked:
            task = DiffusionTaskPool._pool[task_id]
            self._held[task_id] = (task.current_step, task.used_ns, now)
        return picked
