"""Asking the C place level: a program and a machine become its structs, its plan becomes Python's.

What decides is libstrata (<strata/place.h>, <strata/adaptive.h>, <strata/detector.h>); nothing here chooses.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

import torch

from .._call import Arena, call, ffi, lib, memory, text
from ..capture import Op, Program
from ..errors import InvalidError
from .devices import Device, Machine

__all__ = ["Corrections", "Findings", "Graph", "Plan", "Problem"]

NONE = 2**32 - 1

_DTYPES = {torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.int64: "I64", torch.int32: "I32",
           torch.int16: "I16", torch.int8: "I8", torch.uint8: "U8", torch.bool: "BOOL", torch.complex64: "C64", torch.complex128: "C128"}
_DTYPES.update({dtype: "F8" for name in ("float8_e4m3fn", "float8_e5m2") if (dtype := getattr(torch, name, None)) is not None})
_DTYPES.update({dtype: name for word, name in (("uint16", "U16"), ("uint32", "U32"), ("uint64", "U64"))
                if (dtype := getattr(torch, word, None)) is not None})


@dataclass(frozen=True)
class Findings:
    """What a model is, as the detectors of the place level see it."""
    workload: str
    """"llm", "cnn", "diffusion", "multimodal", "recurrent", "other"."""
    why: str
    phase: str
    """That most FLOPs are in: "prefill", "decode", "encode", "denoise", "decode_image", "forward", "backward"."""
    attentions: int
    kv_in: int
    kv_out: int
    tied_bytes: int


@dataclass(frozen=True)
class Plan:
    """Which operator runs on which device, and why."""
    strategy: str
    device: tuple[int, ...]
    """Of each operator."""
    order: tuple[int, ...]
    start_ns: tuple[float, ...] = field(repr=False)
    finish_ns: tuple[float, ...] = field(repr=False)
    latency_ns: float
    load_ns: float
    value: float
    """By the objective that was asked for."""
    results: tuple[tuple[str, float], ...]
    """Every strategy and what it came to; infinite where it did not fit."""
    reasons: tuple[str, ...]
    weight_bytes: tuple[int, ...]
    """On each device."""
    prices: tuple[tuple[float, ...], ...] = field(repr=False, default=())
    """ns of each operator on each device before corrections."""


class Graph:
    """A graph of the C level. Built once for a program; prices of a cost model of one's own are part of it."""

    def __init__(self, name: str, device_count: int = 0) -> None:
        self._memory, out = memory(), ffi.new("struct strata_graph **")
        call(lib.strata_graph_new, name.encode(), self._memory, out)
        self.raw = ffi.gc(out[0], lambda graph, _kept=self._memory: lib.strata_graph_free(graph))
        self.raw.device_count = device_count
        self._names: set[str] = set()
        self.op_count = 0

    def add_tensor(self, name: str = "", *, dtype: Optional[torch.dtype] = None, shape: Optional[Sequence[int]] = None, size: int = 0,
                   role: str = "activation", tied: int = 0, device: int = NONE) -> int:
        """Adds a tensor; its number."""
        raw, kept = ffi.new("struct strata_tensor *"), ffi.new("char[]", name.encode() if name not in self._names else b"")
        self._names.add(name)
        raw.name = kept
        raw.dtype = getattr(lib, "STRATA_DTYPE_" + _DTYPES.get(dtype, "NONE")) if dtype is not None else lib.STRATA_DTYPE_NONE
        raw.role = getattr(lib, "STRATA_ROLE_" + role.upper())
        if shape is not None and len(shape) <= lib.STRATA_TENSOR_RANK_MAX:
            raw.shaped, raw.rank = True, len(shape)
            for index, extent in enumerate(shape):
                raw.shape[index] = extent
        raw.bytes, raw.sized, raw.file, raw.tied, raw.device, raw.producer = size, True, NONE, tied, device, NONE
        number = ffi.new("uint32_t *")
        call(lib.strata_graph_add_tensor, self.raw, raw, number)
        return number[0]

    def add_op(self, name: str = "", kind: str = "", *, inputs: Sequence[int] = (), outputs: Sequence[int] = (), flops: float = 0.0,
               bytes: float = -1.0, weight_bytes: int = 0, kv_bytes: int = 0, kv_device: int = NONE, group: int = 0, known: bool = True,
               times_ns: Optional[Sequence[float]] = None) -> int:
        """Adds an operator on tensors that are there; its number."""
        raw = ffi.new("struct strata_op *")
        kept = [ffi.new("char[]", name.encode()), ffi.new("char[]", kind.encode()), ffi.new("uint32_t[]", list(inputs)),
                ffi.new("uint32_t[]", list(outputs)), ffi.NULL if times_ns is None else ffi.new("double[]", list(times_ns))]
        raw.name, raw.kind, raw.inputs, raw.outputs, raw.times_ns = kept
        raw.input_count, raw.output_count = len(inputs), len(outputs)
        raw.flops, raw.bytes, raw.weight_bytes, raw.kv_bytes, raw.kv_device = flops, bytes, weight_bytes, kv_bytes, kv_device
        raw.group, raw.unknown = group, not known
        number = ffi.new("uint32_t *")
        call(lib.strata_graph_add_op, self.raw, raw, number)
        self.op_count += 1
        return number[0]

    def add_edge(self, source: int, target: int, size: int) -> None:
        """Data that goes from operator to operator without a tensor of its own."""
        call(lib.strata_graph_add_edge, self.raw, source, target, size, -1.0)

    def finish(self) -> "Graph":
        """Checks it; from now on it can be asked about."""
        call(lib.strata_graph_finish, self.raw)
        return self

    def detect(self) -> Findings:
        """What the model is for. Roles and phases of the graph are set by it."""
        with Arena() as arena:
            raw = ffi.new("struct strata_findings *")
            call(lib.strata_graph_detect, self.raw, ffi.NULL, arena, raw)
            return Findings(text(lib.strata_workload_name(raw.workload)), text(raw.why), text(lib.strata_phase_name(raw.phase)),
                            raw.attention_count, raw.kv_in_count, raw.kv_out_count, raw.tied_bytes)

    def phases(self) -> tuple[str, ...]:
        """Of each operator."""
        return tuple(text(lib.strata_phase_name(self.raw.ops[index].phase)) for index in range(self.op_count))


Cost = Callable[[Op, Device], float]


def graph_of(program: Program, machine: Optional[Machine] = None, cost: Optional[Cost] = None,
             groups: Optional[Sequence[int]] = None, times_ns: Optional[Sequence[Sequence[float]]] = None) -> Graph:
    """The C level's graph of a program. cost prices each operator on each device, in seconds; times_ns is a table of the same. groups: in
    place of the program's own, which must be within them."""
    devices = machine.devices if machine is not None else ()
    priced = cost is not None or times_ns is not None
    graph = Graph(program.name, len(devices) if priced else 0)
    for tensor in program.tensors:
        graph.add_tensor(tensor.name, dtype=tensor.dtype, shape=tensor.shape, size=tensor.bytes, role=tensor.role, tied=tensor.tied)
    for index, op in enumerate(program.ops):
        times = None if not priced else times_ns[index] if times_ns is not None else [_price(cost, op, device) for device in devices]
        graph.add_op(op.name, op.kind, inputs=op.inputs, outputs=op.outputs, flops=op.flops, bytes=op.bytes, known=op.known,
                     group=op.group if groups is None else groups[index], times_ns=times)
    return graph.finish()


def _price(cost: Optional[Cost], op: Op, device: Device) -> float:
    assert cost is not None
    seconds = cost(op, device)
    if not isinstance(seconds, (int, float)) or not seconds >= 0:
        raise InvalidError(f"the cost model gives {op.name} on {device.name} the time {seconds!r}; expected seconds of 0 or more", field="cost_model")
    return seconds * 1e9


class Corrections:
    """What was observed: how far prices are off, by kind of operator and device."""

    def __init__(self, device_count: int) -> None:
        self._memory, out = memory(), ffi.new("struct strata_corrections **")
        self.device_count = device_count
        call(lib.strata_corrections_new, device_count, self._memory, out)
        self.raw = ffi.gc(out[0], lambda one, _kept=self._memory: lib.strata_corrections_free(one))

    def observe(self, graph: Graph, op: int, device: int, predicted_ns: float, observed_ns: float) -> None:
        """An operator took observed_ns where predicted_ns was its price."""
        if predicted_ns > 0 and observed_ns > 0:
            call(lib.strata_corrections_observe_op, self.raw, ffi.addressof(graph.raw.ops[op]), device, predicted_ns, observed_ns)

    def factor(self, kind: str, device: int) -> float:
        """What prices of a kind are multiplied with there; 1 when nothing was seen."""
        return lib.strata_corrections_factor(self.raw, kind.encode(), device)

    def rows(self) -> list[tuple[str, int, float, float, int]]:
        """(kind, device, slow, fast, count) of all pairs that were seen."""
        found, one, index = [], ffi.new("struct strata_correction *"), 0
        while lib.strata_corrections_at(self.raw, index, one):
            if one.count:
                found.append((text(one.kind), one.device, one.slow, one.fast, one.count))
            index += 1
        return found

    def restore(self, kind: str, device: int, slow: float, fast: float, count: int) -> None:
        """Puts back a row."""
        kept = ffi.new("char[]", kind.encode())
        call(lib.strata_corrections_restore, self.raw, ffi.new("struct strata_correction *", {
            "kind": kept, "device": device, "slow": slow, "fast": fast, "count": count}))


class Problem:
    """A graph on a machine: plans for it, and what choices of others come to."""

    def __init__(self, graph: Graph, machine: Machine, *, objective: str = "latency", corrections: Optional[Corrections] = None,
                 in_order: bool = False, rules: Sequence[tuple[str, int, bool]] = (), activations_apart: bool = False,
                 visits: int = 0, seed: int = 0) -> None:
        """rules: (operators as "name" or "beginning*", device, forbid)."""
        count = len(machine.devices)
        self.graph, self.machine = graph, machine
        self._kept: list[Any] = [corrections]
        devices = self._array("struct strata_device[]", count)
        for raw, device, reach in zip(devices, machine.devices, machine.reach):
            raw.name, raw.kind = self._text(device.name), self._text(device.kind)
            raw.flops_per_s, raw.half_flops_per_s, raw.bytes_per_s = reach.flops_per_s, reach.half_flops_per_s, reach.bytes_per_s
            raw.overhead_ns, raw.capacity_bytes = reach.overhead_ns, device.capacity_bytes
        rates = self._array("double[]", [rate for row in machine.bytes_per_s for rate in row])
        latencies = self._array("double[]", [latency for row in machine.latency_ns for latency in row])
        raw_machine = self._array("struct strata_machine *", {"devices": devices, "device_count": count, "bytes_per_s": rates,
                                                              "latency_ns": latencies, "activations_apart": activations_apart})
        raw_rules = self._array("struct strata_place_rule[]", [{"ops": self._text(name), "device": device, "forbid": forbid}
                                                               for name, device, forbid in rules])
        names = [text(lib.strata_objective_name(index)) for index in range(lib.STRATA_OBJECTIVE_COUNT)]
        if objective not in names:
            raise InvalidError(f"objective is {objective!r}; expected {', '.join(names)}", field="objective")
        self._ask = self._array("struct strata_place_request *", {
            "graph": graph.raw, "machine": raw_machine, "objective": names.index(objective), "rules": raw_rules, "rule_count": len(rules),
            "fixed_order": in_order, "corrections": corrections.raw if corrections is not None else ffi.NULL, "seed": seed,
            "budget": {"visits": visits}})

    def _array(self, kind: str, init: Any) -> Any:
        made = ffi.new(kind, init)
        self._kept.append(made)
        return made

    def _text(self, words: str) -> Any:
        return self._array("char[]", words.encode())

    def pressure(self) -> float:
        """Bytes that must be kept, of those that the devices have."""
        return lib.strata_place_pressure(self.graph.raw, self._ask.machine)

    def plan(self, strategies: str) -> Plan:
        """The best plan of these strategies; NoSpaceError with what is missing when nothing fits."""
        with Arena() as arena:
            raw = ffi.new("struct strata_place_plan *")
            call(lib.strata_place_build, strategies.encode(), self._ask, arena, raw)
            return self._plan_of(raw)

    def simulate(self, device: Sequence[int], order: Optional[Sequence[int]] = None) -> Plan:
        """What a choice of one's own comes to by the same rules."""
        with Arena() as arena:
            raw = ffi.new("struct strata_place_plan *")
            chosen = ffi.new("uint32_t[]", list(device))
            ordered = ffi.new("uint32_t[]", list(order)) if order is not None else ffi.NULL
            call(lib.strata_place_simulate, self._ask, chosen, ordered, arena, raw)
            return self._plan_of(raw)

    def _plan_of(self, raw: Any) -> Plan:
        count = self.graph.op_count
        return Plan(text(raw.strategy), tuple(ffi.unpack(raw.device, count)), tuple(ffi.unpack(raw.order, count)),
                    tuple(ffi.unpack(raw.start_ns, count)), tuple(ffi.unpack(raw.finish_ns, count)), raw.latency_ns, raw.load_ns, raw.value,
                    tuple((text(raw.results[index].strategy), raw.results[index].value) for index in range(raw.result_count)),
                    tuple(text(raw.reasons[index]) for index in range(raw.reason_count)),
                    tuple(raw.devices[index].weight_bytes for index in range(len(self.machine.devices))), self._prices())

    def _prices(self) -> tuple[tuple[float, ...], ...]:
        """Before corrections, by the cost model that the plan was made with: the graph's own times, else roofline."""
        rows = []
        for index in range(self.graph.op_count):
            times = self.graph.raw.ops[index].times_ns
            rows.append(tuple(times[0:len(self.machine.devices)]) if times != ffi.NULL else None)
        if any(row is None for row in rows):
            rows = _roofline(self.graph, self._ask.machine, rows)
        return tuple(row for row in rows if row is not None)


def _roofline(graph: Graph, machine: Any, rows: list[Any]) -> list[Any]:
    """The prices of the cost model of the C level."""
    count = machine.device_count
    with Arena() as arena:
        spec, times = ffi.new("struct strata_spec *"), ffi.new("double[]", graph.op_count * count)
        call(lib.strata_spec_build, lib.strata_kind_find(b"cost"), b"roofline", arena, spec)
        model = ffi.cast("struct strata_cost_class *", spec.cls)
        call(model.price, spec.conf, graph.raw, machine, arena, times)
        return [tuple(times[index * count:(index + 1) * count]) for index in range(graph.op_count)]
