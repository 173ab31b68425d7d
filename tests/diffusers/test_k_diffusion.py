"""k-diffusion's samplers with settings at random, run by the package and by tables here: 0 differences within the package's own distance
between float32 and float64.

Of the package only its samplers are loaded: what else it imports (torchvision and training) is not needed for them.
"""
import collections
import contextlib
import importlib
import math
import os
import random
import sys
import types
import warnings

sys.path[:0] = [os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "python", "tests")]
import package  # noqa: E402

package.enter_torch()
package.enter("scipy", "torchsde", "torchdiffeq", "k_diffusion")
import torch  # noqa: E402

torch.set_num_threads(1)
warnings.simplefilter("ignore")
from strata.solver import Noise, Run, Solver  # noqa: E402

COUNT = int(os.environ.get("STRATA_SETTINGS", "500")) // 2
SEED = int(os.environ.get("STRATA_SETTINGS_SEED", "1"))
SHAPE = (1, 4, 4, 4)  # one picture: the adaptive solver there measures a batch as a whole, here each picture
FLOOR, TIMES = 2e-6, 4
# Of each sampler: the solver, what it stands for there, and which of the sampler's arguments are drawn.
SAMPLERS = {
    "euler": ("euler", {}, ("churn",)), "euler_ancestral": ("euler_ancestral", {}, ("eta",)), "heun": ("heun", {}, ("churn",)),
    "dpm_2": ("dpm2", {}, ("churn",)), "dpm_2_ancestral": ("dpm2_ancestral", {}, ("eta",)), "lms": ("lms", {}, ("order",)),
    "dpmpp_2s_ancestral": ("dpmpp_2s_ancestral", {}, ("eta",)), "dpmpp_sde": ("dpmpp_sde", {}, ("eta", "r")), "dpmpp_2m": ("dpmpp_2m", {}, ()),
    "dpmpp_2m_sde": ("dpmpp_2m", {"algorithm_type": "sde-dpmsolver++"}, ("eta", "solver_type")), "dpmpp_3m_sde": ("dpmpp_3m_sde", {}, ("eta",)),
    "dpm_fast": ("dpm_fast", {}, ("eta0",)), "dpm_adaptive": ("dpm_adaptive", {}, ("eta0", "adaptive")),
}


def samplers():
    """k_diffusion.sampling without the rest of its package."""
    if "k_diffusion" in sys.modules:
        return importlib.import_module("k_diffusion.sampling")
    where = importlib.util.find_spec("k_diffusion").submodule_search_locations
    whole = types.ModuleType("k_diffusion")
    whole.__path__ = list(where)
    utils = types.ModuleType("k_diffusion.utils")
    utils.append_dims = lambda x, count: x[(...,) + (None,) * (count - x.ndim)]
    whole.utils = utils
    sys.modules.update({"k_diffusion": whole, "k_diffusion.utils": utils})
    return importlib.import_module("k_diffusion.sampling")


def denoiser(x, sigma):
    """A bounded clean sample that depends on the level."""
    sigma = float(sigma)
    return torch.tanh(x / math.hypot(1, sigma)) * 0.9 + math.log(sigma) / 20


class Normals:
    def __init__(self):
        self.generator = torch.Generator().manual_seed(1)

    def __call__(self, *_):
        return torch.randn(SHAPE, generator=self.generator, dtype=torch.float32)


def drawn(draw):
    name = draw.choice(sorted(SAMPLERS))
    args = {}
    for what in SAMPLERS[name][2]:
        if draw.random() < 0.5:
            continue
        args.update({"churn": lambda: {"s_churn": round(draw.uniform(0.5, 30), 3), "s_tmin": round(draw.uniform(0, 0.3), 3), "s_noise": round(draw.uniform(0.9, 1.1), 3)},
                     "eta": lambda: {"eta": round(draw.uniform(0, 1), 3), "s_noise": round(draw.uniform(0.9, 1.1), 3)},
                     "eta0": lambda: {"eta": round(draw.uniform(0, 1), 3)}, "order": lambda: {"order": draw.randint(1, 4)},
                     "r": lambda: {"r": round(draw.uniform(0.3, 0.8), 3)}, "solver_type": lambda: {"solver_type": draw.choice(("midpoint", "heun"))},
                     "adaptive": lambda: {"rtol": round(draw.uniform(0.01, 0.1), 4), "order": draw.choice((2, 3))}}[what]())
    count = draw.randint(2, 25)
    low, high = round(math.exp(draw.uniform(math.log(0.002), math.log(0.3))), 4), round(math.exp(draw.uniform(math.log(5), math.log(160))), 2)
    return name, draw.choice(("karras", "exponential", "polyexponential")), count, low, high, args


@contextlib.contextmanager
def shaken_steps(solver, shake):
    """The adaptive solver's steps end a rounding up or down: it goes by the difference of two of them, in which other roundings show."""
    kept = {name: getattr(solver, name) for name in ("dpm_solver_1_step", "dpm_solver_2_step", "dpm_solver_3_step")}

    def shaken(step):
        def run(*words, **more):
            x, cache = step(*words, **more)
            return shake(x), cache
        return run
    for name, step in kept.items():
        setattr(solver, name, shaken(step))
    try:
        yield
    finally:
        for name, step in kept.items():
            setattr(solver, name, step)


def theirs(k, setting, dtype, shaken=0):
    """By the package. shaken: every output of the model is a rounding up or down, in one of so many ways."""
    name, schedule, count, low, high, args = setting
    normals, signs = Normals(), torch.Generator().manual_seed(shaken)
    x = normals().to(dtype) * high

    def shake(x):
        return x * (1 + (torch.randint(0, 2, SHAPE, generator=signs) * 2 - 1) * 2.0**-23) if shaken else x

    def model(x, sigma, **_):
        return shake(denoiser(shake(x), sigma.reshape(-1)[0]))
    words = dict(args, disable=True)
    if name in ("euler", "heun", "dpm_2"):  # these draw by randn_like
        k.torch = types.SimpleNamespace(**{**vars(torch), "randn_like": lambda x: normals().to(dtype)})
    elif name not in ("lms", "dpmpp_2m"):
        words["noise_sampler"] = lambda sigma, sigma_next: normals().to(dtype)
    torch.set_default_dtype(dtype)  # of levels and steps as well
    try:
        if name in ("dpm_fast", "dpm_adaptive"):
            with shaken_steps(k.DPMSolver, shake):
                return getattr(k, "sample_" + name)(model, x, low, high, *([count] if name == "dpm_fast" else []), **words)
        sigmas = getattr(k, "get_sigmas_" + schedule)(count, low, high).to(dtype)
        return getattr(k, "sample_" + name)(model, x, sigmas, **words)
    finally:
        k.torch = torch
        torch.set_default_dtype(torch.float32)


def ours(k, setting):
    name, schedule, count, low, high, args = setting
    solver, stands_for, _ = SAMPLERS[name]
    words = {**stands_for, **args, "prediction_type": "sample"}
    if name in ("dpm_fast", "dpm_adaptive"):
        table = Solver(solver, count, sigma_min=low, sigma_max=high, **words)
    else:
        sigmas = [float(value) for value in getattr(k, "get_sigmas_" + schedule)(count, low, high)]
        table = Solver(solver, sigmas=sigmas, k_diffusion=True, **words)
    normals = Normals()
    run = Run(table, normals() * high, normals)
    for row in run:
        run.step(denoiser(run.sample, row.sigma))
    return run.sample


def far(a, b):
    return float((a.double() - b.double()).abs().max()) / max(1.0, float(a.abs().max()))


def part_of_the_limit(k, setting):
    """How far away, as a part of what is allowed, and what is allowed. None: the package is far from itself (an adaptive solver that takes
    another step in float64)."""
    narrow, double = theirs(k, setting, torch.float32), theirs(k, setting, torch.float64)
    # the adaptive solver's steps go by a difference of two samples, which roundings make unsteady
    shaken = [theirs(k, setting, torch.float32, way) for way in range(1, 9 if setting[0] == "dpm_adaptive" else 2)]
    limit = FLOOR + TIMES * max(far(narrow, double), *(far(narrow, other) for other in shaken))
    return (far(narrow, ours(k, setting)) / limit, limit) if math.isfinite(limit) and limit <= 0.05 else (None, limit)


def dpm_fast_is_the_same_near_the_least_level():
    """Its last step is short where the steps are no multiple of three, and differences there are of levels that are nearly the same."""
    k = samplers()
    settings = [("dpm_fast", "karras", count, low, high, args) for count in (3, 4, 5, 12, 25) for low, high in ((0.002, 80.0), (0.0292, 14.6146))
                for args in ({}, {"eta": 0.7})]
    wrong = [f"{part}: {setting}" for setting in settings for part, _ in [part_of_the_limit(k, setting)] if part is None or not part <= 1]
    assert not wrong, "\n".join(wrong)
    return f"{len(settings)} settings"


def random_samplers_are_the_same():
    k, draw = samplers(), random.Random(SEED)
    counts, worst, bad, steps_apart = collections.Counter(), collections.Counter(), [], 0
    for _ in range(COUNT):
        setting = drawn(draw)
        part, limit = part_of_the_limit(k, setting)
        if part is None:
            steps_apart += 1
            continue
        counts[setting[0]] += 1
        worst[setting[0]] = max(worst[setting[0]], part)
        if not part <= 1:
            bad.append(f"{part:.2f} of what is allowed, {limit:.1e}: {setting}")
    lines = [f"{name:<20} {counts[name]:>4}, nearest to the limit {worst[name]:.2f}" for name in sorted(counts)]
    lines.append(f"seed {SEED}: {COUNT} settings, {len(bad)} differences; {steps_apart} in which the package is far from itself")
    assert not bad, "\n".join(lines + bad)
    return "\n".join(lines)


def trees_are_the_same():
    """DPM++ SDE and its like as users know them: with the package's own Brownian tree of a seed."""
    k, worst = samplers(), 0.0
    for name, (solver, stands_for, _) in SAMPLERS.items():
        if not name.endswith("_sde"):
            continue
        for seed, count, low, high in ((0, 12, 0.03, 14.6), (42, 20, 0.0292, 14.6146), (2**40 + 7, 7, 0.1, 80.0)):
            sigmas = k.get_sigmas_karras(count, low, high)
            x = torch.randn(SHAPE, generator=torch.Generator().manual_seed(seed))
            sampler = k.BrownianTreeNoiseSampler(x, sigmas[sigmas > 0].min(), sigmas.max(), seed=seed)
            want = getattr(k, "sample_" + name)(lambda x, sigma, **_: denoiser(x, sigma.reshape(-1)[0]), x * high, sigmas, noise_sampler=sampler, disable=True)
            table = Solver(solver, sigmas=[float(value) for value in sigmas], k_diffusion=True, prediction_type="sample", **stands_for)
            run = Run(table, x * high, Noise("brownian", seed=seed, shape=SHAPE))
            for row in run:
                run.step(denoiser(run.sample, row.sigma))
            # a level whose last bit is another lies up to a millionth off, and the path there is some thousandths away
            assert far(want, run.sample) < 2e-3, (name, seed, far(want, run.sample))
            worst = max(worst, far(want, run.sample))
    return f"largest difference {worst:.1e} of the largest value"


package.run(dpm_fast_is_the_same_near_the_least_level, random_samplers_are_the_same, trees_are_the_same)
