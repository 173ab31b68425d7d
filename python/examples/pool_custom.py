"""An order of one's own: the task with the fewest frames first."""
from typing import Optional

from strata.pool import DiffusionBackend, DiffusionScheduler, DiffusionTask, DiffusionTaskPool, DiffusionUserParams
from tiny_pipeline import SIZE, pipeline


class CustomScheduler(DiffusionScheduler):
    """The shortest first."""

    def schedule(self) -> Optional[str]:
        pending_tasks = DiffusionTaskPool.get_pending_tasks()
        if not pending_tasks:
            return None
        return min(pending_tasks, key=lambda tid: DiffusionTaskPool.get(tid).user_params.num_frames)


scheduler = CustomScheduler()
generator = DiffusionBackend(pipeline()).generator
for prompt, num_frames in (("long", 81), ("short", 9), ("middle", 33)):
    DiffusionTaskPool.add(DiffusionTask.from_user_request(DiffusionUserParams(prompt=prompt, num_frames=num_frames, **SIZE)))
done = []
while not DiffusionTaskPool.all_finished():
    task = DiffusionTaskPool.get(scheduler.schedule())
    generator.generate_step(task)
    if task.is_finished():
        done.append(task.user_params.prompt)
print("in this order:", " → ".join(done))
