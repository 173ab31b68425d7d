"""How much is done to place a model, decided and learned by the C level (<strata/adaptive.h>), and kept between runs.

What is kept is the experience file of the engine (`strata place experience` shows it): corrections by device, features and how they did.
"""
from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Optional

from .._call import Arena, call, ffi, lib, memory, text
from ..errors import Error, InvalidError, MalformedError
from .graph import Corrections

__all__ = ["Adaptive", "Choice", "Event", "FEATURES", "MODES", "SCHEDULER_PROFILES", "experience_path"]

FEATURES: tuple[str, ...] = tuple(text(lib.strata_feature_name(index)) for index in range(lib.STRATA_FEATURE_COUNT))
"""What can be switched."""
MODES: tuple[str, ...] = tuple(text(lib.strata_mode_name(index)) for index in range(lib.STRATA_MODE_COUNT))

_COUNTERS = ("successes", "failures", "fallbacks", "enabled", "withdrawn")


def _profiles() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    while (raw := lib.strata_profile_at(len(found))) != ffi.NULL:
        switches: dict[str, Any] = {name: bool(raw.features >> index & 1) for index, name in enumerate(FEATURES)
                                    if index != lib.STRATA_FEATURE_EXPERIMENTAL}
        found[text(raw.name)] = {**switches, "description": text(raw.summary)}
    return found


SCHEDULER_PROFILES: dict[str, dict[str, Any]] = _profiles()
"""Profiles: which features are on, and what they are for.

>>> SCHEDULER_PROFILES["llm_serving"]["semantic_optimization"], SCHEDULER_PROFILES["basic_inference"]["semantic_optimization"]
(True, False)
"""


@dataclass(frozen=True)
class Choice:
    """What is to be tried for a model."""
    features: dict[str, bool]
    profile: str
    strategies: str
    reasons: tuple[str, ...]
    bits: int


@dataclass(frozen=True)
class Event:
    """A feature that came or went by experience."""
    schedule: int
    feature: str
    on: bool
    why: str
    change: float


def feature_number(name: str) -> int:
    """NotFoundError with "did you mean" for a name that is none."""
    out = ffi.new("enum strata_feature *")
    call(lib.strata_feature_find, name.encode(), out)
    return int(out[0])


class Adaptive:
    """The deciding object of the C level.

    >>> one = Adaptive("auto")
    >>> one.decide("llm", 2, 0.1, False).strategies
    'load_balance,heft,heft:pin_kv=true,sequential,contiguous,portfolio'
    """

    def __init__(self, mode: str = "auto", profile: Optional[str] = None) -> None:
        if mode not in MODES:
            raise InvalidError(f"mode is {mode!r}; expected {', '.join(MODES)}", field="mode")
        self._memory, out, found = memory(), ffi.new("struct strata_adaptive **"), ffi.new("struct strata_profile **")
        if profile is not None:
            call(lib.strata_profile_find, profile.encode(), ffi.cast("const struct strata_profile **", found))
        conf = ffi.new("struct strata_adaptive_conf *", {"mode": MODES.index(mode), "profile": found[0]})
        call(lib.strata_adaptive_new, conf, self._memory, out)
        self.raw = ffi.gc(out[0], lambda one, _kept=self._memory: lib.strata_adaptive_free(one))
        self._counted: dict[str, int] = {}
        self._bins = [0] * lib.STRATA_ADAPTIVE_BUCKETS

    def switch(self, feature: str, on: bool) -> None:
        """Switches a feature by hand from now on."""
        call(lib.strata_adaptive_switch, self.raw, feature_number(feature), on)

    def decide(self, workload: str, device_count: int, pressure: float, expert: bool) -> Choice:
        """What is to be tried, from what is known."""
        with Arena() as arena:
            kept, raw = ffi.new("char[]", workload.encode()), ffi.new("struct strata_adaptive_choice *")
            facts = ffi.new("struct strata_adaptive_facts *", {"workload": kept, "device_count": device_count, "memory_pressure": pressure,
                                                               "expert": expert})
            call(lib.strata_adaptive_decide, self.raw, facts, arena, raw)
            return Choice({name: bool(raw.features >> index & 1) for index, name in enumerate(FEATURES)}, text(raw.profile),
                          text(raw.strategies), tuple(text(raw.reasons[index]) for index in range(raw.reason_count)), raw.features)

    def report(self, bits: int, success: bool, fallback: bool, predicted_ns: float, observed_ns: float, single_ns: float) -> None:
        """How a plan turned out; 0: a time that is not known."""
        call(lib.strata_adaptive_report, self.raw, ffi.new("struct strata_adaptive_outcome *", {
            "features": bits, "success": success, "fallback": fallback, "predicted_ns": predicted_ns if math.isfinite(predicted_ns) else 0,
            "observed_ns": observed_ns, "single_ns": single_ns if math.isfinite(single_ns) else 0}))

    def events(self) -> list[Event]:
        """What experience changed, oldest first."""
        found, raw = [], ffi.new("struct strata_adaptive_event *")
        while lib.strata_adaptive_event_at(self.raw, len(found), raw):
            found.append(Event(raw.schedule, FEATURES[raw.feature], bool(raw.on), text(raw.why), raw.change))
        return found

    def metrics(self) -> dict[str, Any]:
        """Counters: schedules, successes, failures, fallbacks, enabled, withdrawn; how often each feature was used; how far predictions
        were off, as (bound, count)."""
        raw = ffi.new("struct strata_adaptive_metrics *")
        lib.strata_adaptive_metrics(self.raw, raw)
        return {"schedules": raw.schedules, **{name: getattr(raw, name) for name in _COUNTERS},
                "used": {name: raw.used[index] for index, name in enumerate(FEATURES)},
                "off_by": [(raw.off_by_max[index], raw.off_by[index]) for index in range(lib.STRATA_ADAPTIVE_BUCKETS)]}

    def enabled_by_experience(self) -> dict[str, bool]:
        """Which features are on because of how earlier plans did."""
        raw = ffi.new("struct strata_adaptive_trial *")
        found = {}
        for index, name in enumerate(FEATURES):
            lib.strata_adaptive_trial_at(self.raw, index, raw)
            found[name] = bool(raw.on)
        return found

    # ---- what is kept ----

    def restore(self, kept: dict[str, Any]) -> None:
        """Takes what an experience file has of features."""
        schedules, features = kept.get("schedules"), kept.get("features", {})
        if not isinstance(schedules, dict) or not isinstance(features, dict):
            return
        metrics = ffi.new("struct strata_adaptive_metrics *", {"schedules": _count(schedules, "all"),
                                                               **{name: _count(schedules, name) for name in _COUNTERS}})
        bins = schedules.get("off_by", [])
        for index, number in enumerate(bins[:lib.STRATA_ADAPTIVE_BUCKETS] if isinstance(bins, list) else []):
            metrics.off_by[index] = number if isinstance(number, int) and number > 0 else 0
        known = [(FEATURES.index(name), one) for name, one in features.items() if name in FEATURES and isinstance(one, dict)]
        trials = ffi.new("struct strata_adaptive_trial[]", [{
            "feature": index, "on": one.get("on") is True, "withdrawn": one.get("withdrawn") is True, "since": _count(one, "since"),
            "wait": _count(one, "wait"), "without": _sum(one.get("without")), "with": _sum(one.get("with"))} for index, one in known])
        for row, (index, _) in zip(trials, known):
            metrics.used[index] = getattr(row, "with").count
        call(lib.strata_adaptive_restore, self.raw, trials, len(known), metrics)
        self._remember()

    def _remember(self) -> None:
        metrics = self.metrics()
        self._counted = {"all": metrics["schedules"], **{name: metrics[name] for name in _COUNTERS}}
        self._bins = [number for _, number in metrics["off_by"]]

    def keep(self, kept: dict[str, Any]) -> None:
        """Puts what is known of features into what an experience file has; counts of others that wrote meanwhile stay."""
        metrics = self.metrics()
        ours = {"all": metrics["schedules"], **{name: metrics[name] for name in _COUNTERS}}
        held = kept.get("schedules")
        there: dict[str, Any] = held if isinstance(held, dict) else {}
        counted = there.get("off_by")
        bins: list[Any] = counted if isinstance(counted, list) else []
        merged: dict[str, Any] = {name: max(_count(there, name), self._counted.get(name, 0)) + value - self._counted.get(name, 0)
                                  for name, value in ours.items()}
        merged["off_by"] = []
        for index, (_, number) in enumerate(metrics["off_by"]):
            before = bins[index] if index < len(bins) and isinstance(bins[index], int) else 0
            merged["off_by"].append(max(before, self._bins[index]) + number - self._bins[index])
        raw, features = ffi.new("struct strata_adaptive_trial *"), {}
        for index, name in enumerate(FEATURES):
            lib.strata_adaptive_trial_at(self.raw, index, raw)
            sums = {word: [getattr(raw, word).count, getattr(raw, word).mean, getattr(raw, word).squares] for word in ("with", "without")}
            features[name] = {"on": bool(raw.on), "withdrawn": bool(raw.withdrawn), "since": raw.since, "wait": raw.wait, **sums}
        kept["features"], kept["schedules"] = features, merged
        self._remember()


def _count(held: Any, name: str) -> int:
    value = held.get(name) if isinstance(held, dict) else 0
    return value if isinstance(value, int) and 0 <= value < 2**62 else 0


def _sum(row: Any) -> dict[str, Any]:
    if not isinstance(row, list) or len(row) != 3 or not all(isinstance(one, (int, float)) for one in row):
        return {"count": 0, "mean": 0.0, "squares": 0.0}
    return {"count": max(int(row[0]), 0), "mean": float(row[1]), "squares": float(row[2])}


# ---- the file ----

def experience_path() -> Optional[str]:
    """Where experience is kept: $XDG_STATE_HOME/strata/experience.json, else under ~/.local/state. None: there is no home directory."""
    state, home = os.environ.get("XDG_STATE_HOME", ""), os.environ.get("HOME", "")
    if state.startswith("/"):
        return os.path.join(state, "strata", "experience.json")
    return os.path.join(home, ".local", "state", "strata", "experience.json") if home.startswith("/") else None


def read_experience(path: str) -> dict[str, Any]:
    """The file as it is; an empty one where there is none. MalformedError for one that is damaged."""
    try:
        if os.path.getsize(path) > lib.STRATA_EXPERIENCE_BYTES_MAX:
            raise MalformedError(f"{path} has more than {lib.STRATA_EXPERIENCE_BYTES_MAX} bytes; delete it to begin anew")
        with open(path, encoding="utf-8") as file:
            kept = json.load(file)
    except FileNotFoundError:
        return {"strata_experience": 1, "devices": {}}
    except (ValueError, RecursionError) as trouble:
        raise MalformedError(f"{path} is not a file of experience ({trouble}); delete it to begin anew") from None
    if not isinstance(kept, dict) or kept.get("strata_experience") != 1 or not isinstance(kept.get("devices"), dict):
        raise MalformedError(f"{path} is not a file of experience; delete it to begin anew")
    return kept


def load(path: str, adaptive: Adaptive, corrections: Corrections, names: Sequence[str]) -> None:
    """Takes what the file has of these devices, and of features."""
    kept = read_experience(path)
    for device, name in enumerate(names):
        rows = kept["devices"].get(f"{name} torch", {})
        for kind, row in rows.items() if isinstance(rows, dict) else ():
            try:
                corrections.restore(kind, device, float(row["slow"]), float(row["fast"]), int(row["count"]))
            except (KeyError, TypeError, ValueError, OverflowError) as trouble:
                raise MalformedError(f"{path}: {trouble}; delete the experience to begin anew") from None
    try:
        adaptive.restore(kept)
    except Error as trouble:
        raise MalformedError(f"{path}: {trouble}; delete the experience to begin anew") from None


def save(path: str, adaptive: Adaptive, corrections: Corrections, names: Sequence[str]) -> None:
    """Writes what there is, as a whole; what the file has of other devices stays."""
    try:
        kept = read_experience(path)
    except MalformedError:
        kept = {"strata_experience": 1, "devices": {}}  # what is in it cannot be used
    for kind, device, slow, fast, count in corrections.rows():
        kept["devices"].setdefault(f"{names[device]} torch", {})[kind] = {"slow": slow, "fast": fast, "count": count}
    adaptive.keep(kept)
    folder = os.path.dirname(path) or "."
    os.makedirs(folder, mode=0o700, exist_ok=True)
    handle, made = tempfile.mkstemp(dir=folder, prefix=".experience-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(kept, file, indent=1, sort_keys=True)
            file.flush()
            os.fsync(file.fileno())
        os.replace(made, path)
    except BaseException:
        os.unlink(made)
        raise
