"""When nothing seems to happen: what is in the pool, and why a task waits."""
from strata.pool import DiffusionScheduler, DiffusionTask, DiffusionTaskPool, DiffusionUserParams

scheduler = DiffusionScheduler(policy="fifo")
for name in ("first", "second"):
    DiffusionTaskPool.add(DiffusionTask.from_user_request(DiffusionUserParams(prompt=name), task_id=name))
print(f"Pool size: {len(DiffusionTaskPool.pool)}")
print(f"Pending: {DiffusionTaskPool.get_pending_tasks()}")
scheduler.schedule()
print(f"second: {scheduler.why('second')}")
