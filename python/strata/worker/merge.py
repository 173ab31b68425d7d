"""Several calls of one model as one: tensors with a row for each picture are put together, what all share stays, and the answer is cut apart again. Calls
that do not fit together are kept apart."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Sequence

import torch


@dataclass
class ModelCall:
    """A call that waits: which module, with what, and how many rows it has."""

    module: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    @property
    def rows(self) -> int:
        sample = self.sample
        return int(sample.shape[0]) if sample is not None and sample.dim() else 1

    @property
    def sample(self) -> torch.Tensor | None:
        for value in (*self.args, self.kwargs.get("sample"), self.kwargs.get("hidden_states")):
            if isinstance(value, torch.Tensor):
                return value
        return None


class _Apart(Exception):
    """They do not fit together."""


def _join(values: Sequence[Any], rows: Sequence[int]) -> Any:
    first = values[0]
    if isinstance(first, torch.Tensor):
        if not all(isinstance(value, torch.Tensor) and value.device == first.device for value in values):
            raise _Apart
        if all(value.dim() == 0 for value in values):  # a timestep: one for each row; some schedulers have whole ones
            return torch.cat([value.reshape(1).expand(count) for value, count in zip(values, rows)])
        if any(value.dtype != first.dtype for value in values):
            raise _Apart
        if all(value.dim() and value.shape[0] == count and value.shape[1:] == first.shape[1:] for value, count in zip(values, rows)):
            return torch.cat(list(values))
        if all(value.shape == first.shape and torch.equal(value, first) for value in values):
            return first
        raise _Apart
    if isinstance(first, dict):
        if not all(isinstance(value, dict) and value.keys() == first.keys() for value in values):
            raise _Apart
        return {name: _join([value[name] for value in values], rows) for name in first}
    if isinstance(first, (list, tuple)):
        if not all(type(value) is type(first) and len(value) == len(first) for value in values):
            raise _Apart
        return type(first)(_join([value[i] for value in values], rows) for i in range(len(first)))
    if all(type(value) is type(first) and value == first for value in values):
        return first
    raise _Apart


def join(calls: Sequence[ModelCall]) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments of one call for all; None when they do not fit together."""
    first = calls[0]
    if any(call.module is not first.module or len(call.args) != len(first.args) or call.kwargs.keys() != first.kwargs.keys() for call in calls):
        return None
    rows = [call.rows for call in calls]
    try:
        return (tuple(_join([call.args[i] for call in calls], rows) for i in range(len(first.args))),
                {name: _join([call.kwargs[name] for call in calls], rows) for name in first.kwargs})
    except _Apart:
        return None


def cut(answer: Any, calls: Sequence[ModelCall]) -> list[Any]:
    """The answer for each call."""
    rows = [call.rows for call in calls]
    starts = [sum(rows[:i]) for i in range(len(rows))]

    def part(value: Any, start: int, count: int) -> Any:
        if isinstance(value, torch.Tensor):
            return value[start:start + count] if value.dim() and value.shape[0] == sum(rows) else value
        if isinstance(value, dict):  # diffusers' outputs are dictionaries with attributes
            found = {name: part(one, start, count) for name, one in value.items()}
            return type(value)(**found) if type(value) is not dict else found
        if isinstance(value, (list, tuple)):
            return type(value)(part(one, start, count) for one in value)
        return value

    return [part(answer, start, count) for start, count in zip(starts, rows)]


def groups(calls: Sequence[Any], call_of: Any = lambda one: one, most: int = 0) -> list[list[Any]]:
    """Those that fit together, in order; no group has more than `most` (0: any number)."""
    found: list[list[Any]] = []
    for one in calls:
        for group in found:
            if (not most or len(group) < most) and join([call_of(group[0]), call_of(one)]) is not None:
                group.append(one)
                break
        else:
            found.append([one])
    return found
