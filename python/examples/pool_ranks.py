"""Two processes that draw the same tasks: rank 0 schedules, the other hears of it, also when there is nothing to do."""
import os
import tempfile

import torch.distributed as dist
import torch.multiprocessing as multiprocessing
from strata.pool import (DiffusionBackend, DiffusionScheduler, DiffusionTask, DiffusionTaskPool, DiffusionUserParams, broadcast_task,
                         receive_task_from_rank0)
from tiny_pipeline import SIZE, pipeline


def main(rank, meeting):
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=2)
    generator = DiffusionBackend(pipeline()).generator
    scheduler = None
    if dist.get_rank() == 0:
        scheduler = DiffusionScheduler(policy="fifo")
        for prompt in ("a lighthouse", "a fox in snow"):
            params = DiffusionUserParams(prompt=prompt, seed=5, **SIZE, pipeline={"output_type": "np"})
            DiffusionTaskPool.add(DiffusionTask.from_user_request(params))
    steps = 0
    while True:
        if dist.get_rank() == 0:
            task_id = scheduler.schedule()
            task = broadcast_task(task_id)
        else:
            task = receive_task_from_rank0()
        if task is None:
            break
        generator.generate_step(task)
        steps += 1
    sums = [round(float(task.result.sum()), 3) for task in DiffusionTaskPool.pool.values()]
    seen = [None, None]
    dist.all_gather_object(seen, (steps, sums))
    if rank == 0:
        print("steps of each rank:", *(steps for steps, _ in seen))
        print("the same pictures:", seen[0][1] == seen[1][1])
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        multiprocessing.spawn(main, args=(os.path.join(folder, "meeting"),), nprocs=2)
