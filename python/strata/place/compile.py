"""torch.compile(model, backend="strata"): the graphs that dynamo finds, each placed and run on devices.

    >>> import torch, strata.place
    >>> model = torch.compile(torch.nn.Linear(4, 2), backend="strata")
    >>> model(torch.zeros(3, 4)).shape
    torch.Size([3, 2])

The name is known where the package is installed (an entry point) or strata.place was imported.
"""
from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, Optional

import torch
from torch import fx

from ..capture import Capture, Source, program_of
from .scheduler import AdaptiveScheduler, Placement, Scheduler

__all__ = ["backend_of", "strata_backend"]

_schedulers: dict[str, Scheduler] = {}


def _operators(graph: fx.GraphModule, examples: Sequence[Any]) -> fx.GraphModule:
    """dynamo's graph of torch functions as one of operators, before autograd: gradients work as in eager mode."""
    from torch.fx.experimental.proxy_tensor import make_fx
    return make_fx(graph, tracing_mode="real", pre_dispatch=True, _allow_non_fake_inputs=True, _error_on_data_dependent_ops=False)(*examples)


def _capture(graph: fx.GraphModule, examples: Sequence[Any]) -> Capture:
    names = [str(node.meta.get("grapharg") and node.name or node.name) for node in graph.graph.nodes if node.op == "placeholder"]
    made = _operators(graph, examples)
    sources: dict[fx.Node, Source] = {}
    for number, node in enumerate(one for one in made.graph.nodes if one.op == "placeholder"):
        example = examples[number]
        node.meta.setdefault("val", example)
        sources[node] = Source("input", number, name=names[number] if number < len(names) else node.name)
    output = next(node for node in made.graph.nodes if node.op == "output")
    results = list(output.args[0]) if isinstance(output.args[0], (list, tuple)) else [output.args[0]]
    program = program_of(made, sources, results, name="compiled")
    for node, number in zip(sources, range(len(examples))):
        if isinstance(examples[number], torch.nn.Parameter) or "parameters" in sources[node].name or "buffers" in sources[node].name:
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
        if not taken.program.ops:
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
