"""Settings of diffusers' schedulers, drawn at random: a class, any of its configuration keys within their ranges, a number of steps, a
strength, own timesteps or noise levels, and the arguments of step(). A setting prints as a line of Python that can be pasted.

Most keys keep their default in most settings, so that a difference has few causes; each key is drawn in some. What diffusers refuses is
drawn too: it is to be refused here as well.
"""
import inspect
import math
import random
from typing import Any, NamedTuple, Optional

import diffusers

# Every scheduler of diffusers that there is a table for.
CLASSES = (
    "CMStochasticIterativeScheduler", "CogVideoXDDIMScheduler", "CosineDPMSolverMultistepScheduler", "DDIMInverseScheduler", "DDIMScheduler",
    "DDPMScheduler", "DEISMultistepScheduler", "DPMSolverMultistepInverseScheduler", "DPMSolverMultistepScheduler", "DPMSolverSDEScheduler",
    "DPMSolverSinglestepScheduler", "EDMDPMSolverMultistepScheduler", "EDMEulerScheduler", "EulerAncestralDiscreteScheduler",
    "EulerDiscreteScheduler", "FlowMatchEulerDiscreteScheduler", "FlowMatchHeunDiscreteScheduler", "FlowMatchLCMScheduler",
    "HeunDiscreteScheduler", "IPNDMScheduler", "KDPM2AncestralDiscreteScheduler", "KDPM2DiscreteScheduler", "LCMScheduler",
    "LMSDiscreteScheduler", "LTXEulerAncestralRFScheduler", "PNDMScheduler", "SASolverScheduler", "TCDScheduler", "UniPCMultistepScheduler")
FLOWS = ("FlowMatchEulerDiscreteScheduler", "FlowMatchHeunDiscreteScheduler", "FlowMatchLCMScheduler", "LTXEulerAncestralRFScheduler")
# These find the noise of a timestep by its index.
BY_INDEX = ("CogVideoXDDIMScheduler", "DDIMInverseScheduler", "DDIMScheduler", "DDPMScheduler", "PNDMScheduler")
DISTILLED = ("LCMScheduler", "TCDScheduler")
# These have no way to noise a picture, so there is no image to image.
WITHOUT_STRENGTH = ("IPNDMScheduler", "LTXEulerAncestralRFScheduler", "DDIMInverseScheduler", "DPMSolverMultistepInverseScheduler",
                    "CMStochasticIterativeScheduler", "FlowMatchHeunDiscreteScheduler")
# Keys that no trajectory depends on, that are functions or objects, or whose values need a model with more outputs.
PASSED_OVER = {"self", "kwargs", "tau_func", "solver_p", "scale_factors", "upscale_mode", "base_shift", "max_shift",
               "base_image_seq_len", "max_image_seq_len"}


class Setting(NamedTuple):
    """What is asked of a scheduler. asked are further arguments of set_timesteps(), words those of step()."""

    name: str
    config: dict[str, Any] = {}
    steps: Optional[int] = None
    strength: Optional[float] = None
    timesteps: Optional[list[float]] = None
    sigmas: Optional[list[float]] = None
    mu: Optional[float] = None
    asked: dict[str, Any] = {}
    words: dict[str, Any] = {}

    def __str__(self) -> str:
        said = [repr(self.name)] + [f"{key}={value!r}" for key, value in self._asdict().items() if key != "name" and value not in (None, {})]
        return f"compare(Setting({', '.join(said)}))".replace("=inf", "=float('inf')").replace(": inf", ": float('inf')").replace("-inf", "-float('inf')")

    @property
    def count(self) -> int:
        """Steps of the whole trajectory."""
        if self.steps is not None:
            return self.steps
        if self.timesteps is not None:
            return len(self.timesteps)
        return len(self.sigmas or ()) - (1 if self.name == "EulerDiscreteScheduler" else 0)


def keys_of(name: str) -> dict[str, Any]:
    """The configuration keys of a class and their defaults."""
    found = inspect.signature(getattr(diffusers, name).__init__).parameters
    return {key: word.default for key, word in found.items() if key not in PASSED_OVER}


def _log_uniform(draw: random.Random, low: float, high: float) -> float:
    return float(f"{math.exp(draw.uniform(math.log(low), math.log(high))):.4g}")


def _betas(draw: random.Random, count: int) -> list[float]:
    low, high = _log_uniform(draw, 5e-5, 2e-3), _log_uniform(draw, 4e-3, 3e-2)
    power = draw.choice((0.5, 1, 2, 3))
    return [round(low + (high - low) * (i / max(1, count - 1)) ** power, 7) for i in range(count)]


def _value(draw: random.Random, name: str, key: str, default: Any) -> Any:
    """Another value of a key."""
    flow = name in FLOWS
    if isinstance(default, bool):
        return draw.random() < 0.7
    choices = {
        "beta_schedule": ("linear", "scaled_linear", "scaled_linear", "squaredcos_cap_v2", "sigmoid", "laplace", "exp"),
        "prediction_type": ("epsilon", "sample", "v_prediction", "v_prediction", "flow_prediction"),
        "timestep_spacing": ("leading", "trailing", "linspace"),
        "final_sigmas_type": ("zero", "sigma_min"),
        "interpolation_type": ("linear", "log_linear"),
        "timestep_type": ("discrete", "continuous"),
        "time_shift_type": ("exponential", "linear"),
        "sigma_schedule": ("karras", "exponential"),
        "solver_type": ("logrho", "midpoint", "heun", "bh1", "bh2"),
        "variance_type": ("fixed_small", "fixed_small_log", "fixed_large", "fixed_large_log", "learned", "learned_range") if name == "DDPMScheduler" else (None,),
        "algorithm_type": ("data_prediction", "noise_prediction") if name == "SASolverScheduler" else
        ("deis", "dpmsolver++", "dpmsolver", "sde-dpmsolver++", "sde-dpmsolver"),
        "steps_offset": (0, 1, 1, 1, 2, 7),
        "solver_order": (1, 2, 3),
        "predictor_order": (1, 2, 3),
        "corrector_order": (1, 2, 3, 4),
        "num_train_timesteps": (20, 40, 100, 151) if name == "CMStochasticIterativeScheduler" else (100, 250, 500, 999, 1000, 2000),
        "original_inference_steps": (10, 25, 37, 50, 100),
        "disable_corrector": ([0], [0, 1], [1, 3]),
        "noise_sampler_seed": (0, 42, 2**40 + 5),
    }
    if key in choices:
        return draw.choice(choices[key])
    ranges = {
        "beta_start": (5e-5, 2e-3), "beta_end": (4e-3, 3e-2), "dynamic_thresholding_ratio": (0.5, 1), "sample_max_value": (1, 5),
        "clip_sample_range": (0.5, 4), "shift": (0.5, 12), "flow_shift": (0.5, 12), "sigma_data": (0.2, 2), "rho": (3, 12),
        "s_noise": (0.5, 1.5), "eta": (0.1, 1), "timestep_scaling": (1, 20), "snr_shift_scale": (0.5, 5), "shift_terminal": (0.01, 0.3),
        "sigma_min": (0.002, 0.3), "sigma_max": (5, 700),
    }
    if key == "lambda_min_clipped":
        return round(draw.uniform(-6, -2), 3)
    if key not in ranges:
        raise LookupError(f"{name} has a key {key!r} that nothing is known of")
    low, high = ranges[key]
    if key == "sigma_min" and default is None and flow:
        return None
    return min(_log_uniform(draw, low, high), 1.0) if key == "dynamic_thresholding_ratio" else _log_uniform(draw, low, high)


_SCHEDULES = ("use_karras_sigmas", "use_exponential_sigmas", "use_beta_sigmas", "use_lu_lambdas", "use_flow_sigmas")


def _config(draw: random.Random, name: str) -> dict[str, Any]:
    config = {}
    keys = keys_of(name)
    often = draw.choice((0.1, 0.25, 0.5))
    for key, default in keys.items():
        if key == "trained_betas":
            continue
        chance = {"num_train_timesteps": 0.5, "beta_start": 1, "prediction_type": 1.5}.get(key, 1) * often
        if key in _SCHEDULES or draw.random() >= chance:
            continue
        value = _value(draw, name, key, default)
        if value is not None and value != default:
            config[key] = value
    there = [key for key in _SCHEDULES if key in keys]
    if there and draw.random() < 0.5:
        for key in draw.sample(there, 2 if draw.random() < 0.05 and len(there) > 1 else 1):
            config[key] = True
    if config.get("use_flow_sigmas") and draw.random() < 0.7:
        config["prediction_type"] = "flow_prediction"
    if config.get("use_dynamic_shifting") and draw.random() < 0.7 and "use_flow_sigmas" in keys:
        config["use_flow_sigmas"] = True
    if "trained_betas" in keys and draw.random() < 0.04 and name != "IPNDMScheduler":
        config["trained_betas"] = _betas(draw, config.get("num_train_timesteps", 1000))
    if name == "DPMSolverSDEScheduler":
        config.setdefault("noise_sampler_seed", 7)  # else it is any
    return config


def _steps(draw: random.Random, most: int) -> int:
    return min(most, draw.choice((draw.randint(1, 4), draw.randint(2, 12), draw.randint(5, 30), draw.randint(10, 60), draw.choice((100, 250)))
                                 if draw.random() < 0.12 else (draw.randint(1, 6), draw.randint(3, 20), draw.randint(8, 30))))


def _own_timesteps(draw: random.Random, name: str, train: int) -> list[float]:
    if name == "LTXEulerAncestralRFScheduler":
        return [*_own_sigmas(draw, name), 0.0]  # which is what it takes them for
    count = min(draw.randint(1, 12), train - 1)
    found = sorted(draw.sample(range(1 if name in FLOWS else 0, train), count), reverse=True)
    return found if name not in FLOWS else [float(value) for value in found]


def _own_sigmas(draw: random.Random, name: str) -> list[float]:
    count = draw.randint(2, 12)
    if name in (*FLOWS, "UniPCMultistepScheduler"):
        found = sorted({round(draw.uniform(0.02, 1), 4) for _ in range(count)}, reverse=True)
        return [1.0, *found[1:]] if draw.random() < 0.5 else found
    found = sorted({_log_uniform(draw, 0.03, 100) for _ in range(count)}, reverse=True)
    return [*found, 0.0] if draw.random() < 0.8 or len(found) < 2 else found


_WORDS = {"eta": (0, 1), "s_churn": (0.5, 20), "s_tmin": (0.01, 1), "s_tmax": (5, 50), "s_noise": (0.8, 1.2)}


def draw_setting(draw: random.Random, name: Optional[str] = None) -> Setting:
    """A setting at random, of a class at random unless one is named."""
    name = name or draw.choice(CLASSES)
    cls = getattr(diffusers, name)
    config = _config(draw, name)
    train = config.get("num_train_timesteps", keys_of(name).get("num_train_timesteps", 1000))
    takes = inspect.signature(cls.set_timesteps).parameters
    more: dict[str, Any] = {"steps": _steps(draw, 1000)}
    if name == "CMStochasticIterativeScheduler":
        more["steps"] = _steps(draw, train)
    if draw.random() < 0.15 and "timesteps" in takes:
        more = {"timesteps": _own_timesteps(draw, name, train)}
    elif draw.random() < 0.2 and "sigmas" in takes and name != "EDMEulerScheduler":  # whose "sigmas" are a ramp from 0 to 1
        more = {"sigmas": _own_sigmas(draw, name)}
    elif name == "LTXEulerAncestralRFScheduler":
        more = {"sigmas": [*_own_sigmas(draw, name), 0.0]}
    if name == "UniPCMultistepScheduler" and "sigmas" in more:  # with these it would run backwards
        config = {key: value for key, value in config.items() if key not in _SCHEDULES[:3]}
    if "mu" in takes and config.get("use_dynamic_shifting") and draw.random() < 0.9:
        more["mu"] = round(draw.uniform(0.3, 1.5), 3)
    asked: dict[str, Any] = {}
    if name in DISTILLED:
        if draw.random() < 0.25:
            asked["original_inference_steps"] = draw.choice((10, 25, 37, 50, 100))
        if draw.random() < 0.3:
            asked["strength"] = round(draw.uniform(0.1, 1), 3)
    elif name not in WITHOUT_STRENGTH and draw.random() < 0.3:
        more["strength"] = round(draw.uniform(0.05, 1), 3)
    words: dict[str, Any] = {}
    for key, word in inspect.signature(cls.step).parameters.items():
        if key in _WORDS and draw.random() < 0.2 and not (name in FLOWS and key.startswith("s_") and name != "FlowMatchHeunDiscreteScheduler"):
            words[key] = round(draw.uniform(*_WORDS[key]), 3)
        elif key == "use_clipped_model_output" and draw.random() < 0.2:
            words[key] = True
        elif key == "order" and draw.random() < 0.3:
            words[key] = draw.randint(1, 6)
    return Setting(name, config, asked=asked, words=words, **more)


def draw_settings(seed: int, count: int) -> list[Setting]:
    """count settings; the first of a longer list are those of a shorter one."""
    draw = random.Random(seed)
    return [draw_setting(draw, CLASSES[k % len(CLASSES)]) for k in range(count)]
