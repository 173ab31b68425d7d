"""What a scheduler finds out by itself, and what it tries because of that."""
import torch
from strata.place.scheduler import AdaptiveScheduler

scheduler = AdaptiveScheduler(mode='auto')
print("mode:", scheduler.mode)
for name in ('devices', 'network_topology', 'workload_type', 'expertise_level'):
    print(f"{name}: {scheduler.capabilities[name]}")
print("tries:", ", ".join(type(strategy).__name__ for strategy in scheduler.strategies))

model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Conv2d(8, 8, 3)).eval()
scheduler.execute(model, torch.ones(1, 3, 16, 16))
print("workload_type now:", scheduler.capabilities['workload_type'])
print("tries now:", ", ".join(type(strategy).__name__ for strategy in scheduler.strategies))

for mode in ('basic', 'semantic', 'advanced'):
    print(f"{mode}:", ", ".join(name for name, on in AdaptiveScheduler(mode=mode).feature_flags.items() if on))
