"""Two trajectories of one setting, compared; a failing setting, shrunk.

How far two may be apart comes from diffusers itself: how far it is in float32 from itself in float64, every intermediate result included,
and from itself when each output of the model is a rounding off.
"""
import math
from typing import Any, NamedTuple, Optional

import torch
from runs import Path, Refused, dropped_in, reference, table
from settings import BY_INDEX, Setting, keys_of

FLOOR = 2e-6  # of the largest value: what a few roundings of a float32 make
TIMES = 4  # how many of diffusers' own distances
MOST = 0.05  # beyond this a setting says nothing about a picture, and only its timesteps are compared


class Verdict(NamedTuple):
    """What came of a setting: "same", "refused" by both, or what differs; and the largest error as a part of what is allowed."""

    said: str
    worst: float = 0.0
    on_edge: bool = False  # a timestep is its neighbour
    here_alone: bool = False  # diffusers does it, and it is refused on purpose

    @property
    def good(self) -> bool:
        return self.said in ("same", "refused")


def _apart(a: list[torch.Tensor], b: list[torch.Tensor]) -> list[float]:
    """How far samples are apart, each by the largest value so far of a picture that may shrink."""
    found = []
    for x, y in zip(a, b):
        scale = max(1.0, float(x.double().abs().max()))
        found.append(float((x.double() - y.double()).abs().max()) / scale)
    return found


def _running(values: list[float]) -> list[float]:
    most, found = 0.0, []
    for value in values:
        most = max(most, value)
        found.append(most)
    return found


def _attempt(run: Any, *words: Any) -> Any:
    try:
        return run(*words)
    except Refused as why:
        return why


def _near(t: float, u: float, own: float = 0.0) -> bool:
    """Whether two timesteps are the same; own: how far diffusers is from itself."""
    return abs(t - u) <= 2e-3 + 1e-5 * abs(u) + TIMES * own


def _same_timesteps(a: Path, b: Path) -> bool:
    return len(a.timesteps) == len(b.timesteps) and all(_near(t, u) for t, u in zip(a.timesteps, b.timesteps))


def _own_timesteps(narrow: Path, wide: Any) -> list[float]:
    """How far diffusers' timesteps in float32 are from those in float64, where they have fractions."""
    if not isinstance(wide, Path) or len(wide.timesteps) != len(narrow.timesteps) or all(t == int(t) for t in narrow.timesteps):
        return [0.0] * len(narrow.timesteps)
    return [abs(t - u) for t, u in zip(narrow.timesteps, wide.timesteps)]


def allowed(setting: Setting, narrow: Path, double: Any, wide: Any, told: Any) -> list[float]:
    """For each sample how far another implementation may be away."""
    own = [0.0] * len(narrow.samples)
    if told:
        wide = _attempt(reference, setting, torch.float64, True, False, told)
    elif isinstance(wide, Path) and not _same_timesteps(narrow, wide) and max(_own_timesteps(narrow, wide)) == 0:
        wide = _attempt(reference, setting, torch.float64, True, False, None, narrow.levels)  # it rounds a timestep to another: only its steps count
    shaken = _attempt(reference, setting, torch.float32, False, True, told)
    if isinstance(shaken, Path) and len(shaken.timesteps) == len(narrow.timesteps) and not _same_timesteps(narrow, shaken):
        shaken = _attempt(reference, setting, torch.float32, False, True, narrow.timesteps)._replace(timesteps=narrow.timesteps)
    for other in (double, wide, shaken):
        if isinstance(other, Path) and len(other.timesteps) == len(narrow.timesteps) and (
                told or _same_timesteps(narrow, other) or max(_own_timesteps(narrow, other)) > 0):
            own = [max(a, b) for a, b in zip(own, _apart(narrow.samples, other.samples))]
    return [TIMES * value + FLOOR for value in _running(own)]


def _judge(what: str, ours: Any, theirs: Path, limits: list[float], own: list[float]) -> Verdict:
    if isinstance(ours, Refused):
        return Verdict(f"{what} refuses what diffusers does: {ours}")
    if len(ours.timesteps) != len(theirs.timesteps):
        return Verdict(f"{what} has {len(ours.timesteps)} calls; diffusers has {len(theirs.timesteps)}")
    for k, (t, u) in enumerate(zip(ours.timesteps, theirs.timesteps)):
        if not _near(t, u, own[k]) and not (k in theirs.on_edge and abs(t - u) == 1):
            return Verdict(f"{what} tells the model {t:g} at call {k + 1}; diffusers tells it {u:g}")
    worst = 0.0
    for k, (far, limit) in enumerate(zip(_apart(theirs.samples, ours.samples), limits)):
        if limit > MOST or (theirs.still and k == len(limits) - 1):
            break
        if not far <= limit:
            return Verdict(f"{what} is {far:.2e} away {'at the start' if k == 0 else f'after call {k}'} of {len(theirs.timesteps)}; allowed {limit:.2e}", far / limit)
        worst = max(worst, far / limit)
    return Verdict("same", worst)


_WAYS: tuple[Any, ...] = (("the table", table, ()), ("the scheduler in float32", dropped_in, ()), ("the scheduler in float64", dropped_in, (torch.float64,)))


def _all_refuse(setting: Setting, why: Refused) -> Verdict:
    """diffusers refuses in float32. Where it does not in float64, roundings decide, and both are right."""
    wide = _attempt(reference, setting, torch.float64, True)
    still = why.path is not None and why.path.still and bool(torch.isfinite(why.path.samples[-2]).all())
    for what, run, words in _WAYS:
        ours = _attempt(run, setting, *words)
        if isinstance(ours, Refused) and len(str(ours)) < 10:
            return Verdict(f"{what} refuses without a sentence: {ours}")
        if not isinstance(ours, Refused) and not still and (isinstance(wide, Refused) or not _same_timesteps(ours, wide)):
            return Verdict(f"{what} does what diffusers refuses: {why}")
    return Verdict("refused")


def _refuse_here_alone(setting: Setting, sentence: str) -> Verdict:
    for what, run, words in _WAYS:
        ours = _attempt(run, setting, *words)
        if not isinstance(ours, Refused) or sentence not in str(ours):
            return Verdict(f"{what} does not say that {sentence}: {ours if isinstance(ours, Refused) else ours.timesteps}")
    return Verdict("refused", here_alone=True)


def _here_alone(setting: Setting, narrow: Path) -> Optional[str]:
    """What diffusers does and a table refuses on purpose, by a part of the sentence."""
    # With some numbers of trailing steps numpy.arange counts one more than was asked for, and diffusers goes on to timestep -1. Schedulers that
    # find alphas_cumprod by its index take the last of them there, and read a nearly clean sample as pure noise.
    if setting.name in BY_INDEX and -1 in narrow.timesteps:
        return "end at timestep -1"
    # One level at 1, which a shift leaves there but for a rounding: divided by itself, that rounding is the whole stretch.
    if setting.steps == 1 and len(narrow.timesteps) == 1 and setting.config.get("shift_terminal"):
        return "one level at 1 cannot be stretched"
    return None


def _plainly_same(found: list[Any], theirs: Path) -> Optional[Verdict]:
    """Where all are a few roundings away at most, how far diffusers is from itself need not be found out. None: it must be."""
    worst = 0.0
    for ours in found:
        if not isinstance(ours, Path) or theirs.still or not _same_timesteps(ours, theirs):
            return None
        worst = max(worst, *(far / FLOOR for far in _apart(theirs.samples, ours.samples)))
    return Verdict("same", worst) if worst <= 1 else None


def judge(setting: Setting) -> Verdict:
    """Runs a setting every way and says what differs."""
    narrow = _attempt(reference, setting)
    if isinstance(narrow, Refused):
        return _all_refuse(setting, narrow)
    sentence = _here_alone(setting, narrow)
    if sentence:
        return _refuse_here_alone(setting, sentence)
    found = [_attempt(run, setting, *words) for _, run, words in _WAYS]
    plain = _plainly_same(found, narrow)
    if plain is not None:
        return plain
    double = _attempt(reference, setting, torch.float64)
    wide = _attempt(reference, setting, torch.float64, True)
    own, told = _own_timesteps(narrow, wide), None
    if isinstance(found[0], Path) and len(found[0].timesteps) == len(narrow.timesteps) and not _same_timesteps(found[0], narrow):
        if any(not _near(t, u, own[k]) and not (k in narrow.on_edge and abs(t - u) == 1)
               for k, (t, u) in enumerate(zip(found[0].timesteps, narrow.timesteps))):
            return _judge(_WAYS[0][0], found[0], narrow, [math.inf], own)
        told = found[0].timesteps  # on the edge: the same model's outputs for both
        narrow = reference(setting, torch.float32, False, False, told)._replace(timesteps=told)
        double = _attempt(reference, setting, torch.float64, False, False, told)
    limits = allowed(setting, narrow, double, wide, told)
    worst = 0.0
    for (what, _, words), ours in zip(_WAYS, found):
        theirs = double if words and isinstance(double, Path) else narrow
        if told is not None:
            theirs = theirs._replace(timesteps=told)
        if isinstance(ours, Refused) and narrow.still:
            continue  # differences over a step of no length: a number or none, by roundings
        verdict = _judge(what, ours, theirs, limits, own)
        if not verdict.good:
            return verdict
        worst = max(worst, verdict.worst)
    return Verdict("same", worst, told is not None)


def compare(setting: Setting) -> str:
    """What differs, for a line that was pasted; "same" or "refused" where nothing does."""
    return judge(setting).said


def _smaller(setting: Setting) -> Any:
    """Settings with one thing less."""
    for key in sorted(setting.config.keys() - {"noise_sampler_seed"}, key=lambda key: key != "trained_betas"):
        yield setting._replace(config={other: value for other, value in setting.config.items() if other != key})
    for field in ("words", "asked"):
        for key in getattr(setting, field):
            yield setting._replace(**{field: {other: value for other, value in getattr(setting, field).items() if other != key}})
    for field in ("strength", "mu"):
        if getattr(setting, field) is not None:
            yield setting._replace(**{field: None})
    if setting.timesteps is not None or setting.sigmas is not None:
        yield setting._replace(timesteps=None, sigmas=None, steps=setting.count)
    for field in ("timesteps", "sigmas"):
        values = getattr(setting, field)
        for k in range(len(values or ())):
            if len(values) > 1:
                yield setting._replace(**{field: values[:k] + values[k + 1:]})
    if setting.steps:
        for fewer in (setting.steps // 2, setting.steps - 1):
            if fewer >= 1:
                yield setting._replace(steps=fewer)
    for key, value in setting.config.items():
        if isinstance(value, float) and key in keys_of(setting.name) and value != round(value, 1):
            yield setting._replace(config={**setting.config, key: round(value, 1)})


def _kind(said: str) -> str:
    """What sort of difference it is: shrinking must not end at another one."""
    return "refuses" if "refuses what" in said else "accepts" if "does what" in said else "timesteps" if "tells" in said or "calls" in said else "values"


def shrink(setting: Setting, said: str, judging: Any = judge, most: int = 400) -> tuple[Setting, str]:
    """The smallest setting found that still differs in the same way, and how."""
    kind, tried = _kind(said), 0
    again = True
    while again and tried < most:
        again = False
        for smaller in _smaller(setting):
            tried += 1
            verdict = judging(smaller)
            if not verdict.good and _kind(verdict.said) == kind:
                setting, said, again = smaller, verdict.said, True
                break
            if tried >= most:
                break
    return setting, said
