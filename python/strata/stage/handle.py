"""strata.offload: a module whose parameters live in a file and are in memory when they are needed, within a budget.

Every part of the model (units.py) says when it begins to compute; the stage level of libstrata knows from the first call on in which order
that happens, and has read what comes next by then. A parameter's `data` is its memory in the stream while its module computes and a view of
the file otherwise. So whatever looks at a parameter outside of its module's forward sees the right numbers too; only reading takes longer.
"""
from __future__ import annotations

import functools
import os
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, Optional

import torch
from torch import nn

from ..errors import ConflictError, InvalidError, NotFoundError, TooLargeError, UnsupportedError
from . import units as _units
from .changes import Changes
from .stats import Stats
from .stream import Layer, Plan, Stream, size, speed
from .units import Part, Slot, Unit
from .weights import find, write

__all__ = ["Offload", "Stats", "offload"]

_PAGE_MOST = 2 << 20
_PAGE_LEAST = 4096


_ordinary: Any = torch.inference_mode(False)  # what is made within torch.inference_mode() could never be trained


class Offload:
    """A model that is offloaded; made by strata.offload. A context manager: at its end the model is as it was before."""

    def __init__(self, model: nn.Module, budget: Any, path: Optional[str], *, load: Optional[bool], device: Any, optimizer: Any,
                 keep_gradients: bool, planner: str, channel: str, cached: bool, pace: int) -> None:
        if not isinstance(model, nn.Module):
            raise InvalidError(f"a {type(model).__name__} cannot be offloaded; expected a torch.nn.Module")
        if any("_strata_offload" in module.__dict__ for module in model.modules()):
            raise ConflictError("the model, or a module of it, is offloaded already; h.remove() first")
        self.model, self.budget = model, size(budget)
        if self.budget < 1:
            raise InvalidError(f"the budget is {budget}; expected a size such as '2GiB'")
        self.device = None if device is None else torch.device(device)
        if self.device is not None and optimizer is not None:
            raise UnsupportedError("training with device= is not supported; expected one of device and optimizer")
        if keep_gradients and optimizer is None:
            raise InvalidError("keep_gradients is for training; expected an optimizer= with it")
        self._keep_gradients = keep_gradients
        self._planner, self._channel, self._cached, self._pace = planner, channel, cached, pace
        self._lock = threading.RLock()
        self._slots: dict[int, Slot] = {}
        self._changes = Changes(model)
        self._current: Optional[Unit] = None
        self._bound: list[Part] = []  # parts that compute
        self._in_step = self._in_call = False
        self._loose = 0  # visits outside of calls of the model
        self._seen: Optional[list[Part]] = []
        self._spent: dict[int, int] = {}
        self._since = 0
        self._written = 0
        self._node: Any = None
        self._before = (0, 0, 0.0, 0, 0, 0)  # what streams did that are closed
        self._training: Any = None
        self._folder: Optional[str] = None
        self.path = self._find_place(path)
        try:
            self._open(load, optimizer)
        except BaseException:
            self._drop_folder()
            raise

    # ---- opening ----

    def _find_place(self, path: Optional[str]) -> str:
        if path is not None:
            path = os.path.abspath(os.fspath(path))
            if not os.path.isdir(os.path.dirname(path)):
                raise NotFoundError(f"there is no directory {os.path.dirname(path)}, where {os.path.basename(path)} could be")
            return path
        self._folder = tempfile.mkdtemp(prefix="strata-offload-")
        return os.path.join(self._folder, "weights.safetensors")

    def _drop_folder(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    @_ordinary
    def _open(self, load: Optional[bool], optimizer: Any) -> None:
        named: dict[int, tuple[str, nn.Parameter]] = {}
        for name, parameter in self.model.named_parameters():
            if type(parameter) is nn.Parameter and _can_be_staged(parameter):
                named[id(parameter)] = (name, parameter)
        if not named:
            raise InvalidError("the model has no parameters that can be staged; expected contiguous ones in the memory of this machine")
        self._files: Any = find(self.path, list(named.values()), load)
        self._total = sum(parameter.numel() * parameter.element_size() for parameter in self.model.parameters())
        fixed = self._total - sum(parameter.numel() * parameter.element_size() for _, parameter in named.values())
        found = {key: self._files.tensors[name] for key, (name, _) in named.items()}
        slots = {key: Slot(name, parameter, found[key].extent, self._files.lookup(found[key])) for key, (name, parameter) in named.items()}
        self._most = max(4 * _PAGE_LEAST, self.budget // (12 if self.device is None else 8))
        self._parts, kept, rows = _units.collect(self.model, slots, self._most, lookups=optimizer is None and self.device is None)
        self._kept_bytes = fixed + sum(slot.extent.bytes for slot in kept)
        self._rows_bytes = sum(slot.extent.bytes for slot in rows)
        if optimizer is not None:
            from .training import Training
            self._training = Training(self, optimizer, self._parts, self._keep_gradients)
            self._kept_bytes += self._training.kept_bytes
        if self.device is None:
            aside = [part.aside for part in self._parts]
            self._aside_bytes = min(sum(aside), max([2 * self._most, *aside]))
            self._kept_bytes += self._aside_bytes
        frames = self.budget - self._kept_bytes
        if self._training is not None:
            frames = self._training.share(frames, sum(part.bytes + _PAGE_MOST for part in self._parts))
        largest = max((part.bytes for part in self._parts), default=0)
        if self.device is None and frames < largest + _PAGE_LEAST:
            raise TooLargeError(f"the budget is {self.budget} bytes; at least {self._least(largest)} are needed: {self._kept_bytes} for what is kept and "
                                f"{largest} for the largest layer")
        self._page = min(_PAGE_MOST, max(_PAGE_LEAST, 1 << max(0, (frames // 64).bit_length() - 1)))
        while self._page > _PAGE_LEAST and frames // self._page * self._page < largest + 2 * self._page:
            self._page //= 2
        self._frames_bytes = frames
        self.bytes_per_s = self._pace or speed(self._files.paths[0])
        self._kept, self._rows = kept, rows
        self._units = _units.group(self._parts, None, self._most)
        self._views: dict[tuple[int, int], list[torch.Tensor]] = {}
        self._stream: Any = self._make_stream(None) if self._parts else None
        if self._training is not None:
            self._training.open()
        self._enter_model()

    def _least(self, largest: int) -> int:
        frames = -(-(largest + 2 * _PAGE_LEAST) // _PAGE_LEAST) * _PAGE_LEAST
        return self._kept_bytes + (frames if self._training is None or not self._training.state_bytes else frames * 4 // 3 + 2 * _PAGE_LEAST)

    def _make_stream(self, order: Optional[list[int]]) -> Any:
        layers = []
        for unit in self._units:
            compute = sum(self._spent.get(id(part), 0) for part in unit.parts) * (1 if self._training is None else 2)  # backward takes longer
            layers.append(Layer(unit.name, [slot.extent for slot in unit.slots], compute))
        if self.device is not None:
            from .frames import DeviceStream
            self._views.clear()
            return DeviceStream(self._files.places(), layers, budget=self._frames_bytes, bytes_per_s=self.bytes_per_s, device=self.device, order=order,
                                planner=self._planner)
        stream = Stream(self._files.places(), layers, budget=self._frames_bytes, page=self._page, bytes_per_s=self.bytes_per_s, order=order,
                        changes_dir=None if self._training is None else self._training.folder, planner=self._planner, channel=self._channel,
                        cached=self._cached, pace=self._pace)
        aside = torch.empty(max(unit.aside for unit in self._units), dtype=torch.uint8)
        assert aside.numel() <= self._aside_bytes
        for unit in self._units:
            unit.lay_out(lambda number, unit=unit: stream.buffer(unit.index, number), aside)
        return stream

    def _close_stream(self) -> None:
        self._note_past()
        if self.device is not None and self._stream is not None:
            self._stream.close()
        self._views.clear()
        self._stream = None

    def _enter_model(self) -> None:
        """The model's parameters become those of the file, and its modules say when they compute."""
        staged = [slot for unit in self._units for slot in unit.slots]
        for slot in staged + self._rows:
            self._changes.adopt(slot, slot.away)
            self._slots[id(slot.parameter)] = slot
        for slot in self._kept:
            if slot.parameter.is_meta or self._is_other(slot):
                self._changes.adopt(slot, slot.away.clone())
        if self.device is not None:
            self._changes.move(self.device, {id(slot.parameter) for unit in self._units for slot in unit.slots})
        for part in self._parts:
            for module in part.modules:
                self._changes.wrap(module, functools.partial(self._part_forward, part, not type(module).__module__.startswith("torch.nn.modules")))
        self._changes.wrap(self.model, self._model_forward)
        self.model._strata_offload = weakref.ref(self)  # type: ignore[assignment]
        self._changes.add(lambda: delattr(self.model, "_strata_offload"))
        if self._training is not None:
            self._training.enter_model()

    def _is_other(self, slot: Slot) -> bool:
        """The file was chosen over the model."""
        return not torch.equal(slot.parameter.data.cpu().reshape(-1).view(torch.uint8), slot.away.reshape(-1).view(torch.uint8))

    # ---- computing ----

    def _model_forward(self, forward: Callable[..., Any], words: Any, named: Any) -> Any:
        """One call of the model is one step."""
        with self._lock:
            if self._in_call:
                return forward(*words, **named)
            self._end_step()
            self._start_step()
            self._in_call = True
            whole = False
            try:
                out = forward(*words, **named)
                whole = True
                return out
            finally:
                self._in_call = False
                if self._training is None or not torch.is_grad_enabled():
                    self._end_step()
                else:
                    self._leave()
                if self._seen is not None and whole:
                    self._replan()

    def _part_forward(self, part: Part, strange: bool, forward: Callable[..., Any], words: Any, named: Any) -> Any:
        with self._lock:
            if self._seen is not None:
                self._record(part)
            if part.unit is not self._current and part.unit is not None:
                self._enter(part.unit)
            if self._seen is not None:
                self._since = time.perf_counter_ns()
            self._bind(part)
            try:
                if torch.is_grad_enabled():
                    with torch.autograd.graph.saved_tensors_hooks(self._pack, self._unpack):
                        out = forward(*words, **named)
                else:
                    out = forward(*words, **named)
                return self._owned(part, out) if strange else out
            finally:
                self._unbind(part)

    def _record(self, part: Optional[Part]) -> None:
        """In the first call: the order of parts, and how long each computes."""
        assert self._seen is not None
        if self._seen and self._since:
            last = self._seen[-1]
            self._spent[id(last)] = self._spent.get(id(last), 0) + time.perf_counter_ns() - self._since
            self._since = 0
        if part is not None:
            self._seen.append(part)

    def _owned(self, part: Part, out: Any) -> Any:
        """What a module returns may be a parameter or a part of one: it must not go away with its unit."""
        if isinstance(out, torch.Tensor):
            return out.clone() if self._slot_at(part, out) is not None else out
        if type(out) in (tuple, list):
            return type(out)(self._owned(part, one) for one in out)
        return out

    @staticmethod
    def _slot_at(part: Part, tensor: torch.Tensor) -> Optional[Slot]:
        if tensor.layout != torch.strided:
            return None
        at, kind = tensor.data_ptr(), tensor.device.type
        for slot in part.slots:
            begin = slot.here.data_ptr()
            if begin <= at < begin + slot.extent.bytes and slot.here.device.type == kind:
                return slot
        return None

    def _start_step(self) -> None:
        if self._stream is not None:
            self._stream.step_start()
        self._in_step = True
        self._loose = 0

    def _end_step(self) -> None:
        if not self._in_step:
            return
        self._leave()
        self._in_step = False
        if self._stream is not None:
            self._stream.step_end()

    def _enter(self, unit: Unit) -> None:
        """The unit is in memory afterwards, and its parameters are there."""
        assert self._stream is not None
        if self._current is not None:
            self._leave()
        if not self._in_call:  # a part of the model, by itself, or a backward pass
            self._loose += 1
            if not self._in_step or self._loose > 4 * len(self._units):
                self._end_step()
                self._start_step()
        frame = self._stream.pre(unit.index)
        self._current = unit
        if frame is not None:
            self._place(unit, frame)
        for slot in unit.crooked:
            slot.here.copy_(slot.raw)

    def _bind(self, part: Part) -> None:
        """A part computes: its parameters are those in memory."""
        if part.bound or part.unit is None:
            return
        part.bound = True
        self._bound.append(part)
        for slot in list(part.slots):
            parameter = slot.parameter
            if parameter._version == slot.version and parameter.data_ptr() == slot.away_at:
                parameter.data = slot.here
            else:
                self._note_written(part, slot)

    def _unbind(self, part: Part) -> None:
        if not part.bound:
            return
        part.bound = False
        self._bound.remove(part)
        for slot in list(part.slots):
            parameter = slot.parameter
            if parameter._version != slot.version:  # by its module, while it was here
                if self._training is None:
                    slot.away.copy_(parameter.data)
                self._note_written(part, slot)
            else:
                parameter.data = slot.away

    @_ordinary
    def _place(self, unit: Unit, frame: int) -> None:
        """On a device a unit may lie in another frame each time."""
        views = self._views.get((frame, unit.index))
        if views is None:
            views = [self._stream.view(frame, unit.index, slot.number, slot.away.dtype, slot.away.shape) for slot in unit.slots]
            self._views[frame, unit.index] = views
        for slot, view in zip(unit.slots, views):
            slot.here = view

    def _leave(self) -> None:
        unit = self._current
        if unit is None:
            return
        if self._seen is not None:
            self._record(None)
        for part in list(self._bound):  # it goes on with what the file has
            self._unbind(part)
        self._current = self._node = None
        assert self._stream is not None
        self._stream.post(unit.index)

    @_ordinary
    def _note_written(self, part: Part, slot: Slot) -> None:
        """The program wrote to a parameter, or gave it other memory: it is no longer staged."""
        if self._training is not None:
            raise ConflictError(f"'{slot.name}' was written to by something else than the optimizer; h.remove() before that")
        slot.unit.slots = [other for other in slot.unit.slots if other is not slot]
        slot.unit.crooked = [other for other in slot.unit.crooked if other is not slot]
        part.slots = [other for other in part.slots if other is not slot]
        self._views.clear()
        self._written += slot.extent.bytes
        if slot.parameter.data_ptr() == slot.here.data_ptr():
            slot.parameter.data = slot.away
        if self.device is not None and slot.parameter.device != self.device:
            slot.parameter.data = slot.parameter.data.to(self.device)
        slot.version = slot.parameter._version

    def note_trained(self, slot: Slot) -> None:
        """The optimizer has changed a parameter that is here."""
        if slot.raw is not None:
            slot.raw.copy_(slot.here)
        self._stream.changed(slot.unit.index, slot.number)
        if not slot.changed:  # the file is behind: who looks at it outside of its module sees that it is not there
            slot.changed = True
            looked_up = slot.parameter.data_ptr() == slot.away_at
            slot.away = torch.full((), float("nan"), dtype=slot.away.dtype).expand(slot.away.shape)
            slot.away_at = slot.away.data_ptr()
            if looked_up:
                slot.parameter.data = slot.away

    @_ordinary
    def _replan(self) -> None:
        """The order is known: units and a plan for it."""
        seen, self._seen = [part for part in self._seen or [] if part.slots], None
        if not seen or self._stream is None:
            return
        counts: dict[int, int] = {}
        for part in seen:
            counts[id(part)] = counts.get(id(part), 0) + 1
        self._spent = {key: spent // counts[key] for key, spent in self._spent.items()}
        if self._training is not None:
            unseen = sum(part.bytes for part in self._parts if id(part) not in counts)
            largest = max(part.bytes for part in seen)
            if self._frames_bytes - unseen < largest + 2 * self._page:
                self.remove()
                raise TooLargeError(f"the budget is {self.budget} bytes and {unseen} of parameters were not called by their modules, so they have to be "
                                    f"kept; at least {unseen + self._least(largest)} are needed. The model is no longer offloaded")
        was_in_step, self._in_step = self._in_step, False
        self._leave()
        self._close_stream()
        for unit in self._units:
            for slot in unit.slots:
                slot.here, slot.raw = slot.away, None  # the last that keeps the old memory
        for part in [part for part in self._parts if not part.slots]:  # the program has written to all of it
            self._parts.remove(part)
            part.unit = None
        if self._training is not None:
            self._keep_unseen({id(part) for part in seen})
        self._units = _units.group(self._parts, seen, self._most)
        order: list[int] = []
        for part in seen:
            if not order or order[-1] != part.unit.index:
                order.append(part.unit.index)
        if self._training is not None:
            order = self._training.order(order)
        self._stream = self._make_stream(order)
        if was_in_step:
            self._start_step()

    def _keep_unseen(self, seen: set[int]) -> None:
        """What was not called may be used all the same, by a module that reaches into it; when it is trained, it is kept in memory."""
        for part in [part for part in self._parts if id(part) not in seen]:
            for slot in part.slots:
                slot.parameter.data = slot.away.clone()
                self._training.forget(slot)
                self._slots.pop(id(slot.parameter), None)
                slot.unit = None
                self._kept.append(slot)
                self._kept_bytes += slot.extent.bytes
                self._frames_bytes -= slot.extent.bytes
            self._parts.remove(part)
            part.slots, part.unit = [], None

    def _note_past(self) -> None:
        if self._stream is not None:
            metrics = self._stream.metrics()
            past = (metrics.bytes_read, metrics.bytes_written, metrics.wait_ns / 1e9, metrics.progress.steps, metrics.progress.visits,
                    metrics.progress.surprises)
            self._before = tuple(a + b for a, b in zip(self._before, past))

    # ---- backward ----

    def _pack(self, tensor: torch.Tensor) -> Any:
        """What autograd keeps of a parameter is which one it is and which part of it, not its memory."""
        slot = next((slot for part in self._bound if (slot := self._slot_at(part, tensor)) is not None), None)
        if slot is None:
            return tensor.detach()
        if tensor.dtype != slot.here.dtype:
            return tensor.detach().clone()
        return slot, tensor.size(), tensor.stride(), (tensor.data_ptr() - slot.here.data_ptr()) // tensor.element_size()

    def _unpack(self, packed: Any) -> torch.Tensor:
        if isinstance(packed, torch.Tensor):
            return packed
        slot, sizes, strides, offset = packed
        with self._lock:
            base = self._brought(slot)
        return base.as_strided(sizes, strides, base.storage_offset() + offset)

    def _brought(self, slot: Slot) -> torch.Tensor:
        """A parameter's memory, for a node of the backward pass."""
        unit = slot.unit
        if unit is None or slot not in unit.slots:
            return slot.parameter.data
        if unit is self._current:
            return slot.here
        node = torch._C._current_autograd_node()
        if node is not None and node is self._node:  # it holds another unit at this moment
            return self.copy_of(slot)
        self._enter(unit)
        self._node = node
        return slot.here

    # ---- what users ask for ----

    @_ordinary
    def copy_of(self, slot: Slot) -> torch.Tensor:
        """A parameter's numbers as they are now, in memory of their own."""
        if self._stream is None or slot.unit is None or slot not in slot.unit.slots:
            return slot.parameter.data.clone()
        if self.device is not None:
            return slot.away.clone()
        copy = torch.empty_like(slot.here)
        self._stream.copy(slot.unit.index, slot.number, copy.data_ptr())
        return copy

    def plan(self) -> Optional[Plan]:
        """The plan that is followed; None before the first call has ended."""
        with self._lock:
            return None if self._stream is None else self._stream.plan()

    def stats(self) -> Stats:
        """What was done so far, and what is held."""
        with self._lock:
            read, wrote, waited, steps, visits, surprises = self._before
            memory = peak = self._kept_bytes
            channel, direct, plans = "", False, 0
            for stream in [self._stream] + ([self._training.stream] if self._training is not None else []):
                if stream is None:
                    continue
                metrics = stream.metrics()
                memory += metrics.arena_bytes
                peak += metrics.peak_bytes
                read += metrics.bytes_read
                wrote += metrics.bytes_written
                waited += metrics.wait_ns / 1e9
                if stream is self._stream:
                    from .._call import text
                    channel, direct, plans = text(metrics.channel), bool(metrics.direct), metrics.progress.plans
                    steps, visits = steps + metrics.progress.steps, visits + metrics.progress.visits
                    surprises += metrics.progress.surprises
            return Stats(self.budget, memory, peak, self._kept_bytes, self._rows_bytes,
                         0 if self._training is None else self._training.gradient_bytes, self._written, self._total, len(self._units), steps,
                         visits, surprises, plans, read, wrote, waited, channel, direct)

    def trace(self, path: str) -> None:
        """Writes the newest of what was computed, waited for and read to a file that ui.perfetto.dev opens."""
        with self._lock:
            if self._stream is None:
                raise InvalidError("nothing is staged; there is no trace")
            self._stream.write_trace(os.fspath(path))

    def save(self, path: Optional[str] = None) -> None:
        """Writes the parameters as they are now to a safetensors file (default: the model's own), all of it or nothing. A crash meanwhile may
        leave a file .strata-*.safetensors beside it."""
        with self._lock:
            if not self._changes:
                raise ConflictError("the model is no longer offloaded; expected h.save() before h.remove() and the end of `with`")
            slots = {slot.name: slot for slot in [*self._slots.values(), *self._kept]}
            write(os.path.abspath(os.fspath(path)) if path is not None else self.path,
                  {name: functools.partial(self.copy_of, slot) for name, slot in slots.items()},
                  {name: (slot.away.dtype, tuple(slot.away.shape)) for name, slot in slots.items()})

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False) -> torch.Tensor:
        """torch.nn.utils.clip_grad_norm_ over the model's parameters, between backward() and optimizer.step(): returns the norm of all gradients
        before, bit for bit torch's. Needs offload(…, optimizer=…, keep_gradients=True)."""
        with self._lock:
            if self._training is None:
                raise InvalidError("the model is not trained; expected offload(…, optimizer=…, keep_gradients=True)")
            return self._training.clip(float(max_norm), float(norm_type), error_if_nonfinite)

    @_ordinary
    def remove(self) -> None:
        """Gives the model its parameters back, in memory, as they are now. The file stays, unless it was made without a path."""
        with self._lock:
            if not self._changes:
                return
            self._end_step()
            if self._training is not None:
                self._training.leave_model()
            self._changes.undo()
            for slot in self._slots.values():
                looked_up = slot.parameter.data_ptr() == slot.away_at
                if looked_up and slot.parameter._version != slot.version:  # written to, and not used since
                    slot.parameter.data = slot.parameter.data.clone().to(slot.home)
                elif looked_up:
                    slot.parameter.data = self.copy_of(slot).to(slot.home)
                slot.unit = slot.here = slot.raw = slot.away = None  # type: ignore[assignment]  # what is mapped goes with the last that refers to it
            self._close_stream()
            self._files = None
            self._slots, self._units, self._parts, self._kept, self._rows = {}, [], [], [], []
            self._drop_folder()

    def __enter__(self) -> "Offload":
        return self

    def __exit__(self, *what: Any) -> None:
        self.remove()

    def __repr__(self) -> str:
        return f"<strata.offload of {type(self.model).__name__}: {self._total} bytes within {self.budget}, {self.path}>"


def _can_be_staged(parameter: nn.Parameter) -> bool:
    return (parameter.layout == torch.strided and parameter.device.type in ("cpu", "cuda", "meta") and parameter.is_contiguous()
            and parameter.numel() > 0 and not parameter.is_quantized)


def offload(model: nn.Module, budget: Any, path: Optional[str] = None, *, load: Optional[bool] = None, device: Any = None,
            optimizer: Any = None, keep_gradients: bool = False, planner: str = "best", channel: str = "auto", cached: bool = False, pace: Any = 0) -> Offload:
    """Runs a model within a budget of memory for its parameters; they live in a safetensors file. Calls of the model stay as they are.

    >>> model = nn.Sequential(*(nn.Linear(256, 256) for _ in range(8))).eval()
    >>> x = torch.ones(1, 256)
    >>> with torch.no_grad():
    ...     expected = model(x)
    ...     with offload(model, budget="1MiB") as h:
    ...         same = [torch.equal(model(x), expected) for _ in range(3)]
    ...         within = h.stats().peak_bytes <= 1 << 20
    >>> same, within
    ([True, True, True], True)

    path: the file, or a directory of a model; None: one that goes with the offloading. It is written if it is not there; if it is, it must
    have the same numbers as the model, or the model none (device "meta"). load=True takes the file's, load=False writes the model's.
    device: where the model computes, such as "cuda": the budget is of its memory, and what is read goes through pinned memory of this machine;
    for inference. None: in this machine's memory, where parameters are read to directly.
    optimizer: the model is trained by it (see strata.stage.training). keep_gradients: gradients are staged too, for h.clip_grad_norm_ and several
    backward() in one step; otherwise each is used up as soon as it is there. planner, channel ("io_uring", "threads"), cached (read through the
    system's cache) and pace (bytes a second at most) are those of the stage level.
    """
    return Offload(model, budget, path, load=load, device=device, optimizer=optimizer, keep_gradients=keep_gradients, planner=planner,
                   channel=channel, cached=cached, pace=size(pace))
