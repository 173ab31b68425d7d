"""Denoising trajectories: any solver of libstrata on numpy arrays and torch tensors.

    >>> import numpy as np
    >>> solver = Solver("DPM++ 2M Karras", steps=5)
    >>> [round(t) for t in solver.timesteps]
    [999, 786, 427, 59, 0]
    >>> run = solver.start((1, 4, 8, 8), seed=42)
    >>> for row in run:
    ...     run.step(np.zeros_like(run.input()))    # here a model is called with run.input() and row.timestep
    >>> run.sample.shape
    (1, 4, 8, 8)

A solver is a table that never changes: any number of threads may share it. A run belongs to one thread at a time.
"""
from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Callable, Optional

from ._needs import need

need(__name__, "numpy", extra="numpy")
import numpy as np

from . import _apply, _table
from ._call import call, ffi, lib, memory, text
from ._table import Row
from .errors import InvalidError

__all__ = ["Noise", "Row", "Run", "Solver", "names", "schedules"]


def names() -> list[str]:
    """The solvers there are.

    >>> "ddim" in names() and "unipc" in names()
    True
    """
    return _names(0)


def schedules() -> list[str]:
    """The schedules of noise levels there are.

    >>> "karras" in schedules()
    True
    """
    return _names(1)


def _names(which: int) -> list[str]:
    registry, found = _table.registries()[which], []
    while (cls := lib.strata_registry_at(registry, len(found))) != ffi.NULL:
        found.append(text(cls.name))
    return found


class Noise:
    """Where the normals of a picture come from: "torch" (its CPU generator, to the bit), "brownian" (torch, and a Brownian tree for what
    DPM++ SDE and its like draw, as in k-diffusion), "cuda", "philox".

    >>> print(*(f"{value:.4f}" for value in Noise("torch", seed=0, shape=(1, 4, 8, 8)).tensor(0).ravel()[:3]))
    -1.1258 -1.1524 -0.2506
    """

    def __init__(self, source: str = "torch", *, seed: int = 0, shape: Sequence[int]) -> None:
        self.source, self.seed, self.shape = source, seed, tuple(int(size) for size in shape)
        members = self.shape[0] if len(self.shape) > 1 else 1
        self._memory, self._arena = memory(), ffi.new("struct strata_arena *")
        lib.strata_arena_init(self._arena, self._memory, 0)
        self._arena = ffi.gc(self._arena, lambda arena, _kept=self._memory: lib.strata_arena_fini(arena))
        self._raw = ffi.new("struct strata_solver_noise *")
        elements = math.prod(self.shape) // members if members else 0
        call(lib.strata_solver_noise_build, source.encode(), seed & (2**64 - 1), members, elements, self._arena, self._raw)

    def tensor(self, number: int) -> np.ndarray:
        """Tensor `number` of this seed: 0 is the first sample's, then one for each row that draws."""
        values = np.empty(self.shape, np.float32)
        lib.strata_solver_noise_fill(self._raw, number, ffi.from_buffer("float[]", values))
        return values

    def of_row(self, table: Any, row: Any, number: int) -> np.ndarray:
        """What a row of a table draws that is number `number` of those that do: tensor(number), or from "brownian" its stretch of a
        Brownian path."""
        values = np.empty(self.shape, np.float32)
        lib.strata_solver_noise_row(self._raw, table, row, number, ffi.from_buffer("float[]", values))
        return values


class Solver:
    """A solver, its settings and a number of steps, compiled.

    >>> Solver("ddim", steps=20, eta=0.5).rows[0].draws_noise
    True
    >>> Solver("ddim", steps=4, strength=0.5).timesteps
    array([251.,   1.])
    """

    def __init__(self, name: Optional[str] = None, steps: Optional[int] = None, *, config: Optional[Mapping[str, Any]] = None,
                 schedule: Optional[str] = None, sigmas: Optional[Sequence[float]] = None,
                 timesteps: Optional[Sequence[float]] = None, strength: Optional[float] = None, mu: Optional[float] = None,
                 sigmas_end: bool = False, **options: Any) -> None:
        """name is any that users know: "ddim", "Euler a", "DPM++ 2M SDE Karras", "EulerDiscreteScheduler", "sdxl"; None: the one that
        config, a diffusers scheduler_config.json as a dict, names. options are the solver's own (`strata solver show NAME`).
        sigmas_end: the last of sigmas is where the last step ends, even where it is not 0."""
        if name is None and config is None:
            raise InvalidError("neither a solver nor a configuration is named; expected one of them")
        if options and name is None:
            raise InvalidError("options need the name of a solver; expected name=")
        self.table = _table.build(name, steps, config=config, schedule=schedule, sigmas=sigmas, timesteps=timesteps, strength=strength,
                                  mu=mu, options=options, sigmas_end=sigmas_end)

    @property
    def name(self) -> str:
        """The class: "dpmpp_2m"."""
        return self.table.name

    @property
    def rows(self) -> tuple[Row, ...]:
        """The model calls, in order; of an adaptive solver those known beforehand."""
        return self.table.rows

    @property
    def timesteps(self) -> np.ndarray:
        """What the model is told at each call."""
        return np.array([row.timestep for row in self.rows if row.calls_model])

    @property
    def sigmas(self) -> np.ndarray:
        """The part of noise in the sample at each call."""
        return np.array([row.sigma for row in self.rows if row.calls_model])

    @property
    def init_noise_sigma(self) -> float:
        """What the first sample's noise is multiplied with."""
        return self.table.init_noise_sigma

    def __repr__(self) -> str:
        return f"<strata.solver.Solver {self.name}: {len(self.rows)} rows, {self.table.slot_count} slots>"

    def start(self, shape: Sequence[int], *, seed: int = 0, noise: str = "torch", clean: Any = None, dtype: Any = None,
              device: Any = None) -> "Run":
        """A run from noise of a seed; from a clean sample and noise where the solver has a strength (image to image).
        Arrays are numpy's unless dtype, device or the clean sample is torch's."""
        source = Noise(noise, seed=seed, shape=shape)
        first = source.tensor(0)
        wants_torch = _apply.is_torch(clean) or device is not None or type(dtype).__module__.startswith("torch")
        if wants_torch:
            import torch
            first = torch.from_numpy(first)
            kind = dtype or (clean.dtype if clean is not None else torch.float32)
            where = device or (clean.device if clean is not None else "cpu")
            noise_there = first.to(where)
            sample = _apply.weighted([(self.init_noise_sigma, noise_there)]) if clean is None else _apply.weighted(
                [(self.table.init_clean, clean.to(where, torch.float32)), (self.init_noise_sigma, noise_there)])
            return Run(self, sample.to(kind), source)
        if clean is None:
            sample = _apply.weighted([(self.init_noise_sigma, first)])
        else:
            sample = _apply.weighted([(self.table.init_clean, np.asarray(clean, np.float32)), (self.init_noise_sigma, first)])
        return Run(self, sample.astype(dtype or np.float32), source)

    def run(self, sample: Any, *, noise: Any = None) -> "Run":
        """A run from a sample of the caller's, which is stepped in place where it can be (contiguous, writable, in this machine's memory)."""
        return Run(self, sample, noise)

    def add_noise(self, clean: Any, noise: Any, row: int) -> Any:
        """A clean sample, noised to where a row stands."""
        at = self.rows[row]
        return _apply.weighted([(at.alpha, clean), (at.sigma, noise)])


class Run:
    """A sample on its way through a solver's rows, with what the rows keep."""

    def __init__(self, solver: Solver, sample: Any, noise: Any = None, *, compiled: Optional[bool] = None, operations: bool = False) -> None:
        """noise is a Noise, or a function of a tensor's number that returns normals like the sample. compiled: whether torch operations
        are compiled (default: on GPUs); operations: by them also where the C kernel could."""
        self.solver = solver
        self.sample: Any = sample
        """Where the run stands."""
        table = solver.table
        self._noise = noise
        self._drawn = 1
        self._walk = ffi.new("struct strata_solver_walk *", {"table": table.raw})
        self._element = None if operations else _apply.elements_of(sample)
        if self._element is not None and not _apply.contiguous(sample):
            self.sample = sample.contiguous() if _apply.is_torch(sample) else np.ascontiguousarray(sample)
        if not _apply.is_torch(self.sample) and not self.sample.flags.writeable:
            self.sample = self.sample.copy()
        self._stepped = self.sample
        self._slots = [self._empty() for _ in range(table.slot_count)]
        members = self.sample.shape[0] if len(self.sample.shape) > 1 else 1
        self._kernel = self._torch = None
        if self._element is None:
            self._torch = _apply.TorchRows(self.sample, compiled)
        else:
            self._kernel = _apply.Kernel(self._element, _apply.count_of(self.sample), members, self._slots)
        self._raw: Any = None
        self.row: Optional[Row] = None
        """The model call that is due; None at the end."""
        self._advance()

    def _empty(self) -> Any:
        if _apply.is_torch(self.sample):
            import torch
            return torch.zeros_like(self.sample)
        return np.zeros_like(self.sample)

    def __iter__(self) -> Iterator[Row]:
        """The rows that are left; step() goes on to the next."""
        while self.row is not None:
            due = self.row
            yield due
            if self.row is due:
                raise InvalidError(f"row {due.number} was not stepped; expected step() once for each row")

    def input(self) -> Any:
        """What the model gets: the sample, scaled. Without a scale it is the sample itself."""
        return self.sample if self.row is None else _apply.scaled(self.sample, self.row.input_scale)

    def step(self, output: Any, unguided: Any = None) -> None:
        """Goes on by the model's output for input() at row.timestep. unguided: its output for the empty prompt, which CFG++ solvers
        ask for."""
        if self.row is None:
            raise InvalidError("the run has ended; expected no further step")
        if self._kernel is None:
            _apply.check_fits(output, self.sample, "the output")
        else:
            if self.sample is not self._stepped:  # the caller's, since the last step
                _apply.check(self.sample, self._stepped, "the new sample")
                self._stepped = self.sample
            _apply.check(output, self.sample, "the output")
        if self.row.needs_unguided:
            if unguided is None:
                raise InvalidError(f"{self.solver.name} needs the output for the empty prompt too; expected step(output, unguided)")
            self._slots[lib.STRATA_SLOT_UNGUIDED][...] = unguided
        self._apply(output)
        self._advance()

    def _advance(self) -> None:
        """To the next row with a model call; those without are applied on the way."""
        while True:
            raw = lib.strata_solver_next(self._walk)
            if raw == ffi.NULL:
                self.row = self._raw = None
                return
            self._raw = raw
            index = self._walk.index - 1
            rows = self.solver.table.rows
            self.row = rows[index] if index < len(rows) else _table.row_of(raw, index)
            if self.row.calls_model:
                return
            self._apply(None)

    def _apply(self, output: Any) -> None:
        assert self.row is not None
        noise = self._draw() if self.row.draws_noise else None
        measured = self._raw.flags & lib.STRATA_ROW_MEASURE
        if self._kernel is not None:
            at = _apply.address(self.sample)
            self._kernel.apply(self._raw, at, 0 if output is None else _apply.address(output), at, 0 if noise is None else _apply.address(noise))
            if measured:
                self._walk.error = self._kernel.measure()
            return
        assert self._torch is not None
        known = self.row.number < len(self.solver.table.rows)
        self.sample = self._torch.apply(self._raw, self.row.number if known else None, self.sample, output, self._slots, noise)
        if measured:
            self._walk.error = _apply.torch_measure(self._raw, self.sample, self._slots)

    def _draw(self) -> Any:
        if self._noise is None:
            raise InvalidError(f"{self.solver.name} draws noise here; expected a run that was made with noise=")
        if isinstance(self._noise, Noise):
            values = self._noise.of_row(self.solver.table.raw, self._raw, self._drawn)
        else:
            values = self._noise(self._drawn)
        self._drawn += 1
        if _apply.is_torch(self.sample):
            import torch
            if not isinstance(values, torch.Tensor):
                values = torch.from_numpy(np.asarray(values, np.float32))
            values = values.to(self.sample.device, torch.float32).contiguous()
        else:
            values = np.ascontiguousarray(values, np.float32)
        _apply.check_fits(values, self.sample, "the noise")
        return values
