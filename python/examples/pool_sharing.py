"""What tasks may need together, and tasks that go together: memory and batches."""
from strata.pool import DiffusionScheduler, DiffusionTask, DiffusionTaskPool, DiffusionUserParams

scheduler = DiffusionScheduler(policy="resource_aware", max_vram_gb=24, batch_size=4)
for name, vram_gb in (("A", 10), ("B", 12), ("C", 8), ("D", 2)):
    DiffusionTaskPool.add(DiffusionTask.from_user_request(DiffusionUserParams(prompt=name, vram_gb=vram_gb), task_id=name))
print("together:", " ".join(scheduler.schedule_batch()))
for task_id in DiffusionTaskPool.get_pending_tasks():
    print(f"{task_id}: {scheduler.why(task_id)}")
