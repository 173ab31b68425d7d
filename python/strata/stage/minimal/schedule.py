"""Schedules: what is to be done with which layer, in order. No times."""
from __future__ import annotations

from typing import NamedTuple

__all__ = ["Step", "forward_schedule"]


class Step(NamedTuple):
    """One entry of a schedule.

    >>> kind, layer_name = Step("fetch", "L1")
    """

    kind: str
    """fetch: bring the layer's parameters, and wait; prefetch: begin to bring them; compute: the layer runs; release: give them up."""
    layer_name: str


def forward_schedule(names: list[str], *, prefetch: bool = False) -> list[Step]:
    """Each layer fetched, computed and released in turn; with prefetch the next one comes while one computes.

    >>> [f"{step.kind} {step.layer_name}" for step in forward_schedule(["a", "b"], prefetch=True)]
    ['fetch a', 'prefetch b', 'compute a', 'release a', 'compute b', 'release b']
    """
    steps = []
    for at, name in enumerate(names):
        if not prefetch or at == 0:
            steps.append(Step("fetch", name))
        if prefetch and at + 1 < len(names):
            steps.append(Step("prefetch", names[at + 1]))
        steps += [Step("compute", name), Step("release", name)]
    return steps
