"""From a module to what is staged: which parameters are needed together, and in which groups they are fetched.

A *part* is a module that computes with all of its parameters at once: a linear layer, a convolution, but also a small block that has
parameters of its own beside those of its children, or one that reaches into its children instead of calling them. A *unit* is a layer of
the stage level: parts that always follow each other, up to a size. Parameters that several parts share make one part of these.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Optional

import torch
from torch import nn
from torch.nn.utils import parametrize

from .stream import Extent
from .weights import ALIGNMENT

__all__ = ["Part", "Slot", "Unit", "collect", "group"]

# These read parameters of their children without calling them.
_WHOLE = (nn.MultiheadAttention, nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)


class Slot:
    """A parameter that is staged: in the file, in memory while its unit is, and what stands for it otherwise."""

    __slots__ = ("name", "parameter", "extent", "away", "away_at", "here", "version", "raw", "unit", "number", "changed", "home")

    def __init__(self, name: str, parameter: nn.Parameter, extent: Extent, away: torch.Tensor) -> None:
        self.name, self.parameter, self.extent, self.away = name, parameter, extent, away
        self.away_at = away.data_ptr()
        self.here: Any = away
        self.raw: Any = None  # where it is in the stream, if it cannot be used there
        self.version = parameter._version
        self.unit: Any = None
        self.number = 0  # its extent of the unit
        self.home = torch.device("cpu") if parameter.is_meta else parameter.device
        self.changed = False  # it has been trained; the file is behind


class Part:
    """Modules that share parameters, mostly just one."""

    __slots__ = ("name", "modules", "slots", "unit", "bound")

    def __init__(self, name: str, modules: list[nn.Module], slots: list[Slot]) -> None:
        self.name, self.modules, self.slots = name, modules, slots
        self.unit: Any = None
        self.bound = False  # it computes: its parameters are in memory

    @property
    def bytes(self) -> int:
        """Of its parameters."""
        return sum(slot.extent.bytes for slot in self.slots)

    @property
    def aside(self) -> int:
        """Of those that lie badly in their file."""
        return _aside(self.slots)


def _is_crooked(slot: Slot) -> bool:
    """Results of a product may depend in their last bits on where a matrix begins, so it begins where torch would have it begin."""
    return slot.extent.offset % ALIGNMENT != 0


def _aside(slots: Iterable[Slot]) -> int:
    return sum(-(-slot.extent.bytes // ALIGNMENT) * ALIGNMENT for slot in slots if _is_crooked(slot))


class Unit:
    """A layer of the stage level."""

    __slots__ = ("index", "name", "slots", "parts", "crooked", "aside")

    def __init__(self, index: int, parts: Sequence[Part]) -> None:
        self.index, self.parts = index, list(parts)
        self.name = parts[0].name if len(parts) == 1 else f"{parts[0].name} … {parts[-1].name}"
        self.slots = [slot for part in parts for slot in part.slots]
        self.crooked: list[Slot] = []
        self.aside = _aside(self.slots)
        for part in parts:
            part.unit = self
        for number, slot in enumerate(self.slots):
            slot.unit, slot.number = self, number


    def lay_out(self, buffer: Any, aside: torch.Tensor) -> None:
        """Where its parameters are when it is in memory: in the stream, or aside, if they lie badly there."""
        self.crooked, at = [slot for slot in self.slots if _is_crooked(slot)], 0
        for slot in self.slots:
            slot.here, slot.raw = torch.frombuffer(buffer(slot.number), dtype=slot.away.dtype).view(slot.away.shape), None
            if _is_crooked(slot):
                slot.raw, slot.here = slot.here, aside[at:at + slot.extent.bytes].view(slot.away.dtype).view(slot.away.shape)
                at += -(-slot.extent.bytes // ALIGNMENT) * ALIGNMENT


def _parameters(module: nn.Module) -> list[nn.Parameter]:
    return [parameter for parameter in module._parameters.values() if parameter is not None]


def _walk(module: nn.Module, name: str, small: int, seen: set[int]) -> Iterator[tuple[str, nn.Module, list[nn.Parameter], bool]]:
    """Modules with the parameters that they need at once; and whether this is all that they have."""
    if id(module) in seen:
        return
    seen.add(id(module))
    everything = list(module.parameters())
    if not everything:
        return
    own = _parameters(module)
    nested = len(everything) > len(own)
    weight = sum(parameter.numel() * parameter.element_size() for parameter in everything)
    if not nested or isinstance(module, _WHOLE) or parametrize.is_parametrized(module) or (own and weight <= small):
        seen.update(id(child) for child in module.modules())
        yield name, module, everything, True
        return
    if own:
        yield name, module, own, False
    for child_name, child in module.named_children():
        yield from _walk(child, f"{name}.{child_name}" if name else child_name, small, seen)


def collect(model: nn.Module, slots: dict[int, Slot], small: int, lookups: bool) -> tuple[list[Part], list[Slot], list[Slot]]:
    """Parts in the order in which modules were registered, parameters to keep in memory, and those that are only looked up in the file.

    Kept is what a large module has beside its children: it is needed before and after them. With lookups a parameter may be looked
    at anywhere, and the tables of embeddings stay in the file, where a call reads a few rows."""
    parts: list[Part] = []
    kept: dict[int, Slot] = {}
    rows: dict[int, Slot] = {}
    of: dict[int, Part] = {}
    for name, module, parameters, all_of_it in _walk(model, "", small, set()):
        mine = list({id(parameter): slots[id(parameter)] for parameter in parameters if id(parameter) in slots}.values())
        if not mine:
            continue
        if not all_of_it or (module._forward_pre_hooks and not lookups):  # hooks may look at parameters before they are here
            kept.update((id(slot), slot) for slot in mine)
            continue
        if lookups and isinstance(module, nn.Embedding) and module.max_norm is None:
            rows.update((id(slot), slot) for slot in mine)
            continue
        part = Part(name or type(module).__name__, [module], mine)
        for other in {id(of[id(slot)]): of[id(slot)] for slot in mine if id(slot) in of}.values():
            parts.remove(other)  # they share a parameter
            part = Part(other.name, other.modules + part.modules, list({id(slot): slot for slot in other.slots + part.slots}.values()))
        parts.append(part)
        of.update((id(slot), part) for slot in part.slots)
    for part in list(parts):  # what is kept anyway needs no part
        part.slots = [slot for slot in part.slots if id(slot) not in kept]
        if not part.slots:
            parts.remove(part)
    return parts, list(kept.values()), [slot for slot in rows.values() if id(slot) not in kept and id(slot) not in of]


def group(parts: Iterable[Part], order: Optional[Sequence[Part]], most: int) -> list[Unit]:
    """Units of parts that always follow each other in the order that was seen (None: in that of registration)."""
    every = list(parts)
    visits = list(order) if order is not None else every
    counts: dict[int, int] = {}
    before: dict[int, set[int]] = {}
    last = 0
    for part in visits:
        counts[id(part)] = counts.get(id(part), 0) + 1
        before.setdefault(id(part), set()).add(last)
        last = id(part)
    known = set(counts)
    firsts = list({id(part): part for part in visits}.values()) + [part for part in every if id(part) not in known]
    groups: list[list[Part]] = []
    room = 0
    for part in firsts:
        previous = groups[-1][-1] if groups else None
        joins = (previous is not None and part.bytes <= room and counts.get(id(part), 0) == counts.get(id(previous), 0)
                 and before.get(id(part), {id(previous)}) == {id(previous)})
        if joins:
            groups[-1].append(part)
            room -= part.bytes
        else:
            groups.append([part])
            room = most - part.bytes
    return [Unit(index, parts) for index, parts in enumerate(groups)]
