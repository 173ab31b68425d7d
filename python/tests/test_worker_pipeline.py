#!/usr/bin/env python3
"""The worker's drawing with real diffusers pipelines: what a task gets is what the pipeline itself draws, alone, in a batch, and from saved latents."""
import io

import client_env
from client_env import raises

client_env.enter_torch()

import numpy as np  # noqa: E402
import tiny_pipeline  # noqa: E402
import torch  # noqa: E402
from PIL import Image  # noqa: E402
from service import equal, run_with  # noqa: E402
from strata.errors import UnsupportedError  # noqa: E402
from strata.worker import latents, pipeline, solvers  # noqa: E402

SAMPLERS = [{"name": "euler_ancestral", "aliases": "Euler a, EulerAncestralDiscreteScheduler"}, {"name": "heun", "aliases": "Heun, HeunDiscreteScheduler"},
            {"name": "dpmpp_2m", "aliases": "DPM++ 2M, DPMSolverMultistepScheduler"}, {"name": "unipc", "aliases": "UniPC, UniPCMultistepScheduler"},
            {"name": "ddim", "aliases": "DDIM, DDIMScheduler"}, {"name": "pndm", "aliases": "PLMS, PNDMScheduler"}, {"name": "seeds", "aliases": None},
            {"name": "euler", "aliases": "Euler, EulerDiscreteScheduler"}]
SIZE = {"width": 32, "height": 32, "guidance_scale": 4.0}
PIPE = tiny_pipeline.stable_diffusion()


def task(number, seed, **parameters):
    return {"id": number, "seed": seed, "steps_done": 0, "parameters": {"prompt": "a red bicycle", "steps": 8, **SIZE, **parameters}}


def drawer(pipe=PIPE, said=None):
    pipe = tiny_pipeline.stable_diffusion() if pipe is PIPE else pipe
    return pipeline.DiffusersDrawer("tiny", pipe, SAMPLERS, {}, (said if said is not None else []).append)


def draw(it, run, steps=1000):
    while run.state in ("new", "running"):
        it.advance([run], steps, lambda: True)
    equal((run.state, run.why), ("drawn", ""))
    return run.pictures()


def pixels(png):
    return np.asarray(Image.open(io.BytesIO(png))).astype(int)


def a_task_gets_what_the_pipeline_draws(_):
    for name, solver in ((None, None), ("DPM++ 2M Karras", "dpmpp")):
        it = drawer()
        pipe = tiny_pipeline.stable_diffusion()
        if solver:
            from diffusers import DPMSolverMultistepScheduler
            pipe.scheduler = DPMSolverMultistepScheduler.from_config(pipe.scheduler.config, use_karras_sigmas=True)
        pipe.set_progress_bar_config(disable=True)
        want = pipe("a red bicycle", num_inference_steps=8, generator=torch.Generator().manual_seed(5), **SIZE).images[0]
        got = draw(it, it.begin(task(1, 5, **({"scheduler": name} if name else {})), None, None), 3)
        equal(np.array_equal(pixels(got[0]), np.asarray(want)), True)


def several_are_computed_together_at_different_steps(_):
    it, alone = drawer(), drawer()
    want = [draw(alone, alone.begin(task(i, 10 + i, steps=6 + i, scheduler=name), None, None))[0]
            for i, name in enumerate(("euler", "Euler a", "unipc"))]
    runs = [it.begin(task(i, 10 + i, steps=6 + i, scheduler=name), None, None) for i, name in enumerate(("euler", "Euler a", "unipc"))]
    it.advance(runs[:1], 2, lambda: True)
    equal([run.steps for run in runs], [2, 0, 0])
    while any(run.state in ("new", "running") for run in runs):
        it.advance(runs, 2, lambda: True)
    for run, picture in zip(runs, want):
        equal((run.state, run.why), ("drawn", ""))
        worst = np.abs(pixels(run.pictures()[0]) - pixels(picture)).max()
        assert worst <= 1, worst  # sums of a batch are rounded in another order
        assert run.cost_ns > 0
    assert it.batches[3] >= 4 and it.batches[1] >= 2, it.batches
    return f"calls by tasks: {it.batches}"


def n_pictures_have_seeds_one_after_the_other(_):
    it = drawer()
    both = draw(it, it.begin(task(1, 5, n=2), None, None))
    equal(len(both), 2)
    second = draw(it, it.begin(task(2, 6), None, None))[0]
    assert np.abs(pixels(both[1]) - pixels(second)).max() <= 1
    assert np.abs(pixels(both[0]) - pixels(second)).max() > 1


def saved_latents_give_the_same_bytes(_):
    for name in ("euler", "Euler a", "heun", "dpmpp_2m", "unipc", "ddim", "pndm"):
        one, other = drawer(), drawer()
        whole = draw(one, one.begin(task(7, 21, scheduler=name), None, None))[0]
        run = one.begin(task(7, 21, scheduler=name), None, None)
        one.advance([run], 5, lambda: True)
        equal((run.state, run.steps), ("running", 5))
        saved = run.save()
        run.close()
        went_on = other.begin(task(7, 21, scheduler=name), None, saved)
        equal(went_on.steps, 5)
        calls = sum(other.batches.values())
        equal((name, draw(other, went_on)[0] == whole), (name, True))
        assert sum(other.batches.values()) - calls < sum(one.batches.values()) / 2, (name, other.batches)


def saved_latents_that_are_no_good_begin_anew(_):
    said = []
    it = drawer(said=said)
    run = it.begin(task(7, 21), None, None)
    it.advance([run], 3, lambda: True)
    saved = run.save()
    run.close()
    for bad in (saved[:-1], b"", saved[:40], bytearray(saved[:-9]) + b"x" * 9):
        equal(it.begin(task(7, 21), None, bytes(bad)).steps, 0)
    equal(it.begin(task(8, 21), None, saved).steps, 0)  # of another task
    equal(it.begin(task(7, 21, prompt="x"), None, saved).steps, 0)
    equal(len(said), 6)
    assert all("begins anew" in text for text in said), said
    assert latents.unpack(latents.key_of("tiny", task(7, 21), pipeline.VERSIONS), saved)["done"] == 3


def a_picture_can_be_begun_from(_):
    file = io.BytesIO()
    Image.fromarray((np.random.default_rng(1).random((48, 48, 3)) * 255).astype(np.uint8)).save(file, format="PNG")
    it = drawer()
    run = it.begin(task(1, 5, strength=0.5), file.getvalue(), None)
    it.advance([run], 2, lambda: True)
    equal((run.steps, run.calls_done, run.calls_total), (2, 1, 4))  # of the 8 steps half are done, and count double
    png = draw(it, run)[0]
    equal(pixels(png).shape, (32, 32, 3))
    assert it.begin(task(2, 5), None, None) and draw(it, it.begin(task(2, 5), None, None))[0] != png


def what_is_wrong_with_a_task_is_only_its_own(_):
    it = drawer()
    bad, good = it.begin(task(1, 5, scheduler="seeds"), None, None), it.begin(task(2, 5), None, None)
    odd = it.begin(task(3, 5, width=33), None, None)
    while good.state in ("new", "running"):
        it.advance([run for run in (bad, good, odd) if run.state in ("new", "running")], 3, lambda: True)
    equal((bad.state, bad.why), ("broken", "diffusers has no scheduler for the solver 'seeds'"))
    assert odd.state == "broken" and "divisible by 8" in odd.why, odd.why
    equal(good.state, "drawn")
    forward = it._forwards[id(it.pipe.unet)]
    it._forwards[id(it.pipe.unet)] = lambda sample, *args, **kwargs: forward(sample, *args, **kwargs) if sample.shape[0] <= 2 else fail()

    def fail():
        raise torch.OutOfMemoryError("no memory")
    runs = [it.begin(task(i, i), None, None) for i in range(2)]
    while any(run.state in ("new", "running") for run in runs):
        it.advance(runs, 3, lambda: True)
    equal([(run.state, run.cap) for run in runs], [("drawn", 1)] * 2)


def previews_show_what_is_there(_):
    it = drawer()
    run = it.begin(task(1, 5), None, None)
    it.advance([run], 4, lambda: True)
    equal(run.preview(), None)  # not yet
    run._preview_at = 0
    equal(pixels(run.preview()).shape, (32, 32, 3))
    equal(run.preview(), None)
    run.close()
    equal(run.turn.ended, True)


def a_pipeline_that_tells_of_no_steps_is_interleaved_too(_):
    it = drawer(tiny_pipeline.unconditional())
    runs = [it.begin({"id": i, "seed": i, "parameters": {"prompt": "", "steps": 5}}, None, None) for i in range(2)]
    it.advance(runs, 2, lambda: True)
    equal([(run.state, run.steps, run.save()) for run in runs], [("running", 2, None)] * 2)
    for run in runs:
        draw(it, run)
    assert it.batches[2] >= 2, it.batches


def names_of_solvers_are_understood(_):
    import diffusers
    current = PIPE.scheduler
    for name, schedule, kind, flag in (("dpmpp_2m", "karras", "DPMSolverMultistepScheduler", "use_karras_sigmas"), ("Euler a", None, "EulerAncestralDiscreteScheduler", None),
                                       ("Euler Exponential", None, "EulerDiscreteScheduler", "use_exponential_sigmas"), (None, None, "EulerDiscreteScheduler", None)):
        made = solvers.scheduler_for(current, name, schedule, SAMPLERS, diffusers)
        equal((type(made).__name__, made is current, flag is None or made.config[flag]), (kind, False, True))
    raises(UnsupportedError, solvers.scheduler_for, current, "ddim", "karras", SAMPLERS, diffusers)
    raises(UnsupportedError, solvers.scheduler_for, current, "euler", "gits", SAMPLERS, diffusers)
    raises(ValueError, solvers.scheduler_for, current, "nosuch", None, SAMPLERS, diffusers)


class Nothing:
    def close(self):
        pass

    def said(self):
        return ""


run_with(lambda test: Nothing(), a_task_gets_what_the_pipeline_draws, several_are_computed_together_at_different_steps,
         n_pictures_have_seeds_one_after_the_other, saved_latents_give_the_same_bytes, saved_latents_that_are_no_good_begin_anew,
         a_picture_can_be_begun_from, what_is_wrong_with_a_task_is_only_its_own, previews_show_what_is_there,
         a_pipeline_that_tells_of_no_steps_is_interleaved_too, names_of_solvers_are_understood)
