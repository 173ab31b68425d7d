"""Which module of a model lives on which device: device maps for accelerate's dispatch_model.

    >>> import torch
    >>> model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Linear(64, 64))
    >>> device_map(model, {0: 20000, 1: 20000}, inputs=torch.zeros(1, 64))
    {'0': 0, '1': 1}

The model is captured, modules that may not be split are kept whole, and the C place level plans with what the devices reach: the plan with the
lowest predicted latency within the limits, not the first one that fills them in order. Modules on "cpu" or "disk" beside GPUs are what
accelerate makes of them: computed on the first GPU, their weights brought there for every call.
"""
from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional, Union

import torch
from torch.utils._pytree import tree_map

from ..capture import Op, Program, Tensor, as_call, capture
from ..errors import InvalidError, NoSpaceError
from .devices import Device, Machine, Reach, reach_of, torch_device
from .graph import Graph, Plan, Problem, graph_of

__all__ = ["ModulePlan", "device_map", "plan_modules"]

Key = Union[int, str]
_STRATEGIES = "load_balance,heft,sequential,contiguous,portfolio,local_search:seed=1"
_HOST_BYTES_PER_S = 1.2e10
_DISK_BYTES_PER_S = 1.5e9
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}


def bytes_of(size: Union[int, str]) -> int:
    """A size as accelerate writes them.

    >>> bytes_of("1.5GiB"), bytes_of("200MB"), bytes_of(7)
    (1610612736, 200000000, 7)
    """
    if isinstance(size, int):
        return size
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?I?)B?\s*", size.upper())
    if not found:
        raise InvalidError(f"{size!r} is not a size; expected 10GiB, 200MB or a number of bytes", field="max_memory")
    return int(float(found[1]) * _UNITS[found[2]])


# ---- units: what may not be split ----

def _units(model: torch.nn.Module, whole: Sequence[str]) -> list[str]:
    """Paths of modules that stay whole, and of parameters that are held beside modules."""
    found: list[str] = []

    def visit(module: torch.nn.Module, path: str) -> None:
        children = list(module.named_children())
        held = any(True for _ in module.parameters()) or any(True for _ in module.buffers())
        if path and (not children or type(module).__name__ in whole):
            if held:
                found.append(path)
            return
        for name in (*module._parameters, *module._buffers):
            if (module._parameters.get(name) if name in module._parameters else module._buffers.get(name)) is not None:
                found.append(f"{path}.{name}" if path else name)
        for name, child in children:
            visit(child, f"{path}.{name}" if path else name)
    visit(model, "")
    return found


def _unit_of(path: str, units: Mapping[str, int]) -> Optional[int]:
    while path:
        if path in units:
            return units[path]
        path = path.rpartition(".")[0]
    return None


class _Together:
    """Union-find over small numbers."""

    def __init__(self, count: int) -> None:
        self._up = list(range(count))

    def find(self, one: int) -> int:
        while self._up[one] != one:
            self._up[one] = self._up[self._up[one]]
            one = self._up[one]
        return one

    def join(self, one: int, other: int) -> None:
        first, last = sorted((self.find(one), self.find(other)))
        self._up[last] = first


@dataclass
class _Layout:
    """A program by units."""
    program: Program
    units: list[str]
    unit: list[int]
    """Of each operator: the unit on whose device it runs."""
    bytes: list[int]
    """Of each unit, tied weights in the first that has them."""
    joined: list[int]
    """Of each unit: the first of those that must be on one device with it."""


def _layout(model: torch.nn.Module, program: Program, whole: Sequence[str]) -> _Layout:
    units = _units(model, whole)
    number = {path: index for index, path in enumerate(units)}
    unit, owner = _follow(program, number)
    together = _Together(len(units))
    _join_tied(model, number, together)
    for index, op in enumerate(program.ops):
        outside = _unit_of(op.layer, number) is None
        parts = {owner[one] for one in op.inputs if one in owner} if outside else set()
        for part in parts:  # what is computed between modules is computed where its tensors are: they must be in one place
            together.join(part, unit[index])
    groups: dict[int, int] = {}
    for index, op in enumerate(program.ops):
        if op.group:
            together.join(unit[index], unit[groups.setdefault(op.group, index)])
    return _Layout(program, units, unit, _bytes(model, number), [together.find(index) for index in range(len(units))])


def _follow(program: Program, number: Mapping[str, int]) -> tuple[list[int], dict[int, int]]:
    """The unit of each operator, and of each tensor that an operator of a unit, or what follows from it, has made: what is computed between
    modules follows its inputs; what has none of a module goes before the first."""
    owner: dict[int, int] = {}
    unit: list[int] = []
    for op in program.ops:
        own = _unit_of(op.layer, number)
        if own is None:
            weights = [_unit_of(program.tensors[one].name, number) for one in op.inputs if program.tensors[one].role == "weight"]
            known = [owner[one] for one in op.inputs if one in owner] + [one for one in weights if one is not None]
            own = known[0] if known else None
        unit.append(-1 if own is None else own)
        if own is not None:
            owner.update((tensor, own) for tensor in op.outputs)
    first = next((one for one in unit if one >= 0), 0)
    return [one if one >= 0 else first for one in unit], owner


def _join_tied(model: torch.nn.Module, number: Mapping[str, int], together: _Together) -> None:
    seen: dict[int, int] = {}
    for path, one in model.named_parameters(remove_duplicate=False):
        where = _unit_of(path, number)
        if where is not None:
            together.join(where, seen.setdefault(id(one), where))


def _bytes(model: torch.nn.Module, number: Mapping[str, int]) -> list[int]:
    sizes, seen = [0] * len(number), set()
    for held in (model.named_parameters(remove_duplicate=False), model.named_buffers(remove_duplicate=False)):
        for path, one in held:
            where = _unit_of(path, number)
            if where is not None and id(one) not in seen:
                seen.add(id(one))
                sizes[where] += one.numel() * one.element_size()
    return sizes


# ---- machines ----

def _limits(max_memory: Optional[Mapping[Key, Union[int, str]]]) -> dict[Key, int]:
    if max_memory is None:
        found: dict[Key, int] = {index: int(torch.cuda.mem_get_info(index)[0] * 0.9) for index in range(torch.cuda.device_count())}
        found["cpu"] = int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES") * 0.9)
        return found
    made = {key: bytes_of(size) for key, size in max_memory.items()}
    if not made:
        raise InvalidError("max_memory names no device; expected at least one", field="max_memory")
    return made


def _is_store(key: Key, keys: Sequence[Key]) -> bool:
    """Whether weights only lie there: disk, and the CPU beside GPUs."""
    return key == "disk" or (key == "cpu" and any(isinstance(one, int) for one in keys))


def _machine(limits: Mapping[Key, int], reach: Optional[Mapping[Key, Reach]]) -> Machine:
    """What computes, with links over the host between GPUs."""
    keys = [key for key in limits if not _is_store(key, list(limits))]
    devices, reaches = [], []
    for key in keys:
        place = torch.device("cuda", key) if isinstance(key, int) else torch.device("cpu") if key == "cpu" else torch_device(str(key))
        devices.append(Device(str(key), place, (), limits[key]))
        if reach is not None and key in reach:
            reaches.append(reach[key])
        elif place.type == "cuda" and not (torch.cuda.is_available() and key in range(torch.cuda.device_count())):
            reaches.append(Reach(1e13, 3e11, 6000.0, 4e13))  # none of this machine's
        else:
            reaches.append(reach_of(devices[-1]))
    count = len(devices)
    rates = tuple(tuple(0.0 if one == other else _HOST_BYTES_PER_S for other in range(count)) for one in range(count))
    waits = tuple(tuple(0.0 if one == other else 1e4 for other in range(count)) for one in range(count))
    return Machine(tuple(devices), tuple(reaches), rates, waits)


def _with_stores(machine: Machine, stores: Sequence[tuple[Key, int]], room: int) -> Machine:
    """The machine with places whose weights are brought to the first device when they are needed: as devices that are as fast as it
    and are linked as it is. `room` of the first device stays free for them."""
    first = machine.devices[0]
    kept = Device(first.name, first.torch_device, (), max(first.capacity_bytes - room, 1)) if first.capacity_bytes else first
    devices = (kept, *machine.devices[1:], *(Device(str(key), first.torch_device, (), size) for key, size in stores))
    index = [*range(len(machine.devices)), *(0 for _ in stores)]
    rates = tuple(tuple(machine.bytes_per_s[one][other] for other in index) for one in index)
    waits = tuple(tuple(machine.latency_ns[one][other] for other in index) for one in index)
    return Machine(devices, tuple(machine.reach[one] for one in index), rates, waits)


# ---- plans ----

@dataclass
class ModulePlan:
    """A device map, and what it comes to."""
    device_map: dict[str, Key]
    latency_ns: float
    """Predicted, of one call."""
    strategy: str
    keys: list[Key]
    """What the numbers of devices are called in maps."""
    device: tuple[int, ...]
    """Of each operator."""
    program: Program = field(repr=False)
    layout: _Layout = field(repr=False)
    machine: Machine = field(repr=False)

    def assign(self, other: Mapping[str, Key], keys: Optional[Sequence[Key]] = None) -> list[int]:
        """The device of each operator under another device map."""
        numbers = {key: index for index, key in enumerate(self.keys if keys is None else keys)}
        units = []
        for path in self.layout.units:
            key = self._key_of(path, other)
            if key not in numbers:
                raise InvalidError(f"the device map puts {path} on {key!r}; expected one of {list(numbers)}", field="device_map")
            units.append(numbers[key])
        return [units[one] for one in self.layout.unit]

    def simulate(self, other: Mapping[str, Key]) -> float:
        """ns that a call takes under any device map, this one or another, by the same prices. Limits are not looked at: whoever made the
        map has kept its own."""
        plain = [key for key in self.keys if not _is_store(key, self.keys)]
        free = self.machine.with_limits([0] * len(self.machine.devices))
        wide = _with_stores(free, [("cpu", 0), ("disk", 0)], 0)
        keys: list[Key] = [*plain, *(key for key in ("cpu", "disk") if key not in plain)]
        if "cpu" in plain:
            wide = _with_stores(free, [("disk", 0)], 0)
        loose = [op.group for op in self.program.ops]
        graph = _graph(self.layout, wide, len(keys) - len(plain), (), loose)
        return Problem(graph, wide, in_order=True, activations_apart=True).simulate(self.assign(other, keys)).latency_ns

    @staticmethod
    def _key_of(path: str, other: Mapping[str, Key]) -> Key:
        while path not in other and path:
            path = path.rpartition(".")[0]
        if path not in other:
            raise InvalidError(f"the device map has no device for {path or 'the model'!r}", field="device_map")
        key: Any = other[path]
        if isinstance(key, torch.device):
            return key.index if key.type == "cuda" else str(key)
        return key


def _capture(model: torch.nn.Module, inputs: Any) -> Program:
    """The model's operators; a chain of its modules where it cannot be captured."""
    if inputs is None:
        inputs = getattr(model, "dummy_inputs", None)
    if inputs is not None:
        args, kwargs = as_call(inputs, {})
        home = next(model.parameters(), torch.empty(0)).device
        moved = tree_map(lambda one: one.to(home) if isinstance(one, torch.Tensor) else one, (args, kwargs))
        with torch.no_grad():
            try:
                return capture(model, *moved).program
            except Exception:  # noqa: BLE001 - what export does not support: the chain below knows its weights
                if getattr(model, "dummy_inputs", None) is not inputs:
                    raise
    return _chain(model)


def _chain(model: torch.nn.Module) -> Program:
    """Modules with weights, one after the other in the order in which they are held, each as one operator that reads its weights."""
    tensors, ops = [Tensor("input", "input", torch.float32, (1,), 4)], []
    for path, module in model.named_modules():
        own = [*module._parameters.items(), *module._buffers.items()]
        read = []
        for name, one in own:
            if one is not None:
                read.append(len(tensors))
                tensors.append(Tensor(f"{path}.{name}" if path else name, "weight", one.dtype, tuple(one.shape), one.numel() * one.element_size()))
        if read:
            tensors.append(Tensor(f"{path}.out", "activation", torch.float32, (1,), 4))
            size = sum(tensors[one].bytes for one in read)
            last = ops[-1].outputs if ops else [0]
            ops.append(Op(path or "model", "Gemm", True, path, [*last, *read], [len(tensors) - 1], size / 2.0, -1.0))
    if not ops:
        raise InvalidError("the model has no weights: there is nothing to place")
    return Program(type(model).__name__, tensors, ops, {}, [], [], {}, [], True)


def _graph(layout: _Layout, machine: Machine, stores: int, extras: Sequence[int], groups: Sequence[int]) -> Graph:
    """The graph with prices for each device, the last `stores` of which are those that weights are brought from; units that no operator
    reads are operators without work."""
    program = layout.program
    count = len(machine.devices)
    prices = _prices(program, machine)
    for row, op in zip(prices, program.ops):
        brought = sum(program.tensors[one].bytes for one in op.inputs if program.tensors[one].role == "weight")
        for index in range(count - stores, count):
            speed = _DISK_BYTES_PER_S if machine.devices[index].name == "disk" else _HOST_BYTES_PER_S
            row[index] += brought * 1e9 / speed
    graph = Graph(program.name, count)
    for tensor in program.tensors:
        graph.add_tensor(tensor.name, dtype=tensor.dtype, shape=tensor.shape, size=tensor.bytes, role=tensor.role, tied=tensor.tied)
    for index, op in enumerate(program.ops):
        graph.add_op(op.name, op.kind, inputs=op.inputs, outputs=op.outputs, flops=op.flops, bytes=op.bytes, known=op.known,
                     group=groups[index], times_ns=prices[index])
    for one in extras:
        graph.add_op(layout.units[one], "Identity", group=layout.joined[one] + 1, weight_bytes=layout.bytes[one], bytes=0.0, times_ns=[0.0] * count)
    return graph.finish()


def _prices(program: Program, machine: Machine) -> list[list[float]]:
    """ns of each operator on each device, by the C level's cost model."""
    free = machine.with_limits([0] * len(machine.devices))
    return [list(row) for row in Problem(graph_of(program), free).simulate([0] * len(program.ops)).prices]


def plan_modules(model: torch.nn.Module, max_memory: Optional[Mapping[Key, Union[int, str]]] = None, *, inputs: Any = None,
                 no_split_module_classes: Optional[Sequence[str]] = None, reach: Optional[Mapping[Key, Reach]] = None,
                 machine: Optional[Machine] = None, objective: str = "latency") -> ModulePlan:
    """Like device_map(), with what the map comes to and ways to compare others with it. machine: what the keys of max_memory that compute
    stand for, in their order, with links of its own."""
    limits = _limits(max_memory)
    whole = no_split_module_classes if no_split_module_classes is not None else getattr(model, "_no_split_modules", None) or ()
    layout = _layout(model, _capture(model, inputs), list(whole))
    keys: list[Key] = [key for key in limits if not _is_store(key, list(limits))]
    if not keys:
        raise InvalidError("max_memory names no device that computes; expected a GPU or cpu", field="max_memory")
    machine = _machine(limits, reach) if machine is None else machine.with_limits([limits[key] for key in keys])
    stores = [(key, limits[key]) for key in limits if _is_store(key, list(limits))]
    used = set(layout.unit)
    extras = [one for one in range(len(layout.units)) if one not in used and layout.bytes[one]]
    try:
        return _plan(layout, machine, 0, keys, extras, objective)
    except NoSpaceError:
        if not stores:
            raise
    largest = max(layout.bytes, default=0)
    return _plan(layout, _with_stores(machine, stores, largest), len(stores), keys + [key for key, _ in stores], extras, objective)


def _plan(layout: _Layout, machine: Machine, stores: int, keys: list[Key], extras: list[int], objective: str) -> ModulePlan:
    groups = [layout.joined[one] + 1 for one in layout.unit]
    problem = Problem(_graph(layout, machine, stores, extras, groups), machine, objective=objective, activations_apart=True, in_order=True)
    plan: Plan = problem.plan(_STRATEGIES)
    count = len(layout.program.ops)
    by_unit: dict[int, int] = {layout.joined[one]: number for one, number in zip(layout.unit, plan.device[:count])}
    by_unit.update((layout.joined[one], number) for one, number in zip(extras, plan.device[count:]))
    chosen = {path: keys[by_unit.get(layout.joined[index], 0)] for index, path in enumerate(layout.units)}
    computing = len(machine.devices) - stores
    plain = Machine(machine.devices[:computing], machine.reach[:computing], tuple(row[:computing] for row in machine.bytes_per_s[:computing]),
                    tuple(row[:computing] for row in machine.latency_ns[:computing]))
    return ModulePlan(_short(chosen), plan.latency_ns, plan.strategy, keys, plan.device[:count], layout.program, layout, plain)


def _short(chosen: Mapping[str, Key]) -> dict[str, Key]:
    """A module in place of its parts where all are on one device."""
    if len(set(chosen.values())) == 1:
        return {"": next(iter(chosen.values()))}
    found: dict[str, Key] = {}
    heads: dict[str, dict[str, Key]] = {}
    for path, key in chosen.items():
        heads.setdefault(path.partition(".")[0], {})[path.partition(".")[2]] = key
    for head, parts in heads.items():
        if "" in parts:
            found[head] = parts[""]
            continue
        for path, key in _short(parts).items():
            found[f"{head}.{path}" if path else head] = key
    return found


def device_map(model: torch.nn.Module, max_memory: Optional[Mapping[Key, Union[int, str]]] = None, *, inputs: Any = None,
               no_split_module_classes: Optional[Sequence[str]] = None, reach: Optional[Mapping[Key, Reach]] = None,
               objective: str = "latency") -> dict[str, Key]:
    """A device for each module: what accelerate's dispatch_model and transformers' device_map= take.

    max_memory: as accelerate has it, {0: "10GiB", 1: "10GiB", "cpu": "30GiB", "disk": …}; None: what is free. inputs: of a call that the map is
    to be good for; of transformers' models their dummy_inputs when left out. no_split_module_classes: classes that stay
    whole; of transformers' models those they name. reach: what devices do in a second, in place of what is measured. NoSpaceError when
    the model does not fit.
    """
    return plan_modules(model, max_memory, inputs=inputs, no_split_module_classes=no_split_module_classes, reach=reach,
                        objective=objective).device_map
