"""Drawing a task step by step with a pipeline of diffusers: encode, one denoising step at a time, decode.

A pipeline is one long call. It runs in a thread of its own for each task, and that thread runs only while somebody waits in
generate_step(): it stops where the scheduler is asked for timesteps (the prompt is encoded then) and after each step. So the pipeline's own
code does everything, whatever pipeline it is, and any number of tasks stand between their steps. Each has a shallow copy of the
pipeline, with the same models and settings of its own.
"""
from __future__ import annotations

import atexit
import copy
import functools
import inspect
import logging
import threading
import time
import weakref
from typing import Any, Optional

import torch

from ..diffusers import Scheduler
from ..errors import InvalidError
from .task import DiffusionTask, TaskStatus

__all__ = ["DiffusionGenerator"]

_log = logging.getLogger("strata.pool")
_calls: "weakref.WeakSet[_Call]" = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    """A thread must not be in the middle of a pipeline when the interpreter goes."""
    for call in list(_calls):
        call.stop()
        call.join()


class _Stopped(BaseException):
    """Leaves a pipeline whose task has ended."""


class _Paced(Scheduler):
    """A scheduler that stops its pipeline at every boundary."""

    _call: "_Call"

    @functools.wraps(Scheduler.set_timesteps)  # pipelines look at what it takes
    def set_timesteps(self, *words: Any, **named: Any) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        super().set_timesteps(*words, **named)
        self._call.task.total_steps = len(self.timesteps)
        self._call.encoded()

    @functools.wraps(Scheduler.step)
    def step(self, *words: Any, **named: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        result = super().step(*words, **named)
        self._call.stepped()
        return result


class _Call:
    """One call of a pipeline, which runs between go() and the next boundary."""

    def __init__(self, task: DiffusionTask, pipeline: Any, words: dict[str, Any]) -> None:
        self.task = task
        self._turn = threading.Condition()
        self._running = False
        self._stop = False
        self._encoded = False
        self.over = False
        self.result: Any = None
        self.error: Optional[BaseException] = None
        self._pipeline = copy.copy(pipeline)
        if hasattr(pipeline, "_progress_bar_config"):
            self._pipeline._progress_bar_config = {**pipeline._progress_bar_config, "disable": True}
        else:
            self._pipeline.set_progress_bar_config(disable=True)
        paced = _Paced(_bare(pipeline.scheduler))
        paced._call = self
        self._pipeline.scheduler = paced
        self._words = words
        self._thread = threading.Thread(target=self._run, name=f"strata {task.task_id}", daemon=True)
        _calls.add(self)

    def _run(self) -> None:
        try:
            self.result = self._pipeline(**self._words)
        except _Stopped:
            pass
        except BaseException as wrong:  # whatever it is, it is the task's and not this thread's
            self.error = wrong
        with self._turn:
            self.over, self._running = True, False
            del self._pipeline, self._words
            self._turn.notify_all()

    def go(self) -> None:
        """Runs to the next boundary."""
        with self._turn:
            if self.over:
                return
            self._running = True
            if self._thread.ident is None:
                self._thread.start()
            self._turn.notify_all()
            while self._running:
                self._turn.wait()

    def stop(self) -> None:
        """Lets the pipeline go, at the boundary where it stands."""
        with self._turn:
            self._stop = True
            if self._thread.ident is None:
                self.over = True
            self._turn.notify_all()

    def join(self) -> None:
        """Waits for the thread of a call that is over or was stopped."""
        if self._thread.ident is not None:
            self._thread.join()

    def _pause(self) -> None:
        with self._turn:
            self._running = False
            self._turn.notify_all()
            while not self._running and not self._stop:
                self._turn.wait()
            if self._stop:
                raise _Stopped

    def encoded(self) -> None:
        if not self._encoded:
            self._encoded = True
            self._pause()

    def stepped(self) -> None:
        self.task.current_step += 1
        self._pause()


def _bare(scheduler: Any) -> Any:
    return scheduler._original if type(scheduler) is Scheduler else scheduler


class DiffusionGenerator:
    """Does the steps of tasks with a pipeline, one for each call of generate_step()."""

    def __init__(self, pipeline: Any) -> None:
        """pipeline: a diffusers pipeline, or a backend that has one."""
        self.pipeline = getattr(pipeline, "pipeline", pipeline)

    def generate_step(self, task: Optional[DiffusionTask], raise_errors: bool = False) -> None:
        """Does what is next of a task: encodes, one denoising step, or decodes, and sets its status. None is nothing to do. A task
        whose pipeline fails is FAILED with the error in task.error, and the others go on."""
        if task is None or task.is_finished():
            return
        if task.state is None:
            task.state = self._begin(task)
            task.status = TaskStatus.ENCODING
        call, began = task.state, time.monotonic_ns()
        if not isinstance(call, _Call):
            raise InvalidError(f"task {task.task_id} is with another generator")
        if task.current_step and task.current_step >= task.total_steps:
            task.status = TaskStatus.DECODING
        call.go()
        task.used_ns += time.monotonic_ns() - began
        if not call.over:
            if not task.is_finished():
                task.status = TaskStatus.DECODING if task.current_step >= task.total_steps else (
                    TaskStatus.DENOISING if task.current_step else TaskStatus.ENCODING)
            return
        task.state = None
        call.join()
        if call.error is not None:
            task.error = call.error
            _log.warning("task %s failed: %s: %s", task.task_id, type(call.error).__name__, call.error)
            task.status = TaskStatus.FAILED
            if raise_errors:
                raise call.error
        elif not task.is_finished():
            result = call.result
            task.result = getattr(result, "images", None) if hasattr(result, "images") else getattr(result, "frames", result)
            task.status = TaskStatus.FINISHED

    def _begin(self, task: DiffusionTask) -> _Call:
        params = task.user_params
        words: dict[str, Any] = {"num_inference_steps": params.num_inference_steps}
        for name in ("prompt", "negative_prompt", "guidance_scale"):
            if getattr(params, name) is not None:
                words[name] = getattr(params, name)
        known = inspect.signature(type(self.pipeline).__call__).parameters
        for name in ("height", "width", "num_frames"):
            if name in known and (name != "num_frames" or params.num_frames > 1):
                words[name] = getattr(params, name)
        if params.seed is not None:
            words["generator"] = torch.Generator().manual_seed(params.seed)
        words.update(params.pipeline)
        if "prompt_embeds" in words:
            words.pop("prompt", None)
            words.pop("negative_prompt", None)
        return _Call(task, self.pipeline, words)
