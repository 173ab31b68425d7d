"""Settings that once differed from diffusers, one of each sort, and what diffusers refuses: the same now, and every time."""
import os
import sys

sys.path[:0] = [os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "python", "tests")]
import package  # noqa: E402

package.enter_torch()
package.enter("diffusers", "scipy", "torchsde")
import warnings  # noqa: E402

warnings.simplefilter("ignore")
import diffusers  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402

diffusers.utils.logging.set_verbosity(50)
np.seterr(all="ignore")
torch.set_num_threads(1)
from compare import compare  # noqa: E402
from settings import BY_INDEX, Setting  # noqa: E402
from strata.diffusers import Scheduler  # noqa: E402

ZERO = {"rescale_betas_zero_snr": True, "prediction_type": "v_prediction", "timestep_spacing": "trailing"}
FLOW = {"use_flow_sigmas": True, "prediction_type": "flow_prediction"}


def all_are(said, *settings):
    wrong = [f"{compare(setting)}: {setting}" for setting in settings if compare(setting) != said]
    assert not wrong, "\n".join(wrong)
    return f"{len(settings)} settings"


def timesteps_of_flows_are_cut_off_where_diffusers_cuts_them():
    return all_are("same", *(Setting(name, {**FLOW, "flow_shift": shift}, steps=steps) for shift in (1.0, 3.0, 7.5) for steps in (3, 7, 20)
                             for name in ("DEISMultistepScheduler", "DPMSolverMultistepScheduler", "DPMSolverSinglestepScheduler",
                                          "SASolverScheduler", "UniPCMultistepScheduler")))


def zero_terminal_snr_is_the_same():
    return all_are("same", *(Setting(name, {**ZERO, **more}, steps=steps) for steps in (4, 11) for name, more in (
        ("EulerDiscreteScheduler", {}), ("EulerAncestralDiscreteScheduler", {}), ("DPMSolverMultistepScheduler", {}), ("UniPCMultistepScheduler", {}),
        ("EulerDiscreteScheduler", {"use_beta_sigmas": True}), ("EulerDiscreteScheduler", {"use_karras_sigmas": True}),
        ("DPMSolverMultistepScheduler", {"use_beta_sigmas": True}), ("DDIMScheduler", {}), ("DDPMScheduler", {}), ("TCDScheduler", {}),
        ("LCMScheduler", {"prediction_type": "epsilon", "clip_sample": True}))))


def runge_kutta_starts_of_pndm_are_the_same():
    return all_are("same", *(Setting("PNDMScheduler", {"timestep_spacing": spacing}, steps=steps, strength=strength)
                             for spacing in ("linspace", "leading", "trailing") for steps in (8, 11) for strength in (None, 0.7)),
                   Setting("PNDMScheduler", {"skip_prk_steps": True}, steps=9, strength=0.6))


def the_steps_of_a_distillation_may_be_said_at_run_time():
    return all_are("same", *(Setting(name, steps=4, asked=asked) for name in ("LCMScheduler", "TCDScheduler") for asked in (
        {"original_inference_steps": 37}, {"original_inference_steps": 100, "strength": 0.6}, {"strength": 0.43})))


def levels_near_the_least_are_within_tolerance():
    return all_are("same", *(Setting("EDMDPMSolverMultistepScheduler", {"algorithm_type": "sde-dpmsolver++", "final_sigmas_type": final}, steps=steps)
                             for final in ("zero", "sigma_min") for steps in (1, 5, 20)),
                   *(Setting("CosineDPMSolverMultistepScheduler", {"final_sigmas_type": "sigma_min"}, steps=steps) for steps in (1, 9)))


def what_else_once_differed():
    return all_are(
        "same", Setting("LMSDiscreteScheduler", steps=6, words={"order": 2}), Setting("LTXEulerAncestralRFScheduler", sigmas=[0.9, 0.4503]),
        Setting("EulerDiscreteScheduler", sigmas=[14.0, 3.0, 0.5]), Setting("FlowMatchEulerDiscreteScheduler", {"shift": 11.9}, timesteps=[731.0, 73.0]),
        Setting("EulerDiscreteScheduler", {"prediction_type": "v_prediction"}, steps=5, words={"s_churn": 14.231}),
        Setting("EulerDiscreteScheduler", {"interpolation_type": "log_linear"}, steps=5, words={"s_churn": 1.5}),
        Setting("EulerDiscreteScheduler", {"interpolation_type": "log_linear", "use_beta_sigmas": True}, steps=5),
        Setting("DEISMultistepScheduler", {"prediction_type": "flow_prediction"}, steps=5), Setting("CMStochasticIterativeScheduler", timesteps=[24, 3, 0]),
        Setting("SASolverScheduler", {"use_flow_sigmas": True, "prediction_type": "v_prediction"}, steps=6, strength=0.7),
        Setting("SASolverScheduler", {"lambda_min_clipped": -3.0}, steps=6), Setting("HeunDiscreteScheduler", {"beta_schedule": "exp"}, steps=5),
        Setting("DDPMScheduler", {"beta_schedule": "laplace"}, steps=5),
        Setting("DPMSolverMultistepScheduler", {"use_karras_sigmas": True, "beta_schedule": "squaredcos_cap_v2"}, steps=9),
        Setting("DPMSolverSinglestepScheduler", {"final_sigmas_type": "sigma_min"}, steps=10),
        Setting("UniPCMultistepScheduler", {"use_flow_sigmas": True, "use_karras_sigmas": True, "prediction_type": "flow_prediction"}, steps=7),
        Setting("CogVideoXDDIMScheduler", {"timestep_spacing": "trailing", "rescale_betas_zero_snr": True}, steps=4, strength=0.76),
        Setting("PNDMScheduler", {"skip_prk_steps": True, "steps_offset": 1}, steps=4, strength=0.148),
        Setting("CosineDPMSolverMultistepScheduler", {"solver_order": 3, "euler_at_final": True}, steps=3),
        Setting("TCDScheduler", {"num_train_timesteps": 100, "beta_schedule": "laplace", "trained_betas": [0.001 + k / 5000 for k in range(100)]}, steps=4),
        Setting("UniPCMultistepScheduler", {"lower_order_final": False}, steps=3, strength=0.34))


def brownian_trees_are_the_same():
    return all_are("same", *(Setting("DPMSolverSDEScheduler", {"noise_sampler_seed": seed, "use_karras_sigmas": karras}, steps=6) for seed in (0, 42, 2**40 + 5)
                             for karras in (False, True)), *(Setting("CosineDPMSolverMultistepScheduler", steps=steps) for steps in (3, 8)))


def what_diffusers_has_no_number_for_is_refused():
    return all_are(
        "refused", Setting("DDPMScheduler", {"variance_type": "fixed_large_log"}, steps=5), Setting("UniPCMultistepScheduler", {"solver_type": "bh1"}, steps=5),
        Setting("UniPCMultistepScheduler", {"predict_x0": False}, steps=5), Setting("PNDMScheduler", {"prediction_type": "sample"}, steps=5),
        Setting("PNDMScheduler", steps=3), Setting("DPMSolverMultistepScheduler", {"algorithm_type": "dpmsolver"}, steps=5),
        Setting("DDIMScheduler", {"rescale_betas_zero_snr": True, "timestep_spacing": "trailing", "clip_sample": False}, steps=5),
        Setting("EulerAncestralDiscreteScheduler", {"beta_schedule": "sigmoid"}, steps=5), Setting("DDIMScheduler", {"num_train_timesteps": 100}, steps=101),
        Setting("EDMDPMSolverMultistepScheduler", {"algorithm_type": "sde-dpmsolver++", "solver_order": 3}, steps=20),
        Setting("DPMSolverMultistepScheduler", {"use_beta_sigmas": True}, timesteps=[947, 3]))


def half_precision_draws_the_same_noise():
    for name, config, words in (("DPMSolverMultistepScheduler", {"algorithm_type": "sde-dpmsolver++"}, {}), ("EulerAncestralDiscreteScheduler", {}, {}),
                                ("FlowMatchEulerDiscreteScheduler", {"stochastic_sampling": True}, {}), ("FlowMatchLCMScheduler", {}, {}),
                                ("LTXEulerAncestralRFScheduler", {}, {}), ("TCDScheduler", {}, {"eta": 0.7}), ("LCMScheduler", {}, {})):
        original, ends = getattr(diffusers, name)(**config), []
        for scheduler in (original, Scheduler.from_scheduler(original)):
            scheduler.set_timesteps(4)
            generator = torch.Generator().manual_seed(3)
            x = torch.randn(1, 4, 8, 8, generator=generator).to(torch.float16) * float(getattr(scheduler, "init_noise_sigma", 1.0))
            x = x.to(torch.float16)
            for t in scheduler.timesteps[:-1]:
                given = scheduler.scale_model_input(x, t) if hasattr(original, "scale_model_input") else x
                x = scheduler.step(torch.tanh(given), t, x, generator=generator, return_dict=False, **words)[0].to(torch.float16)
            ends.append(x.float())
        apart = float((ends[0] - ends[1]).abs().max() / ends[0].abs().max())
        assert apart < 0.02, (name, apart)


def halves_of_trailing_steps_are_rounded_as_numpy_counts():
    return all_are("same", Setting("DPMSolverMultistepScheduler", {"num_train_timesteps": 500, "timestep_spacing": "trailing"}, steps=24),
                   Setting("EulerDiscreteScheduler", {"timestep_spacing": "trailing"}, steps=48),
                   Setting("DPMSolverSDEScheduler", {"num_train_timesteps": 100, "noise_sampler_seed": 42, "timestep_spacing": "trailing"}, steps=24),
                   Setting("SASolverScheduler", {"num_train_timesteps": 999, "timestep_spacing": "trailing"}, steps=20))


def a_strength_counts_the_steps_that_were_asked_for():
    return all_are("same", Setting("DPMSolverMultistepScheduler", {"lambda_min_clipped": -5.0, "timestep_spacing": "trailing", "rescale_betas_zero_snr": True},
                                   steps=15, strength=0.654))


def none_left_is_none_left():
    return all_are("refused", Setting("DPMSolverMultistepScheduler", {"lambda_min_clipped": -2.1, "timestep_spacing": "trailing"}, steps=16, strength=0.092))


ON_LEVELS = tuple(name + "Scheduler" for name in (
    "DEISMultistep", "DPMSolverMultistep", "DPMSolverMultistepInverse", "DPMSolverSDE", "EulerAncestralDiscrete", "EulerDiscrete", "HeunDiscrete",
    "KDPM2AncestralDiscrete", "KDPM2Discrete", "LMSDiscrete", "SASolver", "UniPCMultistep"))


def steps_that_numpy_counts_as_one_more_end_at_timestep_minus_one():
    trailing = {"num_train_timesteps": 999, "timestep_spacing": "trailing"}
    return all_are("same", *(Setting(name, {**trailing, **({"noise_sampler_seed": 7} if "SDE" in name else {})}, steps=13) for name in ON_LEVELS),
                   Setting("EulerDiscreteScheduler", {"timestep_spacing": "trailing", "use_karras_sigmas": True}, steps=61),
                   Setting("EulerDiscreteScheduler", {**trailing, "interpolation_type": "log_linear"}, steps=13, words={"s_churn": 2.0}),
                   Setting("DPMSolverMultistepScheduler", trailing, steps=13, strength=0.6))


def timestep_minus_one_is_refused_where_it_is_pure_noise():
    return all_are("refused", *(Setting(name, {"num_train_timesteps": count, "timestep_spacing": "trailing"}, steps=steps)
                                for name in BY_INDEX for count, steps in ((999, 23), (1000, 61))))


def leading_steps_may_begin_after_the_training():
    return all_are("same", *(Setting(name, {"num_train_timesteps": 100, "timestep_spacing": "leading", "steps_offset": 2,
                                            **({"noise_sampler_seed": 7} if "SDE" in name else {})}, steps=50)
                             for name in ON_LEVELS if name != "LMSDiscreteScheduler"),
                   Setting("EulerAncestralDiscreteScheduler", {"num_train_timesteps": 100, "timestep_spacing": "leading", "steps_offset": 2}, steps=100))


def schedules_of_the_training_on_a_flow_are_the_same_below_one():
    flows = ("DEISMultistepScheduler", "DPMSolverMultistepScheduler", "DPMSolverSinglestepScheduler", "SASolverScheduler", "UniPCMultistepScheduler")
    all_are("refused", *(Setting(name, {**FLOW, "use_exponential_sigmas": True}, steps=12) for name in flows))
    return all_are("same", *(Setting(name, {**FLOW, "use_exponential_sigmas": True, "prediction_type": kind}, steps=12, strength=0.4)
                             for name in flows for kind in ("flow_prediction", "epsilon")),
                   Setting("DPMSolverMultistepScheduler", {**FLOW, "use_karras_sigmas": True}, steps=12, strength=0.3),
                   Setting("DPMSolverMultistepScheduler", {**FLOW, "use_lu_lambdas": True}, steps=12, strength=0.3))


def continuous_timesteps_are_as_many_as_levels():
    continuous = {"timestep_type": "continuous", "interpolation_type": "log_linear", "prediction_type": "v_prediction"}
    return all_are("same", Setting("EulerDiscreteScheduler", continuous, steps=6), Setting("EulerDiscreteScheduler", continuous, steps=6, strength=0.5),
                   Setting("EulerDiscreteScheduler", {**continuous, "final_sigmas_type": "sigma_min"}, steps=6, words={"s_churn": 3.0}),
                   Setting("EulerDiscreteScheduler", {**continuous, "use_karras_sigmas": True}, steps=6),
                   Setting("EulerDiscreteScheduler", {**continuous, "timestep_spacing": "trailing"}, steps=61))


def what_was_just_outside_the_tolerance():
    return all_are("same", Setting("DPMSolverMultistepScheduler", {"beta_start": 0.001957, "rescale_betas_zero_snr": True, "use_exponential_sigmas": True}, steps=3),
                   *(Setting("CogVideoXDDIMScheduler", {"timestep_spacing": spacing}, steps=1) for spacing in ("leading", "trailing", "linspace")),
                   Setting("CogVideoXDDIMScheduler", {"set_alpha_to_one": False, "steps_offset": 1, "prediction_type": "sample"}, steps=7, strength=0.941),
                   Setting("DEISMultistepScheduler", {"use_karras_sigmas": True}, steps=250),
                   Setting("SASolverScheduler", {"thresholding": True, "use_karras_sigmas": True}, steps=250),
                   Setting("CosineDPMSolverMultistepScheduler", {"sigma_min": 0.05939, "sigma_max": 177.0, "sigma_schedule": "karras",
                                                                 "final_sigmas_type": "sigma_min"}, steps=5))


def one_step_begins_at_the_first_level_of_its_schedule():
    return all_are("same", *(Setting("EulerDiscreteScheduler", {"sigma_max": 75.4, "timestep_spacing": "trailing", schedule: True}, steps=1)
                             for schedule in ("use_beta_sigmas", "use_karras_sigmas", "use_exponential_sigmas")))


def a_step_of_no_length_after_another_is_refused():
    return all_are("refused", Setting("DPMSolverMultistepInverseScheduler", {"timestep_spacing": "leading", "num_train_timesteps": 100, "steps_offset": 7}, steps=99))


def sizes_are_asked_for_with_any_number_of_steps():
    """A scheduler that shifts by the picture's size is tried with ten steps when it is made: asked for ten it still wants the size."""
    return all_are("refused", *(Setting(name, {"use_dynamic_shifting": True}, steps=steps)
                                for name in ("FlowMatchLCMScheduler", "UniPCMultistepScheduler") for steps in (9, 10)))


def ancestral_steps_go_down():
    """With zero terminal SNR the first level is 4096 whatever the one after it is."""
    return all_are("refused", Setting("EulerAncestralDiscreteScheduler", {"beta_start": 0.0005737, "beta_end": 0.02144, "timestep_spacing": "trailing",
                                                                           "rescale_betas_zero_snr": True}, steps=250))


def a_rounding_is_no_schedule():
    """One step begins and ends at 1, which a shift leaves there but for a rounding; stretched to another end it is that rounding divided by itself."""
    return all_are("refused", *(Setting(name, {"shift": 4.095, "shift_terminal": 0.01514}, steps=1)
                                for name in ("FlowMatchEulerDiscreteScheduler", "FlowMatchLCMScheduler")))


def noise_begins_at_the_highest_level():
    return all_are("same", Setting("EulerDiscreteScheduler", {"num_train_timesteps": 2000, "prediction_type": "v_prediction", "steps_offset": 1,
                                                              "rescale_betas_zero_snr": True}, steps=12))


def a_half_timestep_may_be_rounded_either_way():
    return all_are("same", Setting("KDPM2DiscreteScheduler", {"beta_end": 0.007457, "beta_schedule": "squaredcos_cap_v2", "timestep_spacing": "leading",
                                                              "use_karras_sigmas": True}, steps=9),
                   Setting("DPMSolverMultistepScheduler", {"beta_start": 0.00011, "rescale_betas_zero_snr": True, "use_lu_lambdas": True}, steps=28))


package.run(sizes_are_asked_for_with_any_number_of_steps, ancestral_steps_go_down, noise_begins_at_the_highest_level, a_rounding_is_no_schedule, a_half_timestep_may_be_rounded_either_way,
            steps_that_numpy_counts_as_one_more_end_at_timestep_minus_one, timestep_minus_one_is_refused_where_it_is_pure_noise,
            leading_steps_may_begin_after_the_training, schedules_of_the_training_on_a_flow_are_the_same_below_one,
            continuous_timesteps_are_as_many_as_levels, what_was_just_outside_the_tolerance, one_step_begins_at_the_first_level_of_its_schedule,
            a_step_of_no_length_after_another_is_refused, halves_of_trailing_steps_are_rounded_as_numpy_counts, a_strength_counts_the_steps_that_were_asked_for, none_left_is_none_left,
            timesteps_of_flows_are_cut_off_where_diffusers_cuts_them, zero_terminal_snr_is_the_same, runge_kutta_starts_of_pndm_are_the_same,
            the_steps_of_a_distillation_may_be_said_at_run_time, levels_near_the_least_are_within_tolerance, what_else_once_differed,
            brownian_trees_are_the_same, what_diffusers_has_no_number_for_is_refused, half_precision_draws_the_same_noise)
