"""Features come as they are earned, and stay for the next run of the program."""
import torch
from strata.place.scheduler import ProgressiveScheduler

scheduler = ProgressiveScheduler()
print("at first:", scheduler.feature_flags['semantic_optimization'])
before = scheduler.usage_stats.get('successful_schedules', 0)

model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh())
for _ in range(12):
    scheduler.execute(model, torch.ones(1, 8))

print("schedules that went well:", scheduler.usage_stats.get('successful_schedules', 0) - before)
print("now:", scheduler.feature_flags['semantic_optimization'])
for event in scheduler.events():
    print(f"{event.feature} after {event.schedule}: {event.why}")
