"""From a module and example inputs to a program, by torch.export.

The module is called through a wrapper whose arguments and results are plain tensors; how they are nested is kept beside the program
(values.py). So anything that a model takes and returns works, KV caches that it changes included. Dimensions that differed between two calls vary in
the program from then on.
"""
from __future__ import annotations

import contextlib
import io
import logging
import math
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

import torch
from torch import fx

from . import values
from .program import Program, Source, number_of, program_of

__all__ = ["Capture", "call_key", "capture"]


@dataclass
class Capture:
    """A program, what it was captured for, and how to call it."""
    program: Program
    structure: values.Structure
    result: values.Structure
    states: list[tuple[tuple[str, ...], tuple[values.Structure, ...]]]
    """What a call leaves in the objects that it was given."""
    sizes: list[Optional[tuple[Any, ...]]]
    """Of each argument: its dimensions, as numbers or as symbols that vary."""
    ranges: dict[Any, Any]
    modules: list[torch.nn.Module]
    training: bytes
    guards: list[Any] = field(default_factory=list, repr=False)
    """What else export took for granted of dimensions that vary, as Python expressions."""

    def accepts(self, leaves: Sequence[Any]) -> bool:
        """Whether the program is right for tensors of these shapes, and the model is in the state it was captured in."""
        if bytes(module.training for module in self.modules) != self.training:
            return False
        bound: dict[Any, int] = {}
        later = []
        for leaf, sizes in zip(leaves, self.sizes):
            actual = tuple(leaf.shape) if isinstance(leaf, torch.Tensor) else None
            if sizes is None or actual is None:
                continue
            if len(sizes) != len(actual):
                return False
            for size, want in zip(actual, sizes):
                if isinstance(want, int):
                    if size != want:
                        return False
                elif want.is_Symbol:
                    if bound.setdefault(want, size) != size:
                        return False
                else:
                    later.append((want, size))
        for symbol, size in bound.items():
            known = self.ranges.get(symbol)
            if known is not None and not known.lower <= size <= known.upper:
                return False
        return all(want.xreplace(bound) == size for want, size in later) and (not bound or self._keeps(leaves))

    def _keeps(self, leaves: Sequence[Any]) -> bool:
        try:
            return all(eval(guard, {"torch": torch, "math": math, "L": {"leaves": leaves}}) for guard in self.guards)
        except Exception:  # noqa: BLE001 - a guard of another form: it is not known to hold
            return False

    def finish(self, results: Sequence[Any], objects: Sequence[Any]) -> Any:
        """The model's own result from the program's, with the objects of the call brought up to date."""
        known = values.restore(objects, self.states, results)
        return values.rebuild(self.result, results, known)


def call_key(structure: values.Structure, leaves: Sequence[Any]) -> Any:
    """What calls must have in common to share a program, shapes apart."""
    return (values.key_of(structure), tuple((leaf.dtype, leaf.device, leaf.dim()) if isinstance(leaf, torch.Tensor) else type(leaf) for leaf in leaves),
            torch.is_grad_enabled(), torch.is_autocast_enabled("cpu"), torch.is_autocast_enabled("cuda"))


class _Flat(torch.nn.Module):
    """A module over plain tensors. What it returns besides is told to a function."""

    def __init__(self, model: torch.nn.Module, structure: values.Structure, told: Callable[[Any, Any], None], method: Callable[..., Any]) -> None:
        super().__init__()
        self.model = model
        self._structure, self._told, self._method = structure, told, method

    def forward(self, *leaves: Any) -> tuple[Any, ...]:
        objects: list[Any] = []
        words, named = values.rebuild(self._structure, leaves, objects)
        result = self._method(*words, **named)
        flat = values.Flattener(objects)
        structure = flat.add(result)
        self._told(structure, [flat.attributes(one) for one in objects])
        return tuple(flat.leaves)


class _OfOthers(io.TextIOBase):
    """What threads other than this one write."""

    def __init__(self, stream: Any) -> None:
        self._stream, self._own = stream, threading.get_ident()

    def write(self, text: str) -> int:
        return len(text) if threading.get_ident() == self._own else self._stream.write(text)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """What export says of models that it cannot take is the caller's to tell: the exception has it all."""
    loggers = [logging.getLogger(name) for name in list(logging.root.manager.loggerDict) if name.partition(".")[0] == "torch"]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stderr(_OfOthers(sys.stderr)):
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, before):
            logger.setLevel(level)


def _dynamic_shapes(leaves: Sequence[Any], varying: Sequence[frozenset[int]]) -> Any:
    auto = torch.export.Dim.AUTO
    return (tuple({index: auto for index in places} if places else None for places in varying),) if any(varying) else None


def _fetcher(model: torch.nn.Module, path: str) -> Callable[[], torch.Tensor]:
    """Reads a parameter or buffer where it is now, so that a program sees what is trained or loaded."""
    where, _, name = path.rpartition(".")
    owner = model.get_submodule(where)
    held = owner._parameters if name in owner._parameters else owner._buffers if name in owner._buffers else owner.__dict__
    return lambda: held[name]  # type: ignore[return-value]


def capture(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], *, varying: Optional[Sequence[frozenset[int]]] = None,
            method: Optional[Callable[..., Any]] = None) -> Capture:
    """Captures a call of a model. varying: of each tensor, dimensions that may differ from call to call. Raises what torch.export raises."""
    flat = values.Flattener()
    structure = ("tuple", (flat.add(args), flat.add(kwargs)))
    leaves = flat.leaves
    told: list[Any] = []
    wrapper = _Flat(model, structure, lambda *what: told.append(what), method or model.forward)
    shapes = _dynamic_shapes(leaves, varying) if varying is not None else None
    with _quiet():
        exported = torch.export.export(wrapper, tuple(leaves), dynamic_shapes=shapes, strict=False)
    return _of_export(model, exported, structure, leaves, told[-1])


def _of_export(model: torch.nn.Module, exported: Any, structure: values.Structure, leaves: Sequence[Any], told: Any) -> Capture:
    module: fx.GraphModule = exported.graph_module
    signature, kinds = exported.graph_signature, torch.export.graph_signature
    nodes = {node.name: node for node in module.graph.nodes}
    sources: dict[fx.Node, Source] = {}
    inputs: list[fx.Node] = []
    for spec in signature.input_specs:
        name = getattr(spec.arg, "name", None)
        node = nodes.get(name) if name is not None else None
        if spec.kind is kinds.InputKind.USER_INPUT:
            if node is not None:
                sources[node] = Source("input", len(inputs), name=node.name)
            inputs.append(node)  # type: ignore[arg-type]
        elif node is None:
            continue
        elif spec.kind is kinds.InputKind.CONSTANT_TENSOR:
            held = exported.constants[spec.target]
            sources[node] = Source("constant", fetch=lambda held=held: held, name=str(spec.target))
        else:
            path = str(spec.target).removeprefix("model.")
            sources[node] = Source("weight", fetch=_fetcher(model, path), name=path)
    output = next(node for node in module.graph.nodes if node.op == "output")
    copies, results = [], []
    for spec, value in zip(signature.output_specs, output.args[0]):
        if spec.kind is kinds.OutputKind.USER_OUTPUT:
            results.append(value)
        elif isinstance(value, fx.Node):
            by_target = {str(one.target): nodes[one.arg.name] for one in signature.input_specs if one.target is not None}
            copies.append((value, by_target.get(str(spec.target)) or nodes[str(spec.target)]))
    program = program_of(module, sources, results, copies, name=type(model).__name__, prefix="model")
    sizes = [_sizes(node.meta.get("val")) if node is not None else None for node in inputs]
    modules = list(model.modules())
    guards = [compile(code, "<guard>", "eval") for code in getattr(exported, "_guards_code", None) or ()]
    return Capture(program, structure, told[0], told[1], sizes, dict(exported.range_constraints), modules,
                   bytes(one.training for one in modules), guards)


def _sizes(value: Any) -> Optional[tuple[Any, ...]]:
    if not isinstance(value, torch.Tensor):
        return None
    return tuple(size if isinstance(size, int) else size.node.expr if not size.node.expr.is_number else number_of(size) for size in value.shape)
