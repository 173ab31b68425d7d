"""A call of a model, placed; and what tells calls apart."""
from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

import torch

from ..capture import Capture, Program
from ..errors import Error
from .adaptive import Choice
from .devices import Device
from .execute import Executable
from .graph import Findings, Graph, Plan

__all__ = ["Placement"]


@dataclass
class Placement:
    """A model's call, placed: what it is, where it runs, how that went."""
    capture: Capture
    graph: Graph = field(repr=False)
    findings: Findings
    choice: Choice
    plan: Plan
    executable: Executable = field(repr=False)
    calls: int = 0
    observed_ns: float = 0.0
    """Of the last call in which operators were not timed one by one."""
    version: int = 0
    single: Optional[tuple[Plan, Executable]] = field(default=None, repr=False)
    """The best single device, while it is compared with the plan."""
    tried_ns: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []), repr=False)
    """What the plan and the single device took."""

    @property
    def program(self) -> Program:
        """Its operators."""
        return self.capture.program

    @property
    def phase(self) -> str:
        """That most of it is in: "prefill", "decode" …"""
        return self.findings.phase

    def devices(self) -> dict[str, str]:
        """The device of each operator, by name."""
        return {op.name: self.executable.devices[number].name for op, number in zip(self.program.ops, self.plan.device)}

    def layers(self) -> dict[str, set[str]]:
        """The devices of each layer of the model."""
        found: dict[str, set[str]] = {}
        for op, number in zip(self.program.ops, self.plan.device):
            found.setdefault(op.layer, set()).add(self.executable.devices[number].name)
        return found


class _Busy(threading.local):
    """A call that is being captured or compiled is not placed again from within."""
    busy = False


busy = _Busy()


@contextlib.contextmanager
def placing_nothing() -> Iterator[None]:
    before, busy.busy = busy.busy, True
    try:
        yield
    finally:
        busy.busy = before


def is_of_compiler(trouble: Exception) -> bool:
    return type(trouble).__module__.startswith(("torch._dynamo", "torch._inductor", "torch.fx")) or isinstance(trouble, Error)


def varying(seen: Sequence[Sequence[Any]], leaves: Sequence[Any]) -> Optional[list[frozenset[int]]]:
    """Dimensions that differ from an earlier call of the same structure; None: there was none, or ranks differ."""
    if not seen:
        return None
    places: list[set[int]] = [set() for _ in leaves]
    for shapes in seen:
        for index, (shape, leaf) in enumerate(zip(shapes, leaves)):
            if shape is not None and isinstance(leaf, torch.Tensor):
                places[index] |= {axis for axis, (one, other) in enumerate(zip(shape, leaf.shape)) if one != other}
    return [frozenset(one) for one in places] if any(places) else None


def kept_name(device: Device) -> str:
    """What a device is called in the experience: sets of cores by their size, because that is what their speed depends on."""
    return f"cpu*{len(device.cores)}" if device.cores else str(device.torch_device)
