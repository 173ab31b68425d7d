"""Layers and a model that compute nothing: they say that they run, and take as long as they are told to."""
from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

__all__ = ["FakeLayer", "FakeModel"]


class FakeLayer:
    """A layer without parameters. latency: seconds that forward takes."""

    def __init__(self, name: str, latency: float = 0.0) -> None:
        self.name = name
        self.latency = latency

    def forward(self, x: Any) -> Any:
        """Says that it runs, sleeps, and returns x."""
        print(f"[{self.name}] forward", flush=True)
        if self.latency:
            time.sleep(self.latency)
        return x


class FakeModel:
    """Layers, one after the other."""

    def __init__(self, layers: Iterable[Any]) -> None:
        self.layers = list(layers)

    def forward(self, x: Any) -> Any:
        """All layers in turn."""
        for layer in self.layers:
            x = layer.forward(x)
        return x
