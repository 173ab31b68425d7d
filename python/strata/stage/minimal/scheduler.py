"""The scheduler: hooks that a loop calls, and the entries of a schedule that each of them runs.

Which entries are due at a hook is said by a run of the stage level (<strata/stage.h>); here they are carried out. One thread in the
background brings layers, in the order in which they are asked for, so that a prefetch goes on while the loop computes.
"""
from __future__ import annotations

import time
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, Optional

from ..._call import Arena, call, ffi, lib, memory, text
from ...errors import InvalidError, NotFoundError
from .schedule import Step

__all__ = ["Event", "Scheduler"]

_PAGE = 4096
_KINDS = {text(lib.strata_stage_kind_name(kind)): kind for kind in range(lib.STRATA_STAGE_KIND_COUNT)}


class Event(NamedTuple):
    """Something that was done: an entry, the hook that ran it, and when (seconds since the step began)."""

    hook: str
    kind: str
    layer_name: str
    begin: float
    end: float


class _Parameters:
    """A layer's parameters on two sides: a copy that stays, and the one that the layer computes with while it is fetched."""

    def __init__(self, layer: Any, device: Any) -> None:
        self._here: list[Any] = list(layer.parameters()) if hasattr(layer, "parameters") else []
        self._away = [parameter.data for parameter in self._here]
        self._device = device
        self._nothing()

    def _nothing(self) -> None:
        for parameter, away in zip(self._here, self._away):
            parameter.data = away.new_empty(0, device=self._device)

    def bring(self) -> None:
        for parameter, away in zip(self._here, self._away):
            parameter.data = away.to(self._device or away.device, copy=True)

    def give_up(self) -> None:
        for parameter, away in zip(self._here, self._away):
            away.copy_(parameter.data)  # it may have been trained meanwhile
        self._nothing()

    def restore(self) -> None:
        for parameter, away in zip(self._here, self._away):
            if parameter.data.shape == away.shape:
                away.copy_(parameter.data)
            parameter.data = away


class Scheduler:
    """Follows a schedule by hooks.

    >>> Scheduler([Step("compute", "L1")])
    Traceback (most recent call last):
        ...
    strata.errors.InvalidError: entry 0 (compute of L1): pages of the layer are missing

    latency: seconds that bringing a layer takes beyond the copying. device: where parameters are when they are fetched; None: where they
    were. Used as a context manager, or by close(), it leaves the layers as they were.
    """

    def __init__(self, forward_schedule: Iterable[Step], *, latency: float = 0.0, device: Any = None, quiet: bool = False) -> None:
        self.forward_schedule = [Step(*step) for step in forward_schedule]
        self.latency, self.device, self.quiet = latency, device, quiet
        self.events: list[Event] = []
        """What was done in this step and the steps before."""
        self._index: dict[str, int] = {}
        for step in self.forward_schedule:
            if step.kind not in _KINDS:
                raise InvalidError(f"a schedule has '{step.kind} {step.layer_name}'; expected {', '.join(_KINDS)}")
            self._index.setdefault(step.layer_name, len(self._index))
        if not self._index:
            raise InvalidError("a schedule without entries; expected at least one")
        self._names = list(self._index)
        self._run = self._follow()
        self._due = ffi.new("struct strata_stage_due *")
        self._parameters: dict[int, _Parameters] = {}
        self._layers: dict[int, Any] = {}
        self._coming: dict[int, Future[Any]] = {}
        self._channel: Optional[ThreadPoolExecutor] = None
        self._began = time.monotonic()

    def _follow(self) -> Any:
        """A run of the stage level over the schedule; a layer is one page, since nobody said how large it is."""
        count, entries = len(self._index), self.forward_schedule
        names = [ffi.new("char[]", name.encode()) for name in self._names]
        layers = ffi.new("struct strata_stage_layer[]", [{"name": name, "bytes": 1} for name in names])
        visits = [self._index[step.layer_name] for step in entries if step.kind == "compute"]
        if not visits:
            raise InvalidError("a schedule that computes nothing; expected a compute entry for each layer")
        half = len(visits) // 2
        backward = half if len(visits) == 2 * half and visits[half:] == visits[:half][::-1] else 0
        order = ffi.new("uint32_t[]", visits)
        model = ffi.new("struct strata_stage_model *", {"layers": layers, "layer_count": count, "order": order,
                                                         "visit_count": len(visits), "backward_count": backward})
        machine = ffi.new("struct strata_stage_machine *", {"page_bytes": _PAGE, "budget_bytes": _PAGE * count,
                                                             "bytes_per_s": 1_000_000_000})  # for orders that are not the schedule's
        raw = ffi.new("struct strata_stage_entry[]", [
            {"kind": _KINDS[step.kind], "layer": self._index[step.layer_name], "count": lib.STRATA_STAGE_REST} for step in entries])
        self._memory, self._arena = memory(), Arena()
        arena = self._arena.__enter__()  # has the plan; lives as long as the run
        plan, run = ffi.new("struct strata_stage_plan *"), ffi.new("struct strata_stage_run **")
        call(lib.strata_stage_schedule, model, machine, ffi.NULL, raw, len(entries), arena, plan)
        if plan.metrics.peak_bytes:  # as many layers at a time as the schedule has, also where the loop departs from it
            machine.budget_bytes = plan.metrics.peak_bytes
            call(lib.strata_stage_schedule, model, machine, ffi.NULL, raw, len(entries), arena, plan)
        conf = ffi.new("struct strata_stage_run_conf *", {"model": model, "machine": machine[0], "plan": plan})
        call(lib.strata_stage_run_new, conf, self._memory, run)
        self._keep = (names, layers, order, model, machine, plan)

        def free(pointer: Any, arena: Any = self._arena, kept: Any = (self._keep, self._memory)) -> None:
            lib.strata_stage_run_free(pointer)
            arena.__exit__()
        return ffi.gc(run[0], free)

    # ---- the six hooks ----

    def on_step_start(self) -> None:
        """Before the first layer."""
        self._began = time.monotonic()
        self._say("step start")
        self._hook(lib.STRATA_STAGE_STEP_START, None)

    def on_pre_forward(self, layer: Any) -> None:
        """Entries up to the layer's compute; its parameters are there afterwards."""
        self._hook(lib.STRATA_STAGE_PRE_FORWARD, layer)

    def on_post_forward(self, layer: Any) -> None:
        """What follows and need not wait: releases and prefetches."""
        self._hook(lib.STRATA_STAGE_POST_FORWARD, layer)

    def on_pre_backward(self, layer: Any) -> None:
        """As forward, for a schedule that goes back over the layers; else nothing is due."""
        self._hook(lib.STRATA_STAGE_PRE_BACKWARD, layer)

    def on_post_backward(self, layer: Any) -> None:
        """As forward."""
        self._hook(lib.STRATA_STAGE_POST_BACKWARD, layer)

    def on_step_end(self) -> None:
        """After the last layer."""
        self._hook(lib.STRATA_STAGE_STEP_END, None)
        self._say("step end")

    # ---- around them ----

    def bind(self, layers: Iterable[Any]) -> None:
        """Says which layers there are, so that they can be brought before a hook names them. Their parameters are given up."""
        for layer in layers:
            index = self._index.get(layer.name)
            if index is not None and self._layers.get(index) is not layer:
                self._layers[index] = layer
                self._parameters[index] = _Parameters(layer, self.device)

    def close(self) -> None:
        """Gives all layers their parameters back. The scheduler is of no use afterwards."""
        if self._channel is not None:
            self._channel.shutdown()
        for parameters in self._parameters.values():
            parameters.restore()
        self._parameters.clear()

    def __enter__(self) -> "Scheduler":
        return self

    def __exit__(self, *what: Any) -> None:
        self.close()

    def _say(self, words: str) -> None:
        if not self.quiet:
            print(f"[scheduler] {words}", flush=True)

    def _hook(self, hook: int, layer: Any) -> None:
        name = text(lib.strata_stage_hook_name(hook))
        place = name
        index = 0
        if layer is not None:
            place = f"{name}({layer.name})"
            if layer.name not in self._index:
                raise NotFoundError(f"layer '{layer.name}' is not in the schedule, which has {', '.join(self._names)}")
            self.bind([layer])
            index = self._index[layer.name]
        call(lib.strata_stage_run_hook, self._run, hook, index, self._due)
        entries = [(self._due.entries[at].kind, self._due.entries[at].layer) for at in range(self._due.count)]
        if not entries and layer is not None:
            self._say(place)
        for kind, which in entries:
            words = f"{text(lib.strata_stage_kind_name(kind))} {self._names[which]}"
            self._say(f"{place}: {words}{' (not as planned)' if self._due.surprise else ''}")
            self._perform(name, kind, which)

    def _perform(self, hook: str, kind: int, which: int) -> None:
        begin = time.monotonic()
        if kind in (lib.STRATA_STAGE_FETCH, lib.STRATA_STAGE_PREFETCH) and which not in self._coming:
            if self._channel is None:
                self._channel = ThreadPoolExecutor(1, thread_name_prefix="strata-stage")
            self._coming[which] = self._channel.submit(self._bring, hook, kind, which)
        if kind != lib.STRATA_STAGE_PREFETCH and which in self._coming:
            self._coming[which].result()
        if kind == lib.STRATA_STAGE_RELEASE:
            self._coming.pop(which, None)
            if which in self._parameters:
                self._parameters[which].give_up()
        if kind in (lib.STRATA_STAGE_COMPUTE, lib.STRATA_STAGE_RELEASE):
            self._note(hook, kind, which, begin)

    def _bring(self, hook: str, kind: int, which: int) -> None:
        """In the background."""
        begin = time.monotonic()
        if self.latency:
            time.sleep(self.latency)
        if which in self._parameters:
            self._parameters[which].bring()
        self._note(hook, kind, which, begin)
        if kind == lib.STRATA_STAGE_PREFETCH:
            took = self.events[-1]
            self._say(f"prefetch {took.layer_name}: from {took.begin * 1e3:.1f} to {took.end * 1e3:.1f} ms")

    def _note(self, hook: str, kind: int, which: int, begin: float) -> None:
        self.events.append(Event(hook, text(lib.strata_stage_kind_name(kind)), self._names[which], begin - self._began,
                                 time.monotonic() - self._began))
