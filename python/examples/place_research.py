"""Full control: every strategy, prices of one's own, what is new; then a training step through it."""
import strata.place as djinn
import torch
from strata.place.scheduler import AdaptiveScheduler

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.GELU(), torch.nn.Linear(64, 8))
input_tensor = torch.randn(16, 32)
asked = set()


def custom_cost_estimator(op, device):
    """Seconds of an operator on a device: this hardware is slow in all but products."""
    asked.add(op.kind)
    return op.flops / 1e11 if op.flops else 5e-5


scheduler = AdaptiveScheduler(mode='advanced')
scheduler.set_cost_model(custom_cost_estimator)
scheduler.enable_feature('experimental_optimizations', True)
result = djinn.execute_model(model, input_tensor, scheduler=scheduler)

result.square().mean().backward()
print("priced:", ", ".join(sorted(asked)))
print("predicted: %.0f us" % (scheduler.last.plan.latency_ns / 1000))
print("features:", ", ".join(name for name, on in scheduler.feature_flags.items() if on))
print("gradients:", all(one.grad is not None for one in model.parameters()))
