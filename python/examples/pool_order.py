"""Which task is next under three policies, and how many wait. No model is needed for this."""
from strata.pool.scheduler import DiffusionScheduler
from strata.pool.task import DiffusionTask, DiffusionTaskPool, DiffusionUserParams, TaskStatus


def order(scheduler):
    """Takes what the scheduler selects until nothing is left."""
    names = []
    print("waiting:", scheduler.get_pending_count())
    while (task_id := scheduler.schedule()) is not None:
        task = DiffusionTaskPool.get(task_id)
        names.append(task.user_params.prompt)
        task.status = TaskStatus.FINISHED
    print(f"{scheduler.policy}:", " → ".join(names))
    DiffusionTaskPool.clear()


scheduler = DiffusionScheduler(policy="fifo")
for name in "ABC":
    DiffusionTaskPool.add(DiffusionTask.from_user_request(DiffusionUserParams(prompt=name)))
order(scheduler)

scheduler = DiffusionScheduler(policy="priority")
params_normal = DiffusionUserParams(prompt="Normal request", priority=5)
params_urgent = DiffusionUserParams(prompt="Urgent request", priority=10)
for params in (params_normal, params_urgent):
    DiffusionTaskPool.add(DiffusionTask.from_user_request(params))
order(scheduler)

scheduler = DiffusionScheduler(policy="fair", users=["alice", "bob", "charlie"])
for user in ("alice", "alice", "alice", "bob", "charlie"):
    DiffusionTaskPool.add(DiffusionTask.from_user_request(DiffusionUserParams(prompt=user, user=user)))
order(scheduler)
