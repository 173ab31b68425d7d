"""What is changed about a model while it is offloaded, and how it is undone: forwards that say when they begin, parameters with other
memory, buffers on another device."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from .units import Slot

__all__ = ["Changes"]


class Changes:
    """Undone in reverse order. True while there are any."""

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self._undo: list[Callable[[], None]] = []

    def __bool__(self) -> bool:
        return bool(self._undo)

    def add(self, undo: Callable[[], None]) -> None:
        """A change that somebody else made."""
        self._undo.append(undo)

    def undo(self) -> None:
        """The model is as it was, but for its parameters' numbers."""
        while self._undo:
            self._undo.pop()()

    def adopt(self, slot: Slot, tensor: torch.Tensor) -> None:
        """A parameter gets other memory. One that has no numbers (device meta) is replaced, for good."""
        old = slot.parameter
        if not old.is_meta:
            old.data = tensor
            slot.version = old._version
            return
        made = nn.Parameter(tensor, requires_grad=old.requires_grad)
        for module in self._model.modules():
            for name, parameter in module._parameters.items():
                if parameter is old:
                    module._parameters[name] = made
        slot.parameter, slot.version = made, made._version

    def wrap(self, module: nn.Module, around: Callable[..., Any]) -> None:
        """A module's forward goes through a function of (forward, words, named words). Not by hooks: some modules take another way when they
        have any."""
        before = module.__dict__.get("forward")
        forward = module.forward

        @functools.wraps(forward)
        def staged(*words: Any, **named: Any) -> Any:
            return around(forward, words, named)
        module.forward = staged

        def undo() -> None:
            if before is None:
                module.__dict__.pop("forward", None)
            else:
                module.forward = before
        self._undo.append(undo)

    def move(self, device: torch.device, staged: set[int]) -> None:
        """What is not staged goes to the device: parameters that are kept, and buffers."""
        for parameter in self._model.parameters():
            if id(parameter) not in staged and parameter.device != device:
                home = parameter.device
                parameter.data = parameter.data.to(device)
                self._undo.append(functools.partial(lambda parameter, home: setattr(parameter, "data", parameter.data.to(home)), parameter, home))
        for module in self._model.modules():
            for name, buffer in module._buffers.items():
                if buffer is not None and not buffer.is_meta and buffer.device != device:
                    module._buffers[name] = buffer.to(device)
                    self._undo.append(functools.partial(module._buffers.__setitem__, name, buffer))
