"""Models larger than memory: which layer's parameters are there when.

    strata.offload         any torch module within a budget of memory: `h = strata.offload(model, budget="2GiB", path="weights.safetensors")`
    strata.stage.minimal   a small scheduler to look at: a schedule by hand, the hooks of a training loop

What is read when is planned and done by libstrata (<strata/stage.h>, <strata/stream.h>).
"""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import minimal as minimal
    from .handle import Offload as Offload, offload as offload
    from .stats import Stats as Stats
    from .stream import Entry as Entry, Plan as Plan

__all__ = ["Entry", "Offload", "Plan", "Stats", "minimal", "offload"]

_NAMES = {"Entry": "stream", "Offload": "handle", "Plan": "stream", "Stats": "stats", "offload": "handle"}


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return getattr(importlib.import_module(f"{__name__}.{_NAMES[name]}"), name)
    if name == "minimal":
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
