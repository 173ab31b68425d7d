"""What a scheduler tries, under the names that people know: each stands for strategies of the C level."""
from __future__ import annotations

from dataclasses import dataclass

__all__ = ["AdvancedOptimizationStrategy", "LoadBalancingStrategy", "MemoryAwareOptimizationStrategy", "MultiDeviceOptimizationStrategy",
           "SemanticOptimizationStrategy", "Strategy", "strategies_of"]


@dataclass(frozen=True)
class Strategy:
    """A part of what is tried. specs: strategies of the C level (`strata classes strategy`)."""
    specs: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Its class."""
        return type(self).__name__


class LoadBalancingStrategy(Strategy):
    """Every operator where the least has to be done with it."""


class SemanticOptimizationStrategy(Strategy):
    """By what the model is: phases, KV caches beside their attention."""


class MultiDeviceOptimizationStrategy(Strategy):
    """Splits over several devices."""


class MemoryAwareOptimizationStrategy(Strategy):
    """Splits that spread weights and caches."""


class AdvancedOptimizationStrategy(Strategy):
    """Searches: moves of operators one by one, all choices of small models."""


_BY_SPEC = {"load_balance": LoadBalancingStrategy, "round_robin": LoadBalancingStrategy, "single": LoadBalancingStrategy,
            "heft": SemanticOptimizationStrategy, "portfolio": MultiDeviceOptimizationStrategy, "sequential": MemoryAwareOptimizationStrategy,
            "contiguous": MemoryAwareOptimizationStrategy, "local_search": AdvancedOptimizationStrategy, "exact": AdvancedOptimizationStrategy}


def strategies_of(specs: str) -> list[Strategy]:
    """From the C level's list.

    >>> [one.name for one in strategies_of("load_balance,heft,heft:pin_kv=true,portfolio")]
    ['LoadBalancingStrategy', 'SemanticOptimizationStrategy', 'MultiDeviceOptimizationStrategy']
    """
    found: dict[type[Strategy], list[str]] = {}
    for spec in specs.split(","):
        found.setdefault(_BY_SPEC.get(spec.partition(":")[0], Strategy), []).append(spec)
    return [cls(tuple(words)) for cls, words in found.items()]
