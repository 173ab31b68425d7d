"""strata.pool with real pipelines: pictures drawn by turns are the pipelines' own; the examples of the document run as it says."""
import gc
import glob
import os
import subprocess
import sys
import threading

import package

package.enter_torch()
sys.path.insert(0, os.path.join(package.SOURCE, "python", "examples"))
import diffusers  # noqa: E402
import torch  # noqa: E402

diffusers.utils.logging.set_verbosity(50)
import tiny  # noqa: E402
from strata.pool import (DiffusionBackend, DiffusionGenerator, DiffusionScheduler, DiffusionTask, DiffusionTaskPool, DiffusionUserParams,  # noqa: E402
                         TaskStatus, chitu_generate, chitu_init, chitu_start, chitu_terminate)
from strata.errors import Error  # noqa: E402
from tiny_pipeline import SIZE, pipeline  # noqa: E402

torch.set_num_threads(1)
EXAMPLES = os.path.join(package.SOURCE, "python", "examples")


def add(**words):
    task = DiffusionTask.from_user_request(DiffusionUserParams(**{**SIZE, "pipeline": {"output_type": "np"}, **words}))
    DiffusionTaskPool.add(task)
    return task


def drain(scheduler, generator):
    seen = []
    while not DiffusionTaskPool.all_finished():
        task_id = scheduler.schedule()
        assert task_id is not None
        seen.append(task_id)
        generator.generate_step(DiffusionTaskPool.get(task_id))
    return seen


def pictures_by_turns_are_those_of_the_pipeline():
    pipe = pipeline()
    wants = [("a cat", 3, 4, 7.5), ("a dog", 4, 7, 1.0), ("a bird", 5, 5, 3.0)]
    expected = [pipe(prompt, height=16, width=16, num_inference_steps=steps, guidance_scale=scale, generator=torch.Generator().manual_seed(seed),
                     output_type="np").images for prompt, seed, steps, scale in wants]
    scheduler, generator = DiffusionScheduler(batch_size=3), DiffusionGenerator(pipe)
    tasks = [add(prompt=prompt, seed=seed, num_inference_steps=steps, guidance_scale=scale) for prompt, seed, steps, scale in wants]
    seen = drain(scheduler, generator)
    ids = {task.task_id for task in tasks}
    assert set(seen[:3]) == ids and set(seen[3:6]) == ids, seen
    assert [seen.count(task.task_id) for task in tasks] == [steps + 2 for _, _, steps, _ in wants]
    for task, picture in zip(tasks, expected):
        assert task.status is TaskStatus.FINISHED and abs(task.result - picture).max() < 1e-5, task.error
        assert task.used_ns > 0
    DiffusionTaskPool.clear()


def other_pipelines_run_by_steps_too():
    for name in ("StableDiffusionImg2Img", "StableDiffusionXL", "DiT", "Flux"):
        make, kinds = tiny.PIPELINES[name]
        changes = {"use_dynamic_shifting": True} if name == "Flux" else {}
        pipe, words = make(getattr(diffusers, kinds[-1] if name != "StableDiffusionImg2Img" else "UniPCMultistepScheduler")(**changes))
        pipe.set_progress_bar_config(disable=True)
        expected = pipe(**words, num_inference_steps=5, generator=torch.Generator().manual_seed(1), output_type="np").images
        task = add(seed=1, num_inference_steps=5, pipeline={**words, "output_type": "np"})
        generator, calls = DiffusionGenerator(pipe), 0
        while not task.is_finished():
            generator.generate_step(task, raise_errors=True)
            calls += 1
        assert abs(task.result - expected).max() < 1e-4, name
        assert calls > 3, (name, calls)
        DiffusionTaskPool.clear()


def what_is_cancelled_stops():
    generator = DiffusionGenerator(pipeline())
    before = threading.active_count()
    task = add(prompt="a cat", num_inference_steps=50)
    for _ in range(3):
        generator.generate_step(task)
    assert task.status is TaskStatus.DENOISING and threading.active_count() == before + 1
    call = task.state
    task.cancel()
    call.join()
    assert threading.active_count() == before and task.result is None
    generator.generate_step(task)  # nothing to do
    generator.generate_step(None)
    assert task.current_step == 2 and DiffusionTaskPool.all_finished()
    DiffusionTaskPool.clear()
    del call, task
    gc.collect()


def a_task_that_fails_does_not_stop_others():
    scheduler, generator = DiffusionScheduler(), DiffusionGenerator(pipeline())
    bad, good = add(prompt="a cat", height=15), add(prompt="a dog")
    drain(scheduler, generator)
    assert bad.status is TaskStatus.FAILED and "height" in str(bad.error), bad.error
    assert good.status is TaskStatus.FINISHED
    bad = add(prompt="a cat", height=15)
    try:
        generator.generate_step(bad, raise_errors=True)
    except ValueError:
        pass
    else:
        raise AssertionError("it did not fail")
    DiffusionTaskPool.clear()


def the_three_calls_draw():
    for call in (chitu_start, chitu_generate):
        try:
            call()
        except Error as wrong:
            assert "expected chitu_init" in str(wrong)
        else:
            raise AssertionError("it was started")
    backend = chitu_init({"pipeline": pipeline(), "policy": "priority"})
    scheduler = chitu_start()
    assert scheduler.policy == "priority" and isinstance(backend, DiffusionBackend)
    low, high = add(prompt="a", priority=1), add(prompt="b", priority=9)
    assert chitu_generate() is high
    while not DiffusionTaskPool.all_finished():
        chitu_generate()
    assert low.status is high.status is TaskStatus.FINISHED and chitu_generate() is None
    chitu_terminate()
    DiffusionTaskPool.clear()
    try:
        DiffusionBackend({})
    except Error as wrong:
        assert "no pipeline and no model" in str(wrong)
    else:
        raise AssertionError("a backend of nothing")


def a_program_may_end_half_way():
    code = ("from tiny_pipeline import *; from strata.pool import *; from strata.pool import DiffusionGenerator\n"
            "tasks = [DiffusionTask.from_user_request(DiffusionUserParams(prompt='x', **SIZE)) for _ in range(3)]\n"
            "generator = DiffusionGenerator(pipeline())\n"
            "for task in tasks:\n    DiffusionTaskPool.add(task)\n    generator.generate_step(task)\n    generator.generate_step(task)\n"
            "tasks[0].cancel()\nprint(tasks[1].status.value)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", timeout=300,
                          env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)))
    assert done.returncode == 0 and done.stdout.strip() == "denoising", done


EXPECTED = {
    "pool_basic": ["a lighthouse: finished, (16, 16)", "statistics: 1 finished"],
    "pool_custom": ["in this order: short → middle → long"],
    "pool_debug": ["Pool size: 2", "Pending: ['first', 'second']", "second: it is next, and every worker is busy"],
    "pool_many_steps": ["4 decisions, 2 finished"],
    "pool_monitoring": ["Pending: 2, Running: 0, Finished: 0", "Pending: 1, Running: 1, Finished: 0", "Finished: 2"],
    "pool_order": ["fifo: A → B → C", "priority: Urgent request → Normal request", "fair: alice → bob → charlie → alice → alice"],
    "pool_ranks": ["steps of each rank: 12 12", "the same pictures: True"],
    "pool_sharing": ["together: A B D", "C: it is next, and every worker is busy"],
}


def the_examples_say_what_they_should():
    names = sorted(os.path.basename(path)[:-3] for path in glob.glob(os.path.join(EXAMPLES, "pool_*.py")))
    assert names == sorted(EXPECTED), names
    env = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path), PYTHONUTF8="1")
    for name in names:
        done = subprocess.run([sys.executable, os.path.join(EXAMPLES, name + ".py")], capture_output=True, encoding="utf-8", env=env, timeout=300)
        assert done.returncode == 0, (name, done.stderr[-2000:])
        missing = [line for line in EXPECTED[name] if line not in done.stdout.splitlines()]
        assert not missing, (name, missing, done.stdout)


package.run(pictures_by_turns_are_those_of_the_pipeline, other_pipelines_run_by_steps_too, what_is_cancelled_stops,
            a_task_that_fails_does_not_stop_others, the_three_calls_draw, a_program_may_end_half_way, the_examples_say_what_they_should)
