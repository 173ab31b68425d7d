"""strata.diffusers beside diffusers itself: the same timesteps and pictures within rounding, in real pipelines with random weights, by one
object in many threads."""
import gc
import inspect
import json
import os
import pickle
import statistics
import sys
import tempfile
import threading
import time

import package

package.enter_torch()
import diffusers  # noqa: E402
import torch  # noqa: E402

diffusers.utils.logging.set_verbosity(50)
import tiny  # noqa: E402
import strata  # noqa: E402
from strata.diffusers import Scheduler  # noqa: E402

torch.set_num_threads(1)
# Every scheduler of diffusers that there is a table for and that can be made here (others need scipy or torchsde).
CLASSES = (*tiny.KARRAS, "CMStochasticIterativeScheduler", "CogVideoXDDIMScheduler", "DDIMInverseScheduler", "DPMSolverMultistepInverseScheduler",
           "EDMDPMSolverMultistepScheduler", "EDMEulerScheduler", "FlowMatchEulerDiscreteScheduler", "FlowMatchHeunDiscreteScheduler",
           "FlowMatchLCMScheduler", "LTXEulerAncestralRFScheduler")
# Configurations that change what a row does.
VARIANTS = (("DDIMScheduler", {"thresholding": True, "clip_sample": False}), ("DDIMScheduler", {"prediction_type": "v_prediction", "timestep_spacing": "trailing",
            "rescale_betas_zero_snr": True}), ("EulerDiscreteScheduler", {"use_karras_sigmas": True}), ("UniPCMultistepScheduler", {"solver_order": 3}),
            ("DPMSolverMultistepScheduler", {"algorithm_type": "sde-dpmsolver++", "use_karras_sigmas": True}),
            ("DPMSolverMultistepScheduler", {"solver_order": 3, "thresholding": True}), ("PNDMScheduler", {"skip_prk_steps": True}),
            ("FlowMatchEulerDiscreteScheduler", {"shift": 3.0}))


def model(x, t):
    return torch.tanh(x) * 0.9 + float(t) / 5000


def drawn(scheduler, original, steps=7, dtype=torch.float32, start=0, **words):
    """A batch by scheduler, as a pipeline would draw it."""
    scheduler.set_timesteps(steps)
    noise = torch.randn(2, 4, 8, 8, generator=torch.Generator().manual_seed(1)).to(dtype)
    timesteps = scheduler.timesteps[start:]
    if start:
        if hasattr(scheduler, "set_begin_index"):
            scheduler.set_begin_index(start)
        x = scheduler.add_noise(torch.ones_like(noise), noise, timesteps[:1].repeat(2))
    else:
        x = noise * getattr(scheduler, "init_noise_sigma", 1.0)
    if "generator" in inspect.signature(original.step).parameters:
        words["generator"] = torch.Generator().manual_seed(0)
    for t in timesteps:
        given = scheduler.scale_model_input(x, t) if hasattr(original, "scale_model_input") else x
        x = scheduler.step(model(given, t), t, x, return_dict=False, **words)[0]
    return timesteps.clone(), x


def far(a, b):
    return float((a.double() - b.double()).abs().max() / max(1.0, float(a.double().abs().max())))


def every_scheduler_steps_as_diffusers_does():
    worst = 0.0
    for name, changes in (*((name, {}) for name in CLASSES), *VARIANTS):
        original = getattr(diffusers, name)(**changes)
        ours = Scheduler.from_scheduler(original)
        (times, x), (our_times, y) = drawn(original, original), drawn(ours, original)
        assert our_times.dtype == times.dtype and our_times.shape == times.shape, (name, times, our_times)
        assert torch.allclose(our_times.double(), times.double(), rtol=1e-5, atol=1e-3), (name, times, our_times)
        assert ours.order == original.order and len(ours) == len(original)
        assert far(x, y) < 1e-5, (name, changes, far(x, y))
        worst = max(worst, far(x, y))
    return f"{len(CLASSES) + len(VARIANTS)} schedulers, largest difference {worst:.1e} of the largest value"


def arguments_of_step_count():
    for name, words in (("DDIMScheduler", {"eta": 0.7}), ("EulerDiscreteScheduler", {"s_churn": 2.0}), ("TCDScheduler", {"eta": 0.1}),
                        ("DDIMScheduler", {"eta": 0.0, "use_clipped_model_output": True})):
        original = getattr(diffusers, name)()
        x, y = drawn(original, original, **words)[1], drawn(Scheduler.from_scheduler(original), original, **words)[1]
        assert far(x, y) < 1e-5, (name, words, far(x, y))


def what_else_a_step_returns_is_there():
    for name in ("DDIMScheduler", "EulerDiscreteScheduler", "LCMScheduler", "HeunDiscreteScheduler"):
        original = getattr(diffusers, name)()
        outputs = []
        for scheduler in (original, Scheduler.from_scheduler(original)):
            scheduler.set_timesteps(4)
            t, x = scheduler.timesteps[0], torch.ones(1, 4, 8, 8)
            words = {"generator": torch.Generator().manual_seed(0)} if name != "HeunDiscreteScheduler" else {}
            outputs.append(scheduler.step(model(scheduler.scale_model_input(x, t), t), t, x, **words))
        field = "denoised" if name == "LCMScheduler" else "pred_original_sample"
        assert far(getattr(outputs[0], field), getattr(outputs[1], field)) < 1e-5, name
        assert far(outputs[0].prev_sample, outputs[1][0]) < 1e-5, name


def image_to_image_begins_in_the_middle():
    for name in tiny.KARRAS:
        if name == "IPNDMScheduler":
            continue  # which has no add_noise
        original = original_of("", name)
        start = 3 * original.order
        x, y = drawn(original, original, start=start)[1], drawn(Scheduler.from_scheduler(original), original, start=start)[1]
        assert far(x, y) < 1e-5, (name, far(x, y))


def half_precision_is_no_farther_off_than_diffusers():
    for name in ("DDIMScheduler", "DPMSolverMultistepScheduler", "UniPCMultistepScheduler", "EulerDiscreteScheduler"):
        original = getattr(diffusers, name)()
        exact = drawn(original, original)[1]
        for dtype in (torch.bfloat16, torch.float16):
            theirs, ours = drawn(original, original, dtype=dtype)[1], drawn(Scheduler.from_scheduler(original), original, dtype=dtype)[1]
            assert ours.dtype == theirs.dtype == dtype
            assert far(exact, ours) < 2 * far(exact, theirs) + 1e-3, (name, dtype, far(exact, ours), far(exact, theirs))


def latents(pipe, words, name, steps=8, seed=7):
    pipe.set_progress_bar_config(disable=True)
    kind = "np" if name in ("DDPM", "DDIM", "DiT") else "latent"
    return torch.as_tensor(pipe(**words, num_inference_steps=steps, generator=torch.Generator().manual_seed(seed), output_type=kind).images)


def original_of(name, kind):
    changes = {"DDIMScheduler": {"clip_sample": False}, "DDPMScheduler": {"clip_sample": False}, "PNDMScheduler": {"skip_prk_steps": True}}.get(kind, {})
    return getattr(diffusers, kind)(**({"use_dynamic_shifting": True} if "Flux" in name else changes))


def every_pipeline_draws_the_same_picture():
    worst, count, pipelines = 0.0, 0, set()
    for name, (make, kinds) in tiny.PIPELINES.items():
        for kind in kinds:
            if kind == "IPNDMScheduler" and ("Img2Img" in name or "Inpaint" in name):
                continue  # which has no add_noise
            pipe, words = make(original_of(name, kind))
            before = latents(pipe, words, name)
            pipe.scheduler = Scheduler.from_config(pipe.scheduler.config, name=kind)
            after = latents(pipe, words, name)
            assert before.shape == after.shape and far(before, after) < 1e-4, (name, kind, far(before, after))
            worst, count = max(worst, far(before, after)), count + 1
            pipelines.add(name)
    assert count > 100 and len(pipelines) >= 20, (count, len(pipelines))
    return f"{count} pairs of {len(pipelines)} pipelines and their schedulers, largest difference {worst:.1e} of the largest value"


def one_object_serves_many_threads():
    """What diffusers' own cannot: four pipelines in four threads, of unlike lengths, with one scheduler."""
    shared = Scheduler.from_config(diffusers.DPMSolverMultistepScheduler().config, name="DPMSolverMultistepScheduler")
    jobs = [("StableDiffusion", 5, 1), ("StableDiffusionImg2Img", 9, 2), ("StableDiffusion", 12, 3), ("StableDiffusionXL", 7, 4)]
    expected, drawn_together = [], [None] * len(jobs)
    pipes = [tiny.PIPELINES[name][0](diffusers.DPMSolverMultistepScheduler()) for name, _, _ in jobs]
    for (name, steps, seed), (pipe, words) in zip(jobs, pipes):
        expected.append(latents(pipe, words, name, steps, seed))
        pipe.scheduler = shared

    def draw(k):
        name, steps, seed = jobs[k]
        for _ in range(3):
            drawn_together[k] = latents(*pipes[k], name, steps, seed)
            assert far(expected[k], drawn_together[k]) < 1e-4
    threads = [threading.Thread(target=draw, args=(k,)) for k in range(len(jobs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for want, got in zip(expected, drawn_together):
        assert got is not None and far(want, got) < 1e-4


def pictures_by_turns_do_not_disturb_each_other():
    for inference in (False, True):
        with torch.inference_mode(inference):
            original = diffusers.UniPCMultistepScheduler()
            shared = Scheduler.from_scheduler(original)
            runs = []
            for steps in (6, 9):
                shared.set_timesteps(steps)
                runs.append([iter(shared.timesteps), torch.ones(1, 4, 8, 8) * steps])
            going = list(runs)
            while going:
                for run in list(going):
                    t = next(run[0], None)
                    if t is None:
                        going.remove(run)
                        continue
                    run[1] = shared.step(model(run[1], t), t, run[1]).prev_sample
            for (_, x), steps in zip(runs, (6, 9)):
                alone = _alone(diffusers.UniPCMultistepScheduler(), steps)
                assert far(alone, x) < 1e-5, (steps, inference)


def _alone(scheduler, steps):
    scheduler.set_timesteps(steps)
    x = torch.ones(1, 4, 8, 8) * steps
    for t in scheduler.timesteps:
        x = scheduler.step(model(x, t), t, x).prev_sample
    return x


def a_timestep_may_be_a_number():
    original = diffusers.DPMSolverMultistepScheduler()
    ours, results = Scheduler.from_scheduler(original), []
    for scheduler in (original, ours):
        scheduler.set_timesteps(5)
        x = torch.ones(1, 4, 8, 8)
        for t in scheduler.timesteps.tolist():
            x = scheduler.step(model(x, t), t, x).prev_sample
        results.append(x)
    assert far(*results) < 1e-5
    try:
        ours.step(x, 123456, x)
    except strata.Error as wrong:
        assert "there is no timestep 123456" in str(wrong)
    else:
        raise AssertionError("it was taken")


def what_was_left_half_way_is_forgotten():
    ours = Scheduler.from_scheduler(diffusers.UniPCMultistepScheduler())
    for _ in range(50):
        ours.set_timesteps(5)
        t, x = ours.timesteps[0], torch.ones(1, 4, 8, 8)
        ours.step(x, t, x)
    del t
    gc.collect()
    assert len(ours._on_cpu) == 1, len(ours._on_cpu)


def it_is_what_it_stands_for():
    original = diffusers.EulerDiscreteScheduler(use_karras_sigmas=True)
    ours = Scheduler.from_scheduler(original)
    assert isinstance(ours, diffusers.EulerDiscreteScheduler) and isinstance(ours, Scheduler)
    assert torch.equal(ours.alphas_cumprod, original.alphas_cumprod) and ours.config.use_karras_sigmas
    for other in (pickle.loads(pickle.dumps(ours)), __import__("copy").deepcopy(ours), Scheduler.from_config(ours.config, name="EulerDiscreteScheduler"),
                  Scheduler.from_config(dict(original.config))):
        assert type(other) is Scheduler and dict(other.config) == dict(ours.config)
    noise, clean, times = torch.randn(2, 4, 8, 8), torch.ones(2, 4, 8, 8), torch.tensor([10, 500])
    trained = diffusers.DDPMScheduler()
    assert torch.equal(Scheduler.from_scheduler(trained).add_noise(clean, noise, times), trained.add_noise(clean, noise, times))
    with tempfile.TemporaryDirectory() as folder:
        ours.save_pretrained(folder)
        with open(os.path.join(folder, "scheduler_config.json"), encoding="utf-8") as file:
            assert json.load(file)["_class_name"] == "EulerDiscreteScheduler"
        assert Scheduler.from_pretrained(folder).config.use_karras_sigmas
        assert diffusers.EulerDiscreteScheduler.from_pretrained(folder).config.use_karras_sigmas


def samplers_have_the_names_that_users_know():
    config = dict(diffusers.EulerDiscreteScheduler(beta_schedule="scaled_linear").config)
    for name, kind, settings in (("Euler a", "EulerAncestralDiscreteScheduler", {}), ("DPM++ 2M Karras", "DPMSolverMultistepScheduler", {"use_karras_sigmas": True}),
                                 ("dpm++ 2m sde exponential", "DPMSolverMultistepScheduler", {"algorithm_type": "sde-dpmsolver++", "use_exponential_sigmas": True}),
                                 ("UniPC", "UniPCMultistepScheduler", {}), ("LMS Karras", "LMSDiscreteScheduler", {"use_karras_sigmas": True}),
                                 ("DDIMScheduler", "DDIMScheduler", {})):
        ours = Scheduler.from_config({"_class_name": "EulerDiscreteScheduler", **config}, name=name)
        assert ours.__class__.__name__ == kind and repr(ours).startswith(f"strata.diffusers.Scheduler as {kind} {{"), ours
        assert {key: ours.config[key] for key in settings} == settings and ours.config.beta_schedule == "scaled_linear", ours
    assert isinstance(Scheduler.from_config(diffusers.DDIMScheduler().config), diffusers.DDIMScheduler)  # not the class with batches, which steps the same
    import doctest
    assert doctest.testmod(strata.diffusers).failed == 0


def a_pipeline_that_was_saved_is_loaded_by_diffusers():
    pipe, words = tiny.dit(diffusers.DDIMScheduler())
    pipe.scheduler = Scheduler.from_config(pipe.scheduler.config, name="DPM++ 2M Karras")
    with tempfile.TemporaryDirectory() as folder:
        pipe.save_pretrained(folder)
        again = diffusers.DiTPipeline.from_pretrained(folder)
    assert type(again.scheduler) is diffusers.DPMSolverMultistepScheduler and again.scheduler.config.use_karras_sigmas, again.scheduler


def what_there_is_no_table_for_is_refused():
    for make, sentence in ((lambda: Scheduler.from_scheduler(diffusers.UnCLIPScheduler()), "there is no table for UnCLIPScheduler of diffusers"),
                           (lambda: Scheduler.from_config({"x": 1}), "names no class"), (lambda: Scheduler.from_config(None), "no configuration"),
                           (lambda: Scheduler.from_config({"_class_name": "Nothing"}), "names 'Nothing'"),
                           (lambda: Scheduler.from_config({}, name="Nothing"), "there is no scheduler 'Nothing'; `strata classes solver` lists them; expected"),
                           (lambda: Scheduler.from_config({}, name="Eular a"), "there is no scheduler 'Eular a'; did you mean 'euler_ancestral'?"),
                           (lambda: Scheduler.from_config({}, name="DDIM Karras"), "DDIMScheduler of diffusers has no use_karras_sigmas"),
                           (lambda: Scheduler.from_config({}, name="DPM fast"), "strata.solver.Solver('DPM fast'")):
        try:
            make()
        except strata.Error as wrong:
            assert sentence in str(wrong), wrong
        else:
            raise AssertionError(sentence)


def tensors_that_do_not_fit_are_refused():
    """The kernel goes by addresses: what is smaller than the sample would be read beyond its end, what is larger in part."""
    x = torch.ones(2, 4, 8, 8)
    for name, words, sentence in (
            ("EulerDiscreteScheduler", {"model_output": x[:1]}, "the output has the shape (1, 4, 8, 8); expected (2, 4, 8, 8)"),
            ("DDPMScheduler", {"model_output": torch.ones(2, 8, 8, 8)}, "the output has the shape (2, 8, 8, 8)"),
            ("EulerDiscreteScheduler", {"model_output": x.to("meta")}, "the output is torch.strided on meta"),
            ("EulerDiscreteScheduler", {"model_output": None}, "the output is a NoneType; expected a tensor"),
            ("EulerDiscreteScheduler", {"sample": None}, "the sample is a NoneType; expected a tensor"),
            ("DDIMScheduler", {"eta": 1.0, "variance_noise": x[:1]}, "the noise has the shape (1, 4, 8, 8)")):
        ours = Scheduler.from_scheduler(getattr(diffusers, name)())
        ours.set_timesteps(5)
        try:
            ours.step(**{"model_output": x, "timestep": ours.timesteps[0], "sample": x, **words})
        except (TypeError, ValueError) as wrong:
            assert sentence in str(wrong), wrong
        else:
            raise AssertionError(sentence)


def a_configuration_that_is_changed_counts():
    """Pipelines change the configuration of a scheduler that they are made with (steps_offset, clip_sample)."""
    found = []
    for scheduler in (diffusers.DDIMScheduler(), Scheduler.from_scheduler(diffusers.DDIMScheduler())):
        scheduler.register_to_config(steps_offset=1, clip_sample=False)
        found.append(drawn(scheduler, diffusers.DDIMScheduler()))
    assert torch.equal(found[0][0], found[1][0]) and far(found[0][1], found[1][1]) < 1e-5, found


def options_of_step_may_change_on_the_way():
    found = []
    for scheduler in (diffusers.DDIMScheduler(), Scheduler.from_scheduler(diffusers.DDIMScheduler())):
        scheduler.set_timesteps(4)
        x, generator = torch.ones(1, 4, 8, 8), torch.Generator().manual_seed(1)
        for k, t in enumerate(scheduler.timesteps):
            x = scheduler.step(model(x, t), t, x, eta=k / 4, generator=generator).prev_sample
        found.append(x)
    assert far(*found) < 1e-5, far(*found)


def configurations_of_a_wrong_kind_are_refused():
    ddim = {"_class_name": "DDIMScheduler"}
    for make, sentence in ((lambda: Scheduler.from_config(5), "the configuration is a int; expected"), (lambda: Scheduler.from_config("x"), "is a str"),
                           (lambda: Scheduler.from_config({"_class_name": 5}), "names 5, and diffusers has no such scheduler"),
                           (lambda: Scheduler.from_config({"_class_name": "StableDiffusionPipeline"}), "has no such scheduler"),
                           (lambda: Scheduler.from_config(ddim, "utils"), "there is no scheduler 'utils'"),
                           (lambda: Scheduler.from_config({**ddim, "beta_end": float("nan")}).set_timesteps(5), "beta_end is NaN; expected a number"),
                           (lambda: Scheduler.from_config(ddim).set_timesteps(1.5), "steps is 1.5; expected a whole number")):
        try:
            make()
        except strata.Error as wrong:
            assert sentence in str(wrong), wrong
        else:
            raise AssertionError(sentence)
    Scheduler.from_config({**ddim, "of_nobody": object()}).set_timesteps(5)


def gradients_go_through_the_steps():
    """Those who train through a sampler have a first sample without a gradient, and outputs with one."""
    for name in ("EulerDiscreteScheduler", "DPMSolverMultistepScheduler", "UniPCMultistepScheduler"):
        original, found = getattr(diffusers, name)(), []
        for scheduler in (original, Scheduler.from_scheduler(original)):
            weight = torch.tensor(0.5, requires_grad=True)
            scheduler.set_timesteps(4)
            x = torch.randn(2, 4, 8, 8, generator=torch.Generator().manual_seed(1)).to(memory_format=torch.channels_last) * scheduler.init_noise_sigma
            for k, t in enumerate(scheduler.timesteps):
                with torch.set_grad_enabled(k > 0):
                    x = scheduler.step(torch.tanh(scheduler.scale_model_input(x, t)) * weight, t, x).prev_sample
            x.square().sum().backward()
            found.append((x.detach(), weight.grad))
        assert far(found[0][0], found[1][0]) < 1e-5 and far(found[0][1], found[1][1]) < 1e-5, (name, found[0][1], found[1][1])


def step_times():
    """No test: what a step costs beside diffusers' own, in processor time."""
    lines, ratios = [], []
    for name in ("DDIMScheduler", "EulerDiscreteScheduler", "DPMSolverMultistepScheduler", "DEISMultistepScheduler", "UniPCMultistepScheduler"):
        original, costs = getattr(diffusers, name)(), []
        x0, m = torch.randn(1, 4, 64, 64), torch.randn(1, 4, 64, 64)
        for scheduler in (original, Scheduler.from_scheduler(original)):
            best = 1e9
            for _ in range(5):
                scheduler.set_timesteps(30)
                x, timesteps = x0, scheduler.timesteps
                if scheduler is original and hasattr(original, "is_scale_input_called"):
                    original.is_scale_input_called = True
                began = time.process_time()
                for t in timesteps:
                    x = scheduler.step(m, t, x, return_dict=False)[0]
                best = min(best, (time.process_time() - began) / len(timesteps) * 1e6)
            costs.append(best)
        ratios.append(costs[0] / costs[1])
        lines.append(f"{name}: {costs[0]:.0f} us, here {costs[1]:.1f} us, {ratios[-1]:.1f} times")
    lines.append(f"{statistics.geometric_mean(ratios):.1f} times in the geometric mean")
    return "\n".join(lines)


package.run(every_scheduler_steps_as_diffusers_does, arguments_of_step_count, what_else_a_step_returns_is_there, image_to_image_begins_in_the_middle,
            half_precision_is_no_farther_off_than_diffusers, every_pipeline_draws_the_same_picture, one_object_serves_many_threads,
            pictures_by_turns_do_not_disturb_each_other, a_timestep_may_be_a_number, what_was_left_half_way_is_forgotten, it_is_what_it_stands_for,
            samplers_have_the_names_that_users_know, a_pipeline_that_was_saved_is_loaded_by_diffusers, what_there_is_no_table_for_is_refused, tensors_that_do_not_fit_are_refused,
            a_configuration_that_is_changed_counts, options_of_step_may_change_on_the_way, configurations_of_a_wrong_kind_are_refused,
            gradients_go_through_the_steps, *([step_times] if "--times" in sys.argv else []))
