"""One setting, run: by diffusers as it is installed, by diffusers with every float32 made a float64, by a table of Strata, and by the
scheduler of the Python package that takes diffusers' place.

All of them draw the same normals, in float32 and then widened: torch draws other numbers when it is asked for float64. The model is a
bounded function of sample and timestep, so that a timestep that is one off shows.
"""
import contextlib
import copy
import functools
import inspect
import sys
from typing import Any, NamedTuple, Optional

import diffusers
import numpy as np
import strata
import strata.diffusers
import torch
from settings import FLOWS, Setting
from strata.solver import Noise, Solver
from strata.solver import Run as TableRun

SHAPE = (2, 4, 3, 3)
TRIED = 4  # steps that a scheduler is made with


def _made_quickly() -> None:
    """Some schedulers ask themselves for all timesteps of the training when they are made, which takes nine tenths of the time of a setting
    and is overwritten by the first set_timesteps(). Here they ask for a few."""
    for name in ("DPMSolverSDEScheduler", "HeunDiscreteScheduler", "KDPM2AncestralDiscreteScheduler", "KDPM2DiscreteScheduler", "LMSDiscreteScheduler"):
        cls = getattr(diffusers, name)

        def quick(self: Any, *words: Any, asked: Any = cls.set_timesteps, **more: Any) -> None:
            made, self.is_made = hasattr(self, "is_made"), True
            asked(self, *(words if made else (TRIED, *words[1:])), **more)
        cls.set_timesteps = functools.wraps(cls.set_timesteps)(quick)


_made_quickly()


class Refused(Exception):
    """A setting has no trajectory; the sentence says why. path: what there was of it, where it ends in what is no number."""

    path: "Optional[Path]" = None


EDGE = 3e-4  # how near to a whole timestep the roundings of diffusers decide which one it is


class Path(NamedTuple):
    """A trajectory: what the model was told, and the sample before the first call and after each. on_edge are the calls whose timestep
    diffusers rounds from so near to the edge that another machine may come to its neighbour (it takes logarithms in float32, and
    libraries differ in their last bit). still: the last step has no length but for roundings. levels: all timesteps and noise levels of
    diffusers' scheduler. sways: how far each timestep goes by roundings."""

    timesteps: list[float]
    samples: list[torch.Tensor]
    on_edge: frozenset[int] = frozenset()
    still: bool = False
    levels: tuple[Any, Any] = (None, None)
    sways: list[float] = []


def model(x: torch.Tensor, t: float) -> torch.Tensor:
    return torch.tanh(x) * 0.9 + t / 5000


class Normals:
    """Draws tensors in order, as a generator of torch's would in float32."""

    def __init__(self, seed: int) -> None:
        self.generator = torch.Generator().manual_seed(seed)

    def __call__(self, dtype: torch.dtype) -> torch.Tensor:
        return torch.randn(SHAPE, generator=self.generator, dtype=torch.float32).to(dtype)


class _Widened:
    """A module in which float32 is float64."""

    def __init__(self, module: Any, wide: Any) -> None:
        self._module, self.float32 = module, wide

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


def _tree_of(made: Any, shaken: bool) -> Any:
    """A Brownian tree in float32 for samples of any kind. It takes levels to a millionth, and its path is rough: shaken are levels that are
    one millionth off, as a level is whose logarithm another library rounds the other way. A stretch within one millionth is 0: torchsde
    itself never comes to its end there."""
    def off(level: Any) -> float:
        return max(1e-6, float(level) * 2.0**-22) if shaken else 0.0

    def tree(x: torch.Tensor, *words: Any, **more: Any) -> Any:
        before = torch.get_default_dtype()
        low, high = (more["sigma_min"], more["sigma_max"]) if "sigma_min" in more else words[:2]
        path = made(x.to(torch.float32), *words, **more)

        def stretch(sigma: Any, to: Any) -> torch.Tensor:
            torch.set_default_dtype(torch.float32)
            first, second = (round(min(max(float(value), low), high), 6) for value in (sigma, to))
            try:
                if abs(first - second) < 2e-6:
                    return torch.zeros(x.shape, dtype=x.dtype)
                return path(torch.tensor(float(sigma) - off(sigma), dtype=torch.float32), torch.tensor(float(to) + off(to), dtype=torch.float32)).to(x.dtype)
            finally:
                torch.set_default_dtype(before)
        return stretch
    return tree


def _rescaled(betas: torch.Tensor) -> torch.Tensor:
    """Betas without signal at the end ("Common diffusion noise schedules are flawed", algorithm 1) by roots that are rounded correctly. torch's
    are not, and differ with the machine; a last bit there moves the least noise level by some hundred-thousandths."""
    roots = torch.cumprod(1 - betas, 0).double().sqrt().float()
    bars = ((roots - roots[-1]) * (roots[0] / (roots[0] - roots[-1]))) ** 2
    return 1 - torch.cat([bars[:1], bars[1:] / bars[:-1]])


@contextlib.contextmanager
def _drawing(module: Any, normals: Normals, wide: bool = False, shaken: bool = False) -> Any:
    """Has the module draw these normals, and widens it."""
    kept = {name: getattr(module, name) for name in ("torch", "np", "randn_tensor", "BrownianTreeNoiseSampler", "rescale_zero_terminal_snr") if hasattr(module, name)}
    before = torch.get_default_dtype()
    try:
        if "randn_tensor" in kept:
            module.randn_tensor = lambda shape, generator=None, device=None, dtype=None, layout=None: normals(dtype or torch.float32)
        if "BrownianTreeNoiseSampler" in kept:
            module.BrownianTreeNoiseSampler = _tree_of(kept["BrownianTreeNoiseSampler"], shaken)
        if shaken and "rescale_zero_terminal_snr" in kept and "cogvideox" not in module.__name__:  # which takes no betas, and doubles
            module.rescale_zero_terminal_snr = _rescaled
        if wide:
            module.torch, module.np = _Widened(torch, torch.float64), _Widened(np, np.float64)
            torch.set_default_dtype(torch.float64)
        yield
    finally:
        torch.set_default_dtype(before)
        for name, value in kept.items():
            setattr(module, name, value)


def begin_of(setting: Setting, scheduler: Any) -> int:
    """Which of the timesteps a pipeline begins at."""
    if setting.strength is None:
        return 0
    count = setting.count
    if setting.name in FLOWS:
        left = min(count * setting.strength, count)
        return int(max(count - left, 0)) * scheduler.order
    return max(count - min(int(count * setting.strength), count), 0) * scheduler.order


def _shake(output: torch.Tensor) -> torch.Tensor:
    """Every number of the output one rounding up or down."""
    signs = torch.arange(output.numel()).reshape(output.shape) % 2 * 2 - 1
    return output * (1 + signs * 2.0**-23)


@contextlib.contextmanager
def _watching(scheduler: Any) -> Any:
    """The timesteps that a scheduler computes from noise levels, before it rounds them."""
    raw: list[float] = []
    made = getattr(type(scheduler), "_sigma_to_t", None)
    if made is None or setting_free(scheduler):
        yield raw
        return

    def watched(*words: Any, **more: Any) -> Any:
        found = made(scheduler, *words, **more)
        raw.append(float(found))
        return found
    scheduler._sigma_to_t = watched
    try:
        yield raw
    finally:
        del scheduler._sigma_to_t


def setting_free(scheduler: Any) -> bool:
    return isinstance(scheduler, strata.diffusers.Scheduler) or type(scheduler) is strata.diffusers.Scheduler


def _edges(raw: list[float], scheduler: Any, begin: int) -> frozenset[int]:
    timesteps = scheduler.timesteps
    if len(raw) == len(timesteps) + 2 and scheduler.config.get("use_karras_sigmas"):  # KDPM2: only those between its halves are rounded
        raw = [value for pair in zip(raw, raw) for value in pair][: len(timesteps)]
        rounded = range(0, len(timesteps), 2)
    elif timesteps.is_floating_point() or len(raw) != len(timesteps):
        return frozenset()
    else:
        rounded = range(len(raw))
    return frozenset(k - begin for k in rounded if k >= begin and abs(raw[k] * 2 - round(raw[k] * 2)) < 2 * EDGE)


def _sways(raw: list[float], scheduler: Any, begin: int, words: dict[str, Any]) -> list[float]:
    """How far the timesteps go that diffusers computes from noise levels when every alpha is two roundings off: so far may those of another
    machine be. (Of levels in float32 it takes differences, and of alphas square roots that are its library's and not the nearest.)"""
    timesteps = scheduler.timesteps.double()
    found = torch.zeros_like(timesteps)
    for by in (-(2.0**-23), 2.0**-23) if raw and hasattr(scheduler, "alphas_cumprod") else ():
        other = copy.deepcopy(scheduler)
        other.alphas_cumprod = other.alphas_cumprod * (1 + by)
        other.set_timesteps(**words)
        if len(other.timesteps) == len(timesteps):
            found = torch.maximum(found, (other.timesteps.double() - timesteps).abs())
    return found[begin:].tolist()


def _still(scheduler: Any) -> bool:
    sigmas = getattr(scheduler, "sigmas", None)
    return sigmas is not None and len(sigmas) > 1 and abs(float(sigmas[-1]) - float(sigmas[-2])) <= 1e-5 * float(sigmas[-2])


def _walk(setting: Setting, scheduler: Any, original: Any, dtype: torch.dtype, normals: Normals, shaken: bool = False,
          told_instead: Optional[list[float]] = None, levels: tuple[Any, Any] = (None, None)) -> Path:
    """As a pipeline does it. told_instead: what the model is told in place of the timesteps. levels: stepped along in place of its own."""
    own = np.array(setting.sigmas) if setting.sigmas is not None and setting.name == "UniPCMultistepScheduler" else setting.sigmas
    words = {"num_inference_steps": setting.steps, "timesteps": setting.timesteps, "sigmas": own, "mu": setting.mu, **setting.asked}
    words = {key: value for key, value in words.items() if value is not None}
    with _watching(scheduler) as raw:
        scheduler.set_timesteps(**words)
    for name, there in zip(("timesteps", "sigmas"), levels):
        if there is not None:
            setattr(scheduler, name, there.to(dtype) if there.is_floating_point() else there)
    begin = begin_of(setting, scheduler)
    sways = _sways(raw, scheduler, begin, words)
    on_edge = _edges(raw, scheduler, begin)
    if scheduler.config.get("rescale_betas_zero_snr"):
        on_edge |= {k for k, sway in enumerate(sways) if sway == 1}
    timesteps = scheduler.timesteps[begin:]
    if len(timesteps) == 0:
        raise Refused("no step is left")
    if hasattr(scheduler, "set_begin_index"):
        scheduler.set_begin_index(begin)
    noise = normals(dtype)
    if setting.strength is not None or "strength" in setting.asked:
        clean = torch.linspace(-1, 1, noise.numel(), dtype=dtype).reshape(SHAPE)
        add = scheduler.scale_noise if setting.name in FLOWS else None
        x = add(clean, timesteps[:1].repeat(2), noise) if add else scheduler.add_noise(clean, noise, timesteps[:1].repeat(2))
    else:
        x = noise * getattr(scheduler, "init_noise_sigma", 1.0)
    x = x.to(dtype)
    told, samples = [], [x]
    more = dict(setting.words)
    if "generator" in inspect.signature(original.step).parameters:
        more["generator"] = normals.generator
    for k, t in enumerate(timesteps):
        given = scheduler.scale_model_input(x, t) if hasattr(original, "scale_model_input") else x
        output = model(given, float(t) if told_instead is None else told_instead[k]).to(dtype)
        x = scheduler.step(_shake(output) if shaken else output, t, x, return_dict=False, **more)[0].to(dtype)
        told.append(float(t))
        samples.append(x)
    return Path(told, samples, on_edge, _still(original), (scheduler.timesteps, getattr(original, "sigmas", None)), sways)


def _finite(path: Path) -> Path:
    if not all(bool(torch.isfinite(sample).all()) for sample in path.samples):
        refused = Refused("not a number")
        refused.path = path
        raise refused
    return path


def reference(setting: Setting, dtype: torch.dtype = torch.float32, wide: bool = False, shaken: bool = False,
              told_instead: Optional[list[float]] = None, levels: tuple[Any, Any] = (None, None)) -> Path:
    """By diffusers itself. Refused where it raises or ends in what is no number."""
    cls = getattr(diffusers, setting.name)
    normals = Normals(1)
    with _drawing(sys.modules[cls.__module__], normals, wide, shaken):
        try:
            scheduler = cls(**setting.config)
            return _finite(_walk(setting, scheduler, scheduler, dtype, normals, shaken, told_instead, levels))
        except Refused:
            raise
        except Exception as wrong:  # pylint: disable=broad-except
            raise Refused(f"{type(wrong).__name__}: {wrong}") from wrong


def dropped_in(setting: Setting, dtype: torch.dtype = torch.float32) -> Path:
    """By strata.diffusers.Scheduler, used as diffusers' own. What diffusers refuses when its scheduler is made is refused by diffusers."""
    cls = getattr(diffusers, setting.name)
    normals = Normals(1)
    with _drawing(strata.diffusers, normals):
        try:
            original = cls(**setting.config)
        except Exception as wrong:  # pylint: disable=broad-except
            raise Refused(str(wrong)) from wrong
        try:
            return _finite(_walk(setting, strata.diffusers.Scheduler.from_scheduler(original), original, dtype, normals))
        except strata.Error as wrong:
            raise Refused(str(wrong)) from wrong


def table(setting: Setting) -> Path:
    """By a table in float32."""
    words = {key: value for key, value in {**setting.words, **setting.asked}.items() if key != "strength"}
    if setting.name == "CogVideoXDDIMScheduler":
        words = {}  # whose step() does not look at them
    if setting.name == "TCDScheduler" and "original_inference_steps" in words:
        words["over_training"] = True
    if setting.sigmas is not None and setting.name in ("EulerDiscreteScheduler", "LTXEulerAncestralRFScheduler"):
        words["sigmas_end"] = True
    strength = setting.asked.get("strength", setting.strength)
    try:
        solver = Solver(setting.name, setting.steps, config={"_class_name": setting.name, **setting.config}, timesteps=setting.timesteps,
                        sigmas=setting.sigmas, strength=strength, mu=setting.mu, **words)
    except strata.Error as wrong:
        raise Refused(str(wrong)) from wrong
    normals = Normals(1)
    x = normals(torch.float32) * solver.init_noise_sigma
    if strength is not None:
        x = x + solver.table.init_clean * torch.linspace(-1, 1, x.numel()).reshape(SHAPE)
    seed = setting.config.get("noise_sampler_seed", 1)
    trees = setting.name in ("CosineDPMSolverMultistepScheduler", "DPMSolverSDEScheduler")
    run = TableRun(solver, x, Noise("brownian", seed=seed, shape=SHAPE) if trees else lambda number: normals(torch.float32))
    told, samples = [], [x.clone()]
    for row in run:
        run.step(model(run.input(), row.timestep))
        told.append(row.timestep)
        samples.append(run.sample.clone())
    return _finite(Path(told, samples))
