"""A small runtime scheduler for a training loop, to look at: which hook of the loop runs which entry of a schedule.

    >>> from strata.stage.minimal import FakeLayer, FakeModel, Scheduler, Step, train_one_step
    >>> scheduler = Scheduler([Step("fetch", "L1"), Step("compute", "L1"), Step("release", "L1")])
    >>> train_one_step(FakeModel([FakeLayer("L1")]), scheduler, 7)
    [scheduler] step start
    [scheduler] on_pre_forward(L1): fetch L1
    [scheduler] on_pre_forward(L1): compute L1
    [L1] forward
    [scheduler] on_post_forward(L1): release L1
    [scheduler] on_pre_backward(L1)
    [scheduler] on_post_backward(L1)
    [scheduler] step end
    7

Layers are anything with a name and forward(x). Those that have parameters (torch.nn.Module) really lose them when they are released and
have them again when they are fetched. A schedule is checked and followed by the stage level of libstrata: the same code that
`strata.offload` runs models with.
"""
from .model import FakeLayer, FakeModel
from .schedule import Step, forward_schedule
from .scheduler import Event, Scheduler
from .training import train_one_step

__all__ = ["Event", "FakeLayer", "FakeModel", "Scheduler", "Step", "forward_schedule", "train_one_step"]
