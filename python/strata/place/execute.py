"""Running a program as a plan says: each device's operators in its thread, in the plan's order.

A device's operators are cut into segments, where it has to wait for another device or another waits for it. A segment is a function of
torch.fx; its tensors stay on its device. Sets of cores share memory, so nothing is copied between them. The kernels are those that the
model itself would call, on the same weights: what they compute is the same.
"""
from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

import torch
from torch import fx
from torch.fx.immutable_collections import immutable_list

from ..capture import Op, Program
from .devices import Device, worker_of

__all__ = ["Executable"]


@dataclass
class _Segment:
    device: int
    ops: list[int]
    context: Optional[Callable[[], Any]]
    inputs: list[int] = field(default_factory=list)
    """Slots."""
    outputs: list[int] = field(default_factory=list)
    waits: list[int] = field(default_factory=list)
    """Segments of other devices."""
    function: Callable[..., Any] = lambda: ()


_entering = threading.Lock()  # runs are put to all of their devices at once: on two devices in unlike orders they would wait for each other


class _Run:
    """One execution: values by slot, and who is done."""

    def __init__(self, slots: int, segments: int) -> None:
        self.values: list[Any] = [None] * slots
        self.left: list[int] = []
        self.done = [threading.Event() for _ in range(segments)]
        self.moved: dict[tuple[int, torch.device], Any] = {}
        self.lock = threading.Lock()
        self.trouble: Optional[BaseException] = None
        self.times_ns: Optional[list[int]] = None


def _modes() -> Callable[[], Any]:
    """What makes another thread compute as this one would: gradients, inference mode, autocast."""
    grad, inference = torch.is_grad_enabled(), torch.is_inference_mode_enabled()
    casts = [(kind, torch.get_autocast_dtype(kind)) for kind in ("cpu", "cuda") if torch.is_autocast_enabled(kind)]

    def enter() -> Any:
        stack = contextlib.ExitStack()
        stack.enter_context(torch.inference_mode(inference))
        stack.enter_context(torch.set_grad_enabled(grad))
        for kind, dtype in casts:
            stack.enter_context(torch.autocast(kind, dtype=dtype))
        return stack
    return enter


class Executable:
    """A program on devices, ready to run."""

    def __init__(self, program: Program, devices: Sequence[Device], device: Sequence[int], order: Optional[Sequence[int]] = None) -> None:
        """device: of each operator; order: in which a device's operators run (the program's own when it must be kept)."""
        self.program, self.devices = program, tuple(devices)
        self._device = list(device)
        self._order = list(range(len(program.ops))) if order is None or program.in_order else list(order)
        self._slots: dict[fx.Node, int] = {}
        self._homes: dict[int, torch.device] = {}
        for node in program.sources:
            self._slot(node)
        self._segments = self._cut()
        self._by_device = [[index for index, one in enumerate(self._segments) if one.device == number] for number in range(len(self.devices))]
        self._connect()
        self._copies: dict[tuple[int, torch.device], tuple[Any, int, Any]] = {}
        used = {one.device for one in self._segments}
        self._inline = len(used) == 1 and not self.devices[next(iter(used))].cores

    def _slot(self, node: fx.Node) -> int:
        return self._slots.setdefault(node, len(self._slots))

    # ---- segments ----

    def _cut(self) -> list[_Segment]:
        ops, device = self.program.ops, self._device
        owner = {node: index for index, op in enumerate(ops) for node in op.nodes}
        from_other = [any(one in owner and device[owner[one]] != device[index] for one in op.nodes[0].all_input_nodes) for index, op in enumerate(ops)]
        for_other = [any(user in owner and device[owner[user]] != device[index] for node in op.nodes for user in node.users)
                     for index, op in enumerate(ops)]
        segments: list[_Segment] = []
        open_one: dict[int, Optional[_Segment]] = {}
        for index in self._order:
            now = open_one.get(device[index])
            if now is None or from_other[index] or now.context is not ops[index].context:
                now = _Segment(device[index], [], ops[index].context)
                segments.append(now)
            now.ops.append(index)
            open_one[device[index]] = None if for_other[index] else now
        return segments

    def _connect(self) -> None:
        """Inputs, outputs, functions; who waits for whom; how many read each value."""
        ops = self.program.ops
        place = {node: number for number, one in enumerate(self._segments) for index in one.ops for node in ops[index].nodes}
        wanted = {node for node in self.program.results if isinstance(node, fx.Node)} | {node for pair in self.program.copies for node in pair}
        reads: dict[fx.Node, int] = {}
        for number, one in enumerate(self._segments):
            inside = {node for index in one.ops for node in ops[index].nodes}
            needed = dict.fromkeys(word for index in one.ops for node in ops[index].nodes for word in node.all_input_nodes
                                   if word not in inside and (word in place or word in self.program.sources))
            made = [node for node in inside_in_order(ops, one) if node in wanted or any(place.get(user, number) != number for user in node.users)]
            one.inputs, one.outputs = [self._slot(node) for node in needed], [self._slot(node) for node in made]
            one.waits = sorted({place[node] for node in needed if node in place and self._segments[place[node]].device != one.device})
            one.function = _function(ops, one, list(needed), made, self.devices[one.device].torch_device)
            for node in needed:
                reads[node] = reads.get(node, 0) + 1
        keep = wanted | set(self.program.written)
        self._reads = [0] * len(self._slots)
        for node, slot in self._slots.items():
            self._reads[slot] = reads.get(node, 0) if node not in keep else -1

    # ---- running ----

    def run(self, leaves: Sequence[Any], times_ns: Optional[list[int]] = None) -> list[Any]:
        """The results for these arguments. times_ns becomes the time of each operator: they run one by one then, each waited for."""
        run = _Run(len(self._slots), len(self._segments))
        run.left, run.times_ns = list(self._reads), times_ns
        for node, source in self.program.sources.items():
            run.values[self._slots[node]] = leaves[source.number] if source.kind == "input" else source.fetch()  # type: ignore[misc]
        if self._inline:
            self._walk(run, self._segments[0].device, contextlib.nullcontext)
        else:
            self._spread(run)
        if run.trouble is not None:
            raise run.trouble
        return self._results(run)

    def _spread(self, run: _Run) -> None:
        modes = _modes()
        work = [(worker_of(self.devices[number]), number, threading.Event()) for number, mine in enumerate(self._by_device) if mine]
        with _entering:
            for worker, number, end in work:
                worker.put(functools.partial(self._part, run, number, modes, end))
        for _, _, end in work:
            end.wait()

    def _part(self, run: _Run, device: int, modes: Callable[[], Any], end: threading.Event) -> None:
        try:
            self._walk(run, device, modes)
        finally:
            end.set()

    def _walk(self, run: _Run, device: int, modes: Callable[[], Any]) -> None:
        """All segments of a device. What goes wrong ends the run on all devices."""
        try:
            with modes():
                for number in self._by_device[device]:
                    segment = self._segments[number]
                    for other in segment.waits:
                        run.done[other].wait()
                    if run.trouble is not None:
                        break
                    self._compute(run, segment)
                    run.done[number].set()
        except BaseException as trouble:  # noqa: BLE001 - it is raised again by run()
            run.trouble = run.trouble or trouble
        finally:
            if run.trouble is not None:
                for one in run.done:
                    one.set()

    def _compute(self, run: _Run, segment: _Segment) -> None:
        where = self.devices[segment.device].torch_device
        words = [self._there(run, slot, where) for slot in segment.inputs]
        with segment.context() if segment.context is not None else contextlib.nullcontext():
            made = segment.function(*words) if run.times_ns is None else self._one_by_one(run, segment, words)
        del words
        for slot, value in zip(segment.outputs, made):
            run.values[slot] = value
        with run.lock:
            for slot in segment.inputs:
                run.left[slot] -= 1
                if run.left[slot] == 0:
                    run.values[slot] = None
                    run.moved.pop((slot, where), None)

    def _one_by_one(self, run: _Run, segment: _Segment, words: Sequence[Any]) -> list[Any]:
        assert run.times_ns is not None
        where, ops = self.devices[segment.device].torch_device, self.program.ops
        held: dict[Any, Any] = {}
        for node, slot in self._slots.items():
            if slot in segment.inputs:
                held[node] = words[segment.inputs.index(slot)]
        for index in segment.ops:
            for part, node in enumerate(ops[index].nodes):
                args, named = _arguments(node, held, where)
                if part == 0 and where.type == "cuda":
                    torch.cuda.synchronize(where)
                start = time.perf_counter_ns()
                held[node] = node.target(*args, **named)  # type: ignore[operator]
                if part == 0:
                    if where.type == "cuda":
                        torch.cuda.synchronize(where)
                    run.times_ns[index] = time.perf_counter_ns() - start
        nodes = {slot: node for node, slot in self._slots.items()}
        return [held[nodes[slot]] for slot in segment.outputs]

    def _there(self, run: _Run, slot: int, where: torch.device) -> Any:
        """A value on a device; moved once."""
        value = run.values[slot]
        if not isinstance(value, torch.Tensor) or value.device == where or value.device.type == where.type == "cpu":
            return value
        with run.lock:
            moved = run.moved.get((slot, where))
        if moved is None:
            moved = self._moved(slot, value, where)
            with run.lock:
                run.moved[slot, where] = moved
        return moved

    def _moved(self, slot: int, value: torch.Tensor, where: torch.device) -> torch.Tensor:
        """Weights that gradients need nothing of stay there from call to call, until they change."""
        lasting = slot < len(self.program.sources) and not (torch.is_grad_enabled() and value.requires_grad) and isinstance(value, torch.nn.Parameter)
        if not lasting:
            return value.to(where, non_blocking=True)
        known = self._copies.get((slot, where))
        if known is None or known[0] is not value or known[1] != value._version:
            known = self._copies[slot, where] = (value, value._version, value.to(where, non_blocking=True))
        return known[2]

    def _results(self, run: _Run) -> list[Any]:
        for node in self.program.written:
            slot = self._slots[node]
            for (moved, _), value in list(run.moved.items()):
                if moved == slot:
                    with torch.no_grad():
                        run.values[slot].copy_(value)
        for source, target in self.program.copies:
            with torch.no_grad():
                run.values[self._slots[target]].copy_(run.values[self._slots[source]])
        found = []
        for one in self.program.results:
            value = run.values[self._slots[one]] if isinstance(one, fx.Node) else one
            example = one.meta.get("val") if isinstance(one, fx.Node) else None
            if isinstance(value, torch.Tensor) and isinstance(example, torch.Tensor) and value.device != example.device:
                value = value.to(example.device)
            found.append(value)
        return found


def inside_in_order(ops: Sequence[Op], segment: _Segment) -> list[fx.Node]:
    """The nodes of a segment."""
    return [node for index in segment.ops for node in ops[index].nodes]


def _arguments(node: fx.Node, held: dict[Any, Any], where: torch.device) -> tuple[Any, Any]:
    def found(one: fx.Node) -> Any:
        return held[one] if one in held else _attribute(one)
    args, named = fx.map_arg((node.args, node.kwargs), found)
    return _elsewhere(args, where), _elsewhere(named, where)


def _attribute(node: fx.Node) -> Any:
    """A graph that an operator has as an argument."""
    held: Any = node.graph.owning_module
    for part in str(node.target).split("."):
        held = getattr(held, part)
    return held


def _elsewhere(words: Any, where: torch.device) -> Any:
    """Devices among arguments become the one that the operator runs on."""
    if isinstance(words, torch.device):
        return where if words.type != where.type or (where.type != "cpu" and words != where) else words
    if isinstance(words, (list, tuple)) and type(words) in (list, tuple, immutable_list):
        return type(words)(_elsewhere(word, where) for word in words)
    if isinstance(words, dict):
        return {name: _elsewhere(word, where) for name, word in words.items()}
    return words


def _function(ops: Sequence[Op], segment: _Segment, inputs: Sequence[fx.Node], outputs: Sequence[fx.Node], where: torch.device) -> Callable[..., Any]:
    """A segment as a function of its inputs."""
    graph, moved, attributes = fx.Graph(), {}, {}
    for node in inputs:
        moved[node] = graph.placeholder(node.name)
    for node in inside_in_order(ops, segment):
        for word in node.all_input_nodes:
            if word not in moved and word.op == "get_attr":
                name = str(word.target).replace(".", "_")
                attributes[name] = _attribute(word)
                moved[word] = graph.get_attr(name)
        made = graph.node_copy(node, moved.__getitem__)
        made.args, made.kwargs = _elsewhere(made.args, where), _elsewhere(dict(made.kwargs), where)
        moved[node] = made
    graph.output(tuple(moved[node] for node in outputs))
    return fx.GraphModule(attributes, graph).forward
