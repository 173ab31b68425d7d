"""Fewer decisions: up to ten steps of a task for each."""
from strata.pool import DiffusionBackend, DiffusionScheduler, DiffusionTask, DiffusionTaskPool, DiffusionUserParams
from tiny_pipeline import SIZE, pipeline

scheduler = DiffusionScheduler()
generator = DiffusionBackend(pipeline()).generator
for prompt in ("a lighthouse", "a fox in snow"):
    DiffusionTaskPool.add(DiffusionTask.from_user_request(DiffusionUserParams(prompt=prompt, **{**SIZE, "num_inference_steps": 12})))
decisions = 0
while not DiffusionTaskPool.all_finished():
    task_id = scheduler.schedule()
    if task_id is not None:
        decisions += 1
        task = DiffusionTaskPool.get(task_id)
        for _ in range(10):
            generator.generate_step(task)
            if task.is_finished():
                break
print(decisions, "decisions,", DiffusionTaskPool.get_statistics()["finished"], "finished")
