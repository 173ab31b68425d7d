"""python -m strata.stage.minimal: a model of three layers, first without and then with prefetching, and how long each took."""
from __future__ import annotations

import time

from . import FakeLayer, FakeModel, Scheduler, forward_schedule, train_one_step


def main() -> None:
    """The demo."""
    names = ["L1", "L2", "L3"]
    for prefetch in (False, True):
        print(f"--- {'with' if prefetch else 'without'} prefetching")
        with Scheduler(forward_schedule(names, prefetch=prefetch), latency=0.05) as scheduler:
            began = time.monotonic()
            train_one_step(FakeModel([FakeLayer(name, latency=0.05) for name in names]), scheduler, "batch")
            print(f"--- {(time.monotonic() - began) * 1e3:.0f} ms")


if __name__ == "__main__":
    main()
