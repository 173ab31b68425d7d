"""The service's names of solvers and schedules as diffusers' schedulers. Which names a solver has, diffusers' class among them, the service itself tells
(GET /samplers)."""
from __future__ import annotations

import re
from typing import Any, Mapping, Sequence

from ..errors import InvalidError, UnsupportedError

_FLAGS = {"karras": "use_karras_sigmas", "exponential": "use_exponential_sigmas", "beta": "use_beta_sigmas"}
_PLAIN = ("", "normal", "discrete")


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9+]", "", name.lower())


def split(name: str, schedule: str | None, samplers: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], str]:
    """The solver that is meant and the schedule, which may stand behind its name: "DPM++ 2M Karras"."""
    known = {_plain(word): one for one in samplers for word in [one["name"], *(one.get("aliases") or "").split(",")]}
    name = name.partition(":")[0]
    words = name.split()
    for count in range(len(words), 0, -1):
        found = known.get(_plain(" ".join(words[:count])))
        if found is not None:
            return found, (schedule or " ".join(words[count:])).partition(":")[0].strip().lower()
    raise InvalidError(f"there is no solver '{name[:60]}'", 22, "scheduler")


def scheduler_for(current: Any, name: str | None, schedule: str | None, samplers: Sequence[Mapping[str, Any]], library: Any) -> Any:
    """A scheduler of its own for one task: the pipeline's, or the one that the task names, with the pipeline's configuration."""
    if not name and not schedule:
        return type(current).from_config(current.config)
    kind, more = type(current), {}
    if name:
        solver, schedule = split(name, schedule, samplers)
        names = [word.strip() for word in (solver.get("aliases") or "").split(",")]
        kind = next((getattr(library, word) for word in names if word.endswith("Scheduler") and hasattr(library, word)), None)
        if kind is None:
            raise UnsupportedError(f"diffusers has no scheduler for the solver '{solver['name']}'", 95, "scheduler")
    schedule = (schedule or "").lower()
    if schedule in _FLAGS:
        import inspect
        if _FLAGS[schedule] not in inspect.signature(kind.__init__).parameters:
            raise UnsupportedError(f"{kind.__name__} has no schedule '{schedule}'", 95, "schedule")
        more = {flag: flag == _FLAGS[schedule] for flag in _FLAGS.values() if flag in inspect.signature(kind.__init__).parameters}
    elif schedule not in _PLAIN:
        raise UnsupportedError(f"a Python worker has no schedule '{schedule[:60]}'; it has {', '.join(_FLAGS)}", 95, "schedule")
    return kind.from_config(current.config, **more)
