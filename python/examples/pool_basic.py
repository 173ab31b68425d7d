"""Three prompts through one pipeline: tasks, a scheduler, a generator, and the loop between them; then the same by chitu_generate()."""
from types import SimpleNamespace

from strata.pool import chitu_generate, chitu_init, chitu_start
from strata.pool.backend import DiffusionBackend
from strata.pool.scheduler import DiffusionScheduler
from strata.pool.task import DiffusionTask, DiffusionTaskPool, DiffusionUserParams
from tiny_pipeline import SIZE, pipeline

prompts = ["a lighthouse", "a fox in snow", "a city at night"]
args = SimpleNamespace(pipeline=pipeline(), policy="fifo")

backend = DiffusionBackend(args)
scheduler = DiffusionScheduler(policy="fifo")
generator = backend.generator

for prompt in prompts:
    params = DiffusionUserParams(prompt=prompt, seed=1, **SIZE)
    task = DiffusionTask.from_user_request(params)
    DiffusionTaskPool.add(task)

while not DiffusionTaskPool.all_finished():
    task_id = scheduler.schedule()
    if task_id is not None:
        task = DiffusionTaskPool.get(task_id)
        generator.generate_step(task)

for task in DiffusionTaskPool.pool.values():
    print(f"{task.user_params.prompt}: {task.status.value}, {task.result[0].size}")
DiffusionTaskPool.clear()

chitu_init(args)
chitu_start()
DiffusionTaskPool.add(DiffusionTask.from_user_request(DiffusionUserParams(prompt="a bridge", seed=2, **SIZE)))
while not DiffusionTaskPool.all_finished():
    chitu_generate()
print("statistics:", DiffusionTaskPool.get_statistics()["finished"], "finished")
