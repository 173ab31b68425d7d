"""The loop written out: where a scheduler is asked. Any object with the six hooks will do."""
from strata.stage.minimal import FakeLayer, FakeModel, Scheduler, Step, train_one_step


class Counting(Scheduler):
    """Counts its hooks."""

    calls = 0

    def on_pre_forward(self, layer):
        self.calls += 1
        super().on_pre_forward(layer)


class Printing:
    """A scheduler that decides nothing."""

    def on_step_start(self):
        print("step start")

    def on_pre_forward(self, layer):
        print("before", layer.name)

    def on_post_forward(self, layer):
        print("after", layer.name)

    def on_pre_backward(self, layer):
        print("before", layer.name, "backward")

    def on_post_backward(self, layer):
        print("after", layer.name, "backward")

    def on_step_end(self):
        print("step end")


model = FakeModel([FakeLayer("L1"), FakeLayer("L2")])
train_one_step(model, Printing(), "batch")

scheduler = Counting([Step(kind, name) for name in ("L1", "L2") for kind in ("fetch", "compute", "release")])
scheduler.on_step_start()
x = "batch"
for layer in model.layers:
    scheduler.on_pre_forward(layer)
    x = layer.forward(x)
    scheduler.on_post_forward(layer)
for layer in reversed(model.layers):
    scheduler.on_pre_backward(layer)
    scheduler.on_post_backward(layer)
scheduler.on_step_end()
print("calls:", scheduler.calls)
