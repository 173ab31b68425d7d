"""A schedule by hand, followed by the hooks of a training loop: which hook runs which entry."""
from strata.stage.minimal.model import FakeLayer, FakeModel
from strata.stage.minimal.schedule import Step
from strata.stage.minimal.scheduler import Scheduler
from strata.stage.minimal.training import train_one_step

forward_schedule = [
    Step("fetch", "L1"),
    Step("compute", "L1"),
    Step("release", "L1"),
    Step("fetch", "L2"),
    Step("compute", "L2"),
    Step("release", "L2"),
]
model = FakeModel([FakeLayer("L1"), FakeLayer("L2")])
scheduler = Scheduler(forward_schedule)
for batch in ["first", "second"]:
    train_one_step(model, scheduler, batch)
