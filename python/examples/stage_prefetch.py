"""Prefetching: the second layer is brought by a thread while the first one computes."""
import time

from strata.stage.minimal import FakeLayer, FakeModel, Scheduler, Step, train_one_step

model = FakeModel([FakeLayer("L1", latency=0.1), FakeLayer("L2", latency=0.1)])
in_turn = [Step("fetch", "L1"), Step("compute", "L1"), Step("release", "L1"),
           Step("fetch", "L2"), Step("compute", "L2"), Step("release", "L2")]
ahead = [Step("fetch", "L1"), Step("prefetch", "L2"), Step("compute", "L1"), Step("release", "L1"),
         Step("fetch", "L2"), Step("compute", "L2"), Step("release", "L2")]
for name, schedule in (("in turn", in_turn), ("ahead", ahead)):
    scheduler = Scheduler(schedule, latency=0.1)
    began = time.monotonic()
    train_one_step(model, scheduler, "batch")
    print(f"{name}: {time.monotonic() - began:.1f} s")
