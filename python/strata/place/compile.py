"""torch.compile(model, backend="strata"): the graphs that dynamo finds, each placed and run on devices.

    >>> import torch, strata.place
    >>> model = torch.compile(torch.nn.Linear(4, 2), backend="strata")
    >>> model(torch.zeros(3, 4)).shape
    torch.Size([3, 2])

The name is known where the package is installed (an entry point) or strata.place was imported.
"""
from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Optional

import torch
from torch import fx

from ..capture import Capture, Source, program_of
from ..capture.kinds import plain_name
from .scheduler import AdaptiveScheduler, Placement, Scheduler

__all__ = ["backend_of", "strata_backend"]

_schedulers: dict[str, Scheduler] = {}


def _operators(graph: fx.GraphModule, examples: Sequence[Any]) -> Optional[fx.GraphModule]:
    """dynamo's graph of torch functions as one of operators, before autograd: gradients work as in eager mode. It is traced with what
    dynamo knows of the inputs (shapes that vary stay so), not with their values. None: values are looked at within it."""
    from torch.fx.experimental.proxy_tensor import make_fx
    mode = next((one.fake_mode for one in examples if hasattr(one, "fake_mode")), None)
    try:
        with mode if mode is not None else contextlib.nullcontext():
            made = make_fx(graph, tracing_mode="real", pre_dispatch=True, _allow_non_fake_inputs=True)(*examples)
    except Exception:  # noqa: BLE001 - what cannot be traced runs as dynamo wrote it
        return None
    looks = any(plain_name(node.target) in ("item", "_local_scalar_dense") for node in made.graph.nodes if node.op == "call_function")
    return None if looks else made


def _capture(graph: fx.GraphModule, given: Sequence[Any]) -> Optional[Capture]:
    inputs = [node for node in graph.graph.nodes if node.op == "placeholder"]
    examples = [node.meta.get("example_value", value) for node, value in zip(inputs, given)]
    made = _operators(graph, examples)
    if made is None:
        return None
    sources: dict[fx.Node, Source] = {}
    for number, node in enumerate(one for one in made.graph.nodes if one.op == "placeholder"):
        node.meta.setdefault("val", examples[number])
        sources[node] = Source("input", number, name=inputs[number].name)
    output = next(node for node in made.graph.nodes if node.op == "output")
    results = list(output.args[0]) if isinstance(output.args[0], (list, tuple)) else [output.args[0]]
    program = program_of(made, sources, results, name="compiled")
    for number, node in enumerate(sources):
        held = isinstance(given[number], torch.nn.Parameter) or "parameters" in sources[node].name or "buffers" in sources[node].name
        if held and node in program.numbers:
            program.tensors[program.numbers[node]].role = "weight"
    return Capture(program, (), (), [], [], {}, [], b"")


class _Compiled:
    """A graph of dynamo, placed. dynamo's guards say when it may be called."""

    def __init__(self, scheduler: Scheduler, placement: Placement) -> None:
        self._scheduler, self._placement = scheduler, placement

    def __call__(self, *leaves: Any) -> list[Any]:
        return self._scheduler.run(self._placement, leaves)


def backend_of(scheduler: Optional[Scheduler] = None) -> Callable[..., Any]:
    """A backend for torch.compile that places by this scheduler."""
    held = weakref.ref(scheduler) if scheduler is not None else None

    def strata_graph(graph: fx.GraphModule, examples: Sequence[Any], **options: Any) -> Callable[..., Any]:
        by = held() if held is not None else None
        if by is None:
            by = options.get("options", {}).get("scheduler") if isinstance(options.get("options"), dict) else None
        if by is None:
            by = _schedulers.setdefault("", AdaptiveScheduler()) if "" not in _schedulers else _schedulers[""]
        taken = _capture(graph, examples)
        if taken is None or not taken.program.ops:
            return graph.forward
        return _Compiled(by, by.schedule(taken))
    return strata_graph


def strata_backend(graph: fx.GraphModule, examples: Sequence[Any], **options: Any) -> Callable[..., Any]:
    """The backend "strata". torch.compile(model, backend="strata", options={"scheduler": …}) chooses the scheduler."""
    return backend_of()(graph, examples, **options)


def register() -> None:
    """Makes the name known to torch.compile."""
    from torch._dynamo import list_backends, register_backend
    if "strata" not in list_backends(exclude_tags=()):
        register_backend(strata_backend, name="strata")
