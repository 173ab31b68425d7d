"""Real layers: torch modules whose parameters are there only while the schedule says so."""
import torch

from strata.stage.minimal import Scheduler, forward_schedule, train_one_step


class Layer(torch.nn.Linear):
    """A linear layer with a name."""

    def __init__(self, name, width):
        super().__init__(width, width)
        self.name = name


class Model(torch.nn.Module):
    """Layers in a list, as the loop wants them."""

    def __init__(self, count, width):
        super().__init__()
        self.layers = torch.nn.ModuleList(Layer(f"L{number}", width) for number in range(1, count + 1))


model, batch = Model(3, 64), torch.randn(2, 64)
with torch.no_grad():
    expected = batch
    for layer in model.layers:
        expected = layer(expected)
    with Scheduler(forward_schedule(["L1", "L2", "L3"], prefetch=True)) as scheduler:
        out = train_one_step(model, scheduler, batch)
        print("parameters in memory after the step:", sum(parameter.numel() for parameter in model.parameters()))
print("same result:", torch.equal(out, expected))
