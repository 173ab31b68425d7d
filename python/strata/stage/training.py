"""Training within a budget: parameters and the optimizer's state come and go, gradients do not stay.

    opt = torch.optim.AdamW(model.parameters())
    with strata.offload(model, budget="2GiB", path="weights.safetensors", optimizer=opt) as h:
        for batch in batches:
            loss(model(batch)).backward()
            opt.step()
            opt.zero_grad()
        h.save()

As soon as a parameter's gradient is whole, in backward(), the optimizer is applied to it while it is in memory, and the gradient is dropped:
all gradients at once would be as large as the model. opt.step() ends the step. The numbers are those of training without offloading, bit for
bit. What cannot be had this way is refused or not there: several backward() for one step, closures, and gradients after backward() (so no
clipping by the norm over all of them).

The file of weights is never written to while a model trains: what changes goes to a file without a name beside it. h.save() writes a whole
new file and renames it into place; after a crash the file is the one of the last h.save(), or the first.
"""
from __future__ import annotations

import os
import tempfile
import types
from collections.abc import Sequence
from typing import Any, Optional

import torch
from torch import nn

from ..errors import ConflictError, InvalidError, UnsupportedError
from .stream import Extent, Layer, Stream
from .units import Part, Slot
from .weights import ALIGNMENT

__all__ = ["Training"]

_SMALL = 64 << 10  # state of this size per parameter stays in memory, unless the budget is small itself
_BLOCK = 4096
# Optimizers that treat every number by itself, so that a parameter can be stepped in pieces.
_KNOWN = (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.NAdam, torch.optim.RAdam, torch.optim.Adamax, torch.optim.RMSprop,
          torch.optim.Adadelta)


class _Piece:
    """Some numbers of a parameter and the optimizer's state for them: a layer of the stream of states."""

    __slots__ = ("begin", "end", "state", "layer", "stored", "views")

    def __init__(self, begin: int, end: int) -> None:
        self.begin, self.end = begin, end
        self.state: dict[str, Any] = {}  # what is in memory: the number of steps; before the first step whatever there is
        self.layer: Optional[int] = None  # None: small, all of it in memory
        self.stored: list[str] = []  # keys that are in the stream
        self.views: list[torch.Tensor] = []


class _Trained:
    """A staged parameter that the optimizer changes."""

    __slots__ = ("slot", "group", "keys", "pieces", "done")

    def __init__(self, slot: Slot, group: dict[str, Any], keys: list[str]) -> None:
        self.slot, self.group, self.keys = slot, group, keys
        self.pieces: list[_Piece] = []
        self.done = False


class Training:
    """The optimizer's side of an offloaded model."""

    def __init__(self, handle: Any, optimizer: torch.optim.Optimizer, parts: Sequence[Part]) -> None:
        if type(optimizer) not in _KNOWN:
            raise UnsupportedError(f"{type(optimizer).__name__} cannot be staged; expected {', '.join(kind.__name__ for kind in _KNOWN)}")
        self._handle, self.optimizer = handle, optimizer
        self.folder = os.path.dirname(handle.path)
        self.stream: Optional[Stream] = None
        self.gradient_bytes = 0
        self._in_step = False
        self._hooks: list[Any] = []
        slots = {id(slot.parameter): slot for part in parts for slot in part.slots}
        self._trained: dict[int, _Trained] = {}
        for group in optimizer.param_groups:
            keys: Optional[list[str]] = None
            for parameter in group["params"]:
                if id(parameter) not in slots or not parameter.requires_grad:
                    continue
                keys = self._keys(group) if keys is None else keys
                self._trained[id(parameter)] = _Trained(slots[id(parameter)], group, keys)
        if not self._trained:
            raise InvalidError("the optimizer has none of the model's parameters that are staged")
        self._small = min(_SMALL, handle.budget // 256)
        large = [one for one in self._trained.values() if one.slot.extent.bytes * len(one.keys) > self._small]
        self.state_bytes = sum(one.slot.extent.bytes * len(one.keys) for one in large)
        self.kept_bytes = sum(one.slot.extent.bytes * len(one.keys) for one in self._trained.values()) - self.state_bytes
        self.budget = 0

    # ---- one piece at a time ----

    def _step(self, group: dict[str, Any], parameters: list[Any]) -> None:
        """The optimizer's own step for these of a group."""
        groups = self.optimizer.param_groups
        before = [one["params"] for one in groups]
        try:
            for one in groups:
                one["params"] = parameters if one is group else []
            type(self.optimizer).step(self.optimizer)
        finally:
            for one, all_of_them in zip(groups, before):
                one["params"] = all_of_them

    def _keys(self, group: dict[str, Any]) -> list[str]:
        """What the optimizer keeps for every number of a parameter of this group: seen with one of four numbers."""
        trial = nn.Parameter(torch.zeros(4))
        trial.grad = torch.ones(4)
        self._step(group, [trial])
        state = self.optimizer.state.pop(trial, {})
        return [key for key, value in state.items() if isinstance(value, torch.Tensor) and value.shape == trial.shape]

    def share(self, budget: int, weights: int) -> int:
        """Divides what there is for frames: the part of the parameters. A page of these saves two reads and a write in a step, a page of
        state one of each: so parameters come first, once states can be read ahead."""
        if not self.state_bytes:
            return budget
        least = min(self.state_bytes + len(self._trained) * _BLOCK, budget // 4)
        self.budget = max(least, min(self.state_bytes * 2, budget - weights))
        return budget - self.budget

    def order(self, forward: list[int]) -> list[int]:
        """A step's visits, from those of the model's call."""
        return forward + forward[::-1]

    def open(self) -> None:
        """Cuts states into pieces and opens their stream: on a file that is nothing but zeros and takes no room."""
        most = max(2 * _BLOCK, self.budget // 6)
        layers: list[Layer] = []
        pieces: list[tuple[_Trained, _Piece]] = []
        at = 0
        for one in self._trained.values():
            width, count = one.slot.away.element_size(), one.slot.away.numel()
            small = one.slot.extent.bytes * len(one.keys) <= self._small
            each = count if small else max(1024, (most // (width * len(one.keys)) - ALIGNMENT) // 1024 * 1024)
            for begin in range(0, count, each):
                piece = _Piece(begin, min(count, begin + each))
                one.pieces.append(piece)
                if small:
                    continue
                extents = []
                for _ in one.keys:
                    extents.append(Extent(0, at, (piece.end - piece.begin) * width))
                    at = -(-(at + extents[-1].bytes) // ALIGNMENT) * ALIGNMENT
                at = -(-at // _BLOCK) * _BLOCK
                piece.layer = len(layers)
                layers.append(Layer(f"state of {one.slot.name}", extents))
                pieces.append((one, piece))
        if layers:
            self._open_stream(layers, at, most)
        for one, piece in pieces:
            assert piece.layer is not None and self.stream is not None
            piece.views = [torch.frombuffer(self.stream.buffer(piece.layer, number), dtype=one.slot.away.dtype) for number in range(len(one.keys))]
        for one in self._trained.values():
            self._take_over(one)

    def _open_stream(self, layers: list[Layer], size: int, most: int) -> None:
        with tempfile.NamedTemporaryFile(prefix=".strata-state-", dir=self.folder) as file:
            file.truncate(size)
            page = min(2 << 20, max(_BLOCK, 1 << max(0, (most // 4).bit_length() - 1)))
            self.stream = Stream([file.name], layers, budget=self.budget, page=page, bytes_per_s=self._handle.bytes_per_s, changes_dir=self.folder)

    def _take_over(self, one: _Trained) -> None:
        """State that the optimizer had before."""
        state = self.optimizer.state.pop(one.slot.parameter, None)
        if not state:
            return
        for piece in one.pieces:
            piece.state = {key: value.reshape(-1)[piece.begin:piece.end].clone() if key in one.keys and isinstance(value, torch.Tensor)
                           else value.clone() if isinstance(value, torch.Tensor) else value for key, value in state.items()}

    def _apply(self, one: _Trained, piece: _Piece, numbers: torch.Tensor, gradient: torch.Tensor) -> None:
        """One piece of a parameter: its state comes, the optimizer steps, its state goes."""
        stand_in = nn.Parameter(numbers[piece.begin:piece.end])
        stand_in.grad = gradient[piece.begin:piece.end]
        state = dict(piece.state)
        if piece.layer is not None:
            assert self.stream is not None
            self.stream.pre(piece.layer)
            state.update((key, piece.views[one.keys.index(key)]) for key in piece.stored)
        self.optimizer.state[stand_in] = state
        self._step(one.group, [stand_in])
        state = self.optimizer.state.pop(stand_in)
        if piece.layer is None:
            piece.state = state
            return
        assert self.stream is not None
        piece.stored = []
        for number, key in enumerate(one.keys):
            value = state.pop(key, None)
            if value is None:
                continue
            if value.data_ptr() != piece.views[number].data_ptr():
                piece.views[number].copy_(value)
            self.stream.changed(piece.layer, number)
            piece.stored.append(key)
        piece.state = state
        self.stream.post(piece.layer)

    # ---- in the loop ----

    def enter_model(self) -> None:
        """Hooks on parameters and on the optimizer."""
        for one in self._trained.values():
            self._hooks.append(one.slot.parameter.register_post_accumulate_grad_hook(self._on_gradient))
        for module in {id(module): module for part in self._handle._parts for whole in part.modules for module in whole.modules()}.values():
            if any(id(parameter) in self._trained for parameter in module._parameters.values()):
                self._hooks.append(module._register_state_dict_hook(self._on_state_dict))
        training, optimizer = self, self.optimizer
        self._before = {name: optimizer.__dict__.get(name) for name in ("step", "state_dict", "load_state_dict")}

        def step(_optimizer: Any, closure: Any = None) -> None:
            training._end(closure)

        def state_dict(_optimizer: Any) -> Any:
            return training._state_dict()

        def load_state_dict(_optimizer: Any, _state: Any) -> None:
            raise UnsupportedError("the optimizer's state is staged; h.remove() before it is loaded")
        for function in (step, state_dict, load_state_dict):
            setattr(optimizer, function.__name__, types.MethodType(function, optimizer))

    def forget(self, slot: Slot) -> None:
        """A parameter stays in memory: the optimizer treats it as usual, in its step()."""
        one = self._trained.pop(id(slot.parameter), None)
        if one is not None and (state := self._state_of(one)):
            self.optimizer.state[slot.parameter] = state

    def _on_gradient(self, parameter: Any) -> None:
        """A gradient is whole."""
        handle, one = self._handle, self._trained.get(id(parameter))
        if one is None:
            return
        with handle._lock:
            if one.done:
                raise ConflictError(f"a second gradient for '{one.slot.name}'; expected optimizer.step() after each backward(), since "
                                    "parameters are stepped as soon as their gradients are there")
            gradient, parameter.grad = parameter.grad, None
            if gradient.layout != torch.strided:
                raise UnsupportedError(f"the gradient of '{one.slot.name}' is sparse; expected a dense one")
            self.gradient_bytes = max(self.gradient_bytes, gradient.numel() * gradient.element_size())
            if one.slot.unit is not handle._current:
                handle._enter(one.slot.unit)
            if self.stream is not None and not self._in_step:
                self.stream.step_start()
                self._in_step = True
            with torch.no_grad():
                numbers, gradient = one.slot.here.view(-1), gradient.reshape(-1)
                for piece in one.pieces:
                    self._apply(one, piece, numbers, gradient)
            handle.note_trained(one.slot)
            one.done = True

    def _end(self, closure: Any) -> None:
        """optimizer.step(): what is left, and the step has ended."""
        if closure is not None:
            raise UnsupportedError("a closure computes several gradients for a step; expected none with an offloaded model")
        with self._handle._lock:
            for group in self.optimizer.param_groups:
                rest = [parameter for parameter in group["params"] if id(parameter) not in self._trained]
                if rest:
                    self._step(group, rest)
            for one in self._trained.values():
                one.done = False
            self._handle._end_step()
            if self.stream is not None and self._in_step:
                self.stream.step_end()
            self._in_step = False
        self.optimizer._opt_called = True  # type: ignore[attr-defined]  # which schedulers of learning rates look at

    # ---- copies ----

    def _state_of(self, one: _Trained) -> dict[str, Any]:
        """The optimizer's state for a parameter, in memory of its own."""
        like, state = one.slot.parameter, {}
        for key, value in one.pieces[0].state.items():
            state[key] = value.clone() if isinstance(value, torch.Tensor) else value
        for key in one.keys:
            if key not in one.pieces[0].stored and key not in one.pieces[0].state:
                continue
            whole = torch.empty(like.shape, dtype=like.dtype)
            for piece in one.pieces:
                to = whole.view(-1)[piece.begin:piece.end]
                if key in piece.stored:
                    assert self.stream is not None and piece.layer is not None
                    self.stream.copy(piece.layer, one.keys.index(key), to.data_ptr())
                else:
                    to.copy_(piece.state[key])
            state[key] = whole
        return state

    def _state_dict(self) -> Any:
        with self._handle._lock:
            try:
                for one in self._trained.values():
                    if state := self._state_of(one):
                        self.optimizer.state[one.slot.parameter] = state
                return type(self.optimizer).state_dict(self.optimizer)
            finally:
                for one in self._trained.values():
                    self.optimizer.state.pop(one.slot.parameter, None)

    def _on_state_dict(self, module: nn.Module, state: dict[str, Any], prefix: str, _metadata: Any) -> None:
        """model.state_dict(): numbers as they are now."""
        for name, parameter in module._parameters.items():
            one = self._trained.get(id(parameter))
            if one is not None and one.slot.changed and prefix + name in state:
                state[prefix + name] = self._handle.copy_of(one.slot)

    def leave_model(self) -> None:
        """The optimizer has its state in memory again."""
        for hook in self._hooks:
            hook.remove()
        for name, value in self._before.items():
            self.optimizer.__dict__.pop(name, None)
            if value is not None:
                setattr(self.optimizer, name, value)
        for one in self._trained.values():
            if state := self._state_of(one):
                self.optimizer.state[one.slot.parameter] = state
            for piece in one.pieces:
                piece.views = []
        self.stream = None
