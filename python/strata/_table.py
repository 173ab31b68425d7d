"""Tables of solvers: compiled by libstrata, constant, shared by any number of threads."""
from __future__ import annotations

import json
import operator
import threading
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Optional

from ._call import Arena, call, ffi, lib, memory, text
from .errors import InvalidError

__all__ = ["Row", "Table", "build"]


class Row(NamedTuple):
    """One model call of a trajectory."""

    number: int
    """Of the row in its table, from 0."""
    timestep: float
    """What the model is told."""
    input_scale: float
    """What the sample is multiplied with on its way to the model."""
    alpha: float
    sigma: float
    """Where the sample stands: alpha·clean + sigma·noise."""
    step: int
    """Which of the solver's steps this call belongs to."""
    draws_noise: bool
    calls_model: bool
    needs_unguided: bool


def names_of(name: str) -> list[str]:
    """What the solver of this name or alias is called: its own name first."""
    found = ffi.new("const struct strata_class **")
    call(lib.strata_registry_find, registries()[0], name.encode(), len(name.encode()), found)
    return [text(found[0].name), *(word.strip() for word in text(found[0].aliases).split(","))]


class Sum(NamedTuple):
    """A linear combination: of sample, output, predicted clean sample, slots and noise. Zeros are left out of it."""

    terms: tuple[tuple[str, float], ...]

    @classmethod
    def of(cls, raw: Any) -> "Sum":
        named = [("x", raw.a), ("m", raw.e), ("y", raw.b), *((f"s{k}", raw.c[k]) for k in range(len(raw.c))), ("n", raw.d)]
        return cls(tuple((name, value) for name, value in named if value != 0))


class Arithmetic(NamedTuple):
    """What a row computes, for those who do it without the C kernel."""

    clean: tuple[float, float]
    flags: int
    limit: float
    threshold_ratio: float
    next: Sum
    writes: tuple[tuple[int, Sum], ...]


def arithmetic(raw: Any) -> Arithmetic:
    writes = tuple((raw.writes[k].slot, Sum.of(raw.writes[k].sum)) for k in range(raw.write_count))
    return Arithmetic((raw.p, raw.q), raw.flags, raw.limit, raw.threshold_ratio, Sum.of(raw.next), writes)


def row_of(raw: Any, index: int) -> Row:
    flags = raw.flags
    return Row(index, raw.timestep, raw.input_scale, raw.alpha, raw.sigma, raw.step, bool(flags & lib.STRATA_ROW_NOISE),
               not flags & lib.STRATA_ROW_NO_MODEL, bool(flags & lib.STRATA_ROW_UNGUIDED))


class Table:
    """A compiled trajectory. Immutable."""

    def __init__(self, raw: Any, owner: Any) -> None:
        self.raw = ffi.gc(raw, lambda table: lib.strata_solver_table_free(table, owner))
        self.name = text(raw.cls.base.name)
        self.rows = tuple(row_of(raw.rows[index], index) for index in range(raw.row_count))
        self.raw_rows = tuple(raw.rows + index for index in range(raw.row_count))
        self.slot_count = int(raw.slot_count)
        self.step_count = int(raw.step_count)
        self.init_noise_sigma = float(raw.init_noise_sigma)
        self.init_clean = float(raw.init_clean)
        self.adaptive = raw.cls.next_row != ffi.NULL


_lock = threading.Lock()
_registries: Optional[tuple[Any, Any, Any]] = None


def registries() -> tuple[Any, Any]:
    """The solvers and the schedules there are; made once and never freed."""
    global _registries
    with _lock:
        if _registries is None:
            owner, made = memory(), []
            for kind in (b"solver", b"schedule"):
                out = ffi.new("struct strata_registry **")
                call(lib.strata_registry_new, lib.strata_kind_find(kind), owner, out)
                made.append(out[0])
            _registries = (owner, *made)
    return _registries[1], _registries[2]


def quoted(value: Any) -> str:
    """An option's value as it is written behind `key=`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    if isinstance(value, (list, tuple)):
        return "'" + ",".join(repr(float(item)) if isinstance(item, float) else str(item) for item in value) + "'"
    if hasattr(value, "item"):
        return quoted(value.item())
    raise TypeError(f"an option is a number, a text, a truth value or a list; not {type(value).__name__}")


def request(steps: Optional[int], sigmas: Optional[Sequence[float]], timesteps: Optional[Sequence[float]], strength: Optional[float],
            mu: Optional[float], sigmas_end: bool = False) -> tuple[Any, list[Any]]:
    """A struct strata_solver_request, and what must live as long."""
    raw, kept = ffi.new("struct strata_solver_request *"), []
    if steps is not None and (not hasattr(steps, "__index__") or abs(operator.index(steps)) >= 2**31):
        raise InvalidError(f"steps is {steps!r}; expected a whole number from 1 to 10000")
    raw.steps = steps or 0
    for name, values in (("sigma", sigmas), ("timestep", timesteps)):
        if values is not None:
            array = ffi.new("double[]", [float(value) for value in values])
            kept.append(array)
            setattr(raw, name + "s", array)
            setattr(raw, name + "_count", len(array))
    raw.sigmas_end = sigmas_end
    if strength is not None:
        raw.has_strength, raw.strength = True, strength
    if mu is not None:
        raw.has_mu, raw.mu = True, mu
    return raw, kept


def _config_text(config: Mapping[str, Any]) -> bytes:
    """A configuration as JSON. What JSON has no form for is written as a text: passed over under a key that no solver has, else refused."""
    if not isinstance(config, Mapping):
        raise InvalidError(f"the configuration is a {type(config).__name__}; expected a dict")
    for key, value in config.items():
        if isinstance(value, float) and value != value:
            raise InvalidError(f"{key} is NaN; expected a number")
    return json.dumps(dict(config), default=lambda value: value.tolist() if hasattr(value, "tolist") else repr(value)).encode()


def build(name: Optional[str], steps: Optional[int] = None, *, config: Optional[Mapping[str, Any]] = None, schedule: Optional[str] = None,
          sigmas: Optional[Sequence[float]] = None, timesteps: Optional[Sequence[float]] = None, strength: Optional[float] = None,
          mu: Optional[float] = None, options: Optional[Mapping[str, Any]] = None, sigmas_end: bool = False) -> Table:
    """Compiles a table. name may be None where a configuration names the class."""
    words = name
    if options and name is not None:
        words = ":".join([name, *(f"{key}={quoted(value)}" for key, value in options.items())])
    solvers, schedules = registries()
    raw, kept = request(steps, sigmas, timesteps, strength, mu, sigmas_end)
    with Arena() as arena:
        setup = ffi.new("struct strata_solver_setup *")
        if config is None:
            data = (words or "").encode()
            call(lib.strata_solver_read, solvers, schedules, data, len(data), arena, setup)
        else:
            data = _config_text(config)
            call(lib.strata_solver_read_over, solvers, schedules, ffi.NULL if words is None else words.encode(), data, len(data), arena, setup)
        if schedule is not None:
            spec = ffi.new("struct strata_spec *")
            data = schedule.encode()
            call(lib.strata_spec_read, schedules, data, len(data), arena, spec)
            raw.schedule = spec
        elif setup.schedule.cls != ffi.NULL:
            raw.schedule = ffi.addressof(setup, "schedule")
            raw.drop_penultimate = setup.drop_penultimate
        owner, out = memory(), ffi.new("struct strata_solver_table **")
        cls = ffi.cast("const struct strata_solver_class *", setup.solver.cls)
        call(lib.strata_solver_compile, cls, setup.solver.conf, raw, owner, out)
    del kept
    return Table(out[0], owner)
