"""The loop with a line about what goes on."""
import time

from strata.pool import DiffusionBackend, DiffusionScheduler, DiffusionTask, DiffusionTaskPool, DiffusionUserParams
from tiny_pipeline import SIZE, pipeline

generator = DiffusionBackend(pipeline()).generator
scheduler = DiffusionScheduler(policy="fifo")
for prompt in ("a lighthouse", "a fox in snow"):
    DiffusionTaskPool.add(DiffusionTask.from_user_request(DiffusionUserParams(prompt=prompt, **SIZE)))

while not DiffusionTaskPool.all_finished():
    pending = scheduler.get_pending_count()
    stats = DiffusionTaskPool.get_statistics()
    print(f"Pending: {pending}, Running: {stats['encoding'] + stats['denoising']}, Finished: {stats['finished']}")
    task_id = scheduler.schedule()
    if task_id is not None:
        task = DiffusionTaskPool.get(task_id)
        generator.generate_step(task)
    time.sleep(0.01)
print("Finished:", DiffusionTaskPool.get_statistics()["finished"])
