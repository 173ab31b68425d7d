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
bit. What cannot be had this way is refused: several backward() for one step, closures, and computing with gradients after backward().

With keep_gradients=True gradients are staged as well, and opt.step() is where parameters change. So backward() may be called several times for
one step, and h.clip_grad_norm_(max_norm) clips by the norm over all gradients, as torch.nn.utils.clip_grad_norm_ does.

The file of weights is never written to while a model trains: what changes goes to a file without a name beside it. h.save() writes a whole
new file and renames it into place; after a crash the file is the one of the last h.save(), or the first.
"""
from __future__ import annotations

import functools
import os
import tempfile
import types
from collections.abc import Sequence
from typing import Any, Optional

import torch
from torch import nn

from ..errors import ConflictError, InvalidError, UnsupportedError
from .gradients import Mark
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
    """Some numbers of a parameter and the optimizer's state for them: a layer of the stream of states, and one for their gradients."""

    __slots__ = ("begin", "end", "state", "layer", "stored", "views", "gradient", "gradient_view")

    def __init__(self, begin: int, end: int) -> None:
        self.begin, self.end = begin, end
        self.state: dict[str, Any] = {}  # what is in memory: the number of steps; before the first step whatever there is
        self.layer: Optional[int] = None  # None: small, all of it in memory
        self.stored: list[str] = []  # keys that are in the stream
        self.views: list[torch.Tensor] = []
        self.gradient: Optional[int] = None  # the layer of gradients that are kept; None: in memory, or not kept
        self.gradient_view: Any = None


class _Trained:
    """A staged parameter that the optimizer changes."""

    __slots__ = ("slot", "group", "keys", "pieces", "done", "mark", "adds", "gradient", "norm")

    def __init__(self, slot: Slot, group: dict[str, Any], keys: list[str], kept: bool) -> None:
        self.slot, self.group, self.keys = slot, group, keys
        self.pieces: list[_Piece] = []
        self.done = False  # stepped, since the last optimizer.step()
        self.mark = Mark.of(slot.name, slot.parameter, kept)  # is the parameter's grad while there is a gradient
        self.adds = False  # the gradient that comes is added to the one that is kept
        self.gradient: Any = None  # one that is kept and small
        self.norm: Any = None  # of the gradient that is kept

    @property
    def has_gradient(self) -> bool:
        return self.slot.parameter.grad is self.mark


class Training:
    """The optimizer's side of an offloaded model."""

    def __init__(self, handle: Any, optimizer: torch.optim.Optimizer, parts: Sequence[Part], keeps: bool) -> None:
        if type(optimizer) not in _KNOWN:
            raise UnsupportedError(f"{type(optimizer).__name__} cannot be staged; expected {', '.join(kind.__name__ for kind in _KNOWN)}")
        self._handle, self.optimizer, self._keeps = handle, optimizer, keeps
        self.folder = os.path.dirname(handle.path)
        self.stream: Optional[Stream] = None
        self.gradient_bytes = 0
        self._in_step = False
        self._hooks: list[Any] = []
        self._arrived: dict[int, _Trained] = {}  # whose gradients are kept, in the order in which they came
        self._scales: list[torch.Tensor] = []  # of gradients that were clipped
        slots = {id(slot.parameter): slot for part in parts for slot in part.slots}
        self._trained: dict[int, _Trained] = {}
        for group in optimizer.param_groups:
            keys: Optional[list[str]] = None
            for parameter in group["params"]:
                if id(parameter) not in slots or not parameter.requires_grad:
                    continue
                keys = self._keys(group) if keys is None else keys
                self._trained[id(parameter)] = _Trained(slots[id(parameter)], group, keys, keeps)
        if not self._trained:
            raise InvalidError("the optimizer has none of the model's parameters that are staged")
        self._small = min(_SMALL, handle.budget // 256)
        each = [self._bytes_beside(one) for one in self._trained.values()]
        self.state_bytes = sum(count for count in each if count > self._small)
        self.kept_bytes = sum(each) - self.state_bytes
        self.budget = 0

    def _bytes_beside(self, one: _Trained) -> int:
        """What a parameter has beside its numbers: the optimizer's state, and its gradient if that is kept."""
        return one.slot.extent.bytes * (len(one.keys) + self._keeps)

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
        return forward + forward[::-1] + (forward if self._keeps else [])

    def open(self) -> None:
        """Cuts states into pieces and opens their stream: on a file that is nothing but zeros and takes no room."""
        most = max(2 * _BLOCK, self.budget // 6)
        layers: list[Layer] = []
        pieces: list[tuple[_Trained, _Piece]] = []
        at = 0
        for one in self._trained.values():
            width, count = one.slot.away.element_size(), one.slot.away.numel()
            small = self._bytes_beside(one) <= self._small
            each = count if small else max(1024, (most // (width * max(1, len(one.keys))) - ALIGNMENT) // 1024 * 1024)
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
                if extents:
                    piece.layer = len(layers)
                    layers.append(Layer(f"state of {one.slot.name}", extents))
                if self._keeps:
                    piece.gradient = len(layers)
                    layers.append(Layer(f"gradient of {one.slot.name}", [Extent(0, at, (piece.end - piece.begin) * width)]))
                    at = -(-(at + layers[-1].extents[0].bytes) // _BLOCK) * _BLOCK
                pieces.append((one, piece))
        if layers:
            self._open_stream(layers, at, most)
        for one, piece in pieces:
            assert self.stream is not None
            if piece.layer is not None:
                piece.views = [torch.frombuffer(self.stream.buffer(piece.layer, number), dtype=one.slot.away.dtype) for number in range(len(one.keys))]
            if piece.gradient is not None:
                piece.gradient_view = torch.frombuffer(self.stream.buffer(piece.gradient, 0), dtype=one.slot.away.dtype)
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
            self._hooks.append(one.slot.parameter.register_hook(functools.partial(self._before_gradient, id(one.slot.parameter))))
            self._hooks.append(one.slot.parameter.register_post_accumulate_grad_hook(self._on_gradient))
        for module in {id(module): module for part in self._handle._parts for whole in part.modules for module in whole.modules()}.values():
            if any(id(parameter) in self._trained for parameter in module._parameters.values()):
                self._hooks.append(module._register_state_dict_hook(self._on_state_dict))
        training, optimizer = self, self.optimizer
        self._before = {name: optimizer.__dict__.get(name) for name in ("step", "zero_grad", "state_dict", "load_state_dict")}

        def step(_optimizer: Any, closure: Any = None) -> None:
            training._end(closure)

        def zero_grad(_optimizer: Any, set_to_none: bool = True) -> None:
            training._drop_gradients()
            type(optimizer).zero_grad(optimizer, set_to_none)

        def state_dict(_optimizer: Any) -> Any:
            return training._state_dict()

        def load_state_dict(_optimizer: Any, _state: Any) -> None:
            raise UnsupportedError("the optimizer's state is staged; h.remove() before it is loaded")
        for function in (step, zero_grad, state_dict, load_state_dict):
            setattr(optimizer, function.__name__, types.MethodType(function, optimizer))

    def forget(self, slot: Slot) -> None:
        """A parameter stays in memory: the optimizer treats it as usual, in its step()."""
        one = self._trained.pop(id(slot.parameter), None)
        if one is not None and (state := self._state_of(one)):
            self.optimizer.state[slot.parameter] = state

    def _before_gradient(self, key: int, _gradient: Any) -> None:
        """A gradient is about to be added to the parameter's grad, which is only a mark."""
        one = self._trained.get(key)
        if one is None or not one.has_gradient:
            return
        if not self._keeps and not one.done:
            raise ConflictError(f"the gradient of '{one.slot.name}' is still that of the step before; expected optimizer.zero_grad() after each step")
        if self._keeps and self._scales:
            raise ConflictError("the gradients were clipped, nothing can be added to them; expected optimizer.step() and optimizer.zero_grad()")
        one.adds, one.slot.parameter.grad = True, None

    def _on_gradient(self, parameter: Any) -> None:
        """A gradient is whole."""
        handle, one = self._handle, self._trained.get(id(parameter))
        if one is None:
            return
        with handle._lock:
            if one.done:
                raise ConflictError(f"a second gradient for '{one.slot.name}'; expected optimizer.step() after each backward(), since "
                                    "parameters are stepped as soon as their gradients are there; strata.offload(…, keep_gradients=True) adds them up")
            gradient, parameter.grad = parameter.grad, None
            if gradient.layout != torch.strided:
                raise UnsupportedError(f"the gradient of '{one.slot.name}' is sparse; expected a dense one")
            self.gradient_bytes = max(self.gradient_bytes, gradient.numel() * gradient.element_size())
            with torch.no_grad():
                if self._keeps:
                    self._keep(one, gradient.reshape(-1))
                else:
                    self._train(one, gradient.reshape(-1))
                    one.done = True
            parameter.grad = one.mark

    def _start_step(self) -> None:
        if self.stream is not None and not self._in_step:
            self.stream.step_start()
            self._in_step = True

    def _train(self, one: _Trained, gradient: torch.Tensor) -> None:
        """The optimizer changes a parameter."""
        if one.slot.unit is not self._handle._current:
            self._handle._enter(one.slot.unit)
        self._start_step()
        numbers = one.slot.here.view(-1)
        for piece in one.pieces:
            self._apply(one, piece, numbers, gradient)
        self._handle.note_trained(one.slot)

    def _end_training(self) -> None:
        """Those whose gradients are kept, the last that came first: its unit is still in memory."""
        if not self._keeps:
            return
        with torch.no_grad():
            for one in reversed([one for one in self._arrived.values() if one.has_gradient]):
                self._start_step()
                self._train(one, self._gradient_of(one))

    # ---- gradients that are kept ----

    def _keep(self, one: _Trained, gradient: torch.Tensor) -> None:
        adds, one.adds = one.adds, False
        if self._scales and not adds:
            if any(other.has_gradient for other in self._trained.values()):
                raise ConflictError("the gradients were clipped, nothing can be added to them; expected optimizer.step() and optimizer.zero_grad()")
            self._scales = []
        self._start_step()
        if one.pieces[0].gradient is None:
            gradient = one.gradient = one.gradient.add_(gradient) if adds else gradient
        for piece in one.pieces:
            if piece.gradient is None:
                continue
            assert self.stream is not None
            part = gradient[piece.begin:piece.end]
            self.stream.pre(piece.gradient)
            if adds:
                part.copy_(piece.gradient_view.add_(part))
            else:
                piece.gradient_view.copy_(part)
            self.stream.changed(piece.gradient, 0)
            self.stream.post(piece.gradient)
        one.norm = torch.linalg.vector_norm(gradient)
        self._arrived.pop(id(one), None)
        self._arrived[id(one)] = one

    def _gradient_of(self, one: _Trained) -> torch.Tensor:
        """All of a gradient, in memory of its own."""
        if one.pieces[0].gradient is None:
            whole = one.gradient.clone()
        else:
            whole = torch.empty(one.slot.parameter.numel(), dtype=one.slot.parameter.dtype)
            for piece in one.pieces:
                assert self.stream is not None and piece.gradient is not None
                part = whole[piece.begin:piece.end]
                if self._in_step:
                    self.stream.pre(piece.gradient)
                    part.copy_(piece.gradient_view)
                    self.stream.post(piece.gradient)
                else:
                    self.stream.copy(piece.gradient, 0, part.data_ptr())
        for scale in self._scales:
            whole.mul_(scale)
        return whole

    def _drop_gradients(self) -> None:
        with self._handle._lock:
            for one in self._trained.values():
                if one.has_gradient:
                    one.slot.parameter.grad = None
                one.gradient = None
            self._arrived, self._scales = {}, []

    @torch.no_grad()
    def clip(self, max_norm: float, norm_type: float, error_if_nonfinite: bool) -> torch.Tensor:
        """What torch.nn.utils.clip_grad_norm_ does to gradients in memory."""
        if not self._keeps:
            raise ConflictError("gradients are used up in backward(), so that there is no norm over all of them; expected "
                                "strata.offload(…, optimizer=…, keep_gradients=True)")
        norms, others = [], []
        for parameter in self._handle.model.parameters():
            one = self._trained.get(id(parameter))
            if one is not None and one.has_gradient:
                norms.append(one.norm if norm_type == 2 and not self._scales else torch.linalg.vector_norm(self._gradient_of(one), norm_type))
            elif parameter.grad is not None:
                norms.append(torch.linalg.vector_norm(parameter.grad, norm_type))
                others.append(parameter.grad)
        if not norms:
            return torch.tensor(0.0)
        total = torch.linalg.vector_norm(torch.stack(norms), norm_type)
        if error_if_nonfinite and not bool(total.isfinite()):
            raise RuntimeError(f"the norm of the gradients is {total.item()}; they are left as they are. error_if_nonfinite=False clips them all the same")
        scale = torch.clamp(max_norm / (total + 1e-6), max=1.0)
        for gradient in others:
            gradient.mul_(scale)
        self._scales.append(scale)
        return total

    def _end(self, closure: Any) -> None:
        """optimizer.step(): what is left, and the step has ended."""
        if closure is not None:
            raise UnsupportedError("a closure computes several gradients for a step; expected none with an offloaded model")
        with self._handle._lock:
            for group in self.optimizer.param_groups:
                rest = [parameter for parameter in group["params"] if id(parameter) not in self._trained]
                if rest:
                    self._step(group, rest)
            self._end_training()
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
            if one.has_gradient:
                one.slot.parameter.grad = self._gradient_of(one).view(one.slot.parameter.shape) if self._keeps else None
            for piece in one.pieces:
                piece.views, piece.gradient_view = [], None
        self.stream = None
