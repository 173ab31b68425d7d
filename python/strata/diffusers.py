"""A scheduler for diffusers pipelines whose steps are rows of a Strata table.

    pipe.scheduler = strata.diffusers.Scheduler.from_config(pipe.scheduler.config)

The pictures are those of the scheduler it replaces, within float32 rounding; text to image and image to image.

One object may serve any number of pipelines and threads at once. What changes while a picture is drawn is not in the object: it
belongs to the timesteps that set_timesteps() made. A pipeline walks along `scheduler.timesteps`, and each of its elements is a view
of that tensor, so step() finds by the memory that a timestep lies in whose turn it is and at which row. Two pictures that are drawn by
turns in one thread do not disturb each other either. The state goes when the timesteps do.
"""
from __future__ import annotations

import functools
import inspect
import threading
import weakref
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, Optional, Union

from ._needs import need

need(__name__, "diffusers", "numpy", "torch", extra="diffusers")
import diffusers
import numpy as np
import torch
from diffusers.configuration_utils import ConfigMixin, FrozenDict
from diffusers.pipelines.pipeline_utils import DiffusionPipeline
from diffusers.schedulers.scheduling_utils import SchedulerMixin
from diffusers.utils.outputs import BaseOutput
from diffusers.utils.torch_utils import randn_tensor

from . import _apply, _table
from ._call import lib
from ._table import Table
from .solver import Noise
from .errors import InvalidError, NotFoundError, UnsupportedError

__all__ = ["Scheduler", "StepOutput"]

# Arguments of step() that change the table, by the names that both sides have for them.
_STEP_OPTIONS = ("eta", "order", "s_churn", "s_tmin", "s_tmax", "s_noise", "use_clipped_model_output")
# Those that step() of a class takes and does not look at.
_UNUSED_OPTIONS = {"CogVideoXDDIMScheduler": ("eta", "use_clipped_model_output"),
                   "FlowMatchEulerDiscreteScheduler": ("s_churn", "s_tmin", "s_tmax", "s_noise")}
# That draw noise in float32 whatever the model computes in: torch draws other numbers in float16.
_DRAWS_FLOAT = ("DPMSolverMultistepScheduler", "FlowMatchEulerDiscreteScheduler", "FlowMatchLCMScheduler", "LTXEulerAncestralRFScheduler")
# Whose own sigmas end with where the last step ends.
_SIGMAS_END = ("EulerDiscreteScheduler", "LTXEulerAncestralRFScheduler")
# Schedules as users write them behind a sampler's name, and what diffusers calls them.
_SCHEDULES = {"karras": "use_karras_sigmas", "exponential": "use_exponential_sigmas", "beta": "use_beta_sigmas"}
_PROBE_STEPS = 10  # what a scheduler is tried with when it is made
_DEVICE_CHAINS_MAX = 64  # timesteps on other devices that are remembered at once


class StepOutput:
    """What step() returns: prev_sample, and what else the replaced scheduler returns (pred_original_sample or denoised), which is
    computed when it is first asked for."""

    def __init__(self, prev_sample: torch.Tensor, second: Optional[str] = None, make: Any = None) -> None:
        self.prev_sample = prev_sample
        self._second, self._make = second, make

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name != self._second:
            raise AttributeError(f"the step has no {name!r}")
        value = self._make()
        setattr(self, name, value)
        return value

    def to_tuple(self) -> tuple[Any, ...]:
        return (self.prev_sample,) if self._second is None else (self.prev_sample, getattr(self, self._second))

    def __getitem__(self, key: Any) -> Any:
        return getattr(self, key) if isinstance(key, str) else self.to_tuple()[key] if key else self.prev_sample


class _Pair(tuple):
    """(prev_sample, second) whose second is computed when it is asked for."""

    _output: StepOutput

    @classmethod
    def of(cls, output: StepOutput) -> "_Pair":
        pair = cls((output.prev_sample, None))
        pair._output = output
        return pair

    def __iter__(self) -> Any:
        return iter(self._output.to_tuple())

    def __getitem__(self, key: Any) -> Any:
        return self._output[key] if isinstance(key, int) else self._output.to_tuple()[key]


class _Timesteps(np.ndarray):
    """The memory of a timesteps tensor on the CPU. torch holds it as long as the tensor or a view of it is there; with it goes the chain."""

    chain: "_Chain"


class _Position:
    """Where one picture stands: the part of the table that it goes through, and the slots."""

    __slots__ = ("table", "calls", "due", "slots", "kernel", "rows", "like", "tree", "words")

    def __init__(self, table: Table, skipped: int, first: int, sample: torch.Tensor) -> None:
        """The table begins at call number `skipped` of the chain, the picture at number `first`."""
        self.table, self.due = table, first
        self.words: tuple[Any, ...] = ()  # of step(), that the table was made for
        self.tree: Optional[Noise] = None  # what the rows of an SDE draw from
        self.calls = [-1] * skipped + [row.number for row in table.rows if row.calls_model]
        self.like = (sample.shape, sample.dtype, sample.device)
        self.slots = [torch.zeros_like(sample, memory_format=torch.contiguous_format) for _ in range(table.slot_count)]
        element = _apply.elements_of(sample)
        self.kernel = self.rows = None
        if element is None:
            self.rows = _apply.TorchRows(sample)
        else:
            members = sample.shape[0] if sample.dim() > 1 else 1
            self.kernel = _apply.Kernel(element, sample.numel(), members, self.slots)


class _Chain:
    """What set_timesteps() was asked for, and the picture that goes along it."""

    def __init__(self, table: Table, asked: dict[str, Any], earlier: Sequence[float] = (), why: Optional[Exception] = None) -> None:
        """earlier: timesteps before the table's first that cannot be stepped, and why."""
        self.table, self.asked, self._why = table, asked, why
        self.calls = [-1] * len(earlier) + [row.number for row in table.rows if row.calls_model]
        self.values = [*earlier, *(table.rows[index].timestep for index in self.calls[len(earlier):])]
        self.position: Optional[_Position] = None
        self.begin = 0
        self.sigmas: Optional[torch.Tensor] = None


    def row(self, index: int) -> Any:
        """The row of a model call."""
        if self.calls[index] < 0:
            assert self._why is not None
            raise self._why
        return self.table.rows[self.calls[index]]


def _named(name: str) -> tuple[str, dict[str, Any]]:
    """The class of diffusers that is a sampler which users know by another name, and the settings that make it that one."""
    words = name.split()
    settings: dict[str, Any] = {}
    if words and words[-1].lower() in _SCHEDULES:
        chosen = _SCHEDULES[words.pop().lower()]
        settings = {flag: flag == chosen for flag in _SCHEDULES.values()}
    if [word.lower() for word in words] == ["dpm++", "2m", "sde"]:
        words.pop()
        settings["algorithm_type"] = "sde-dpmsolver++"
    try:
        names = _table.names_of(" ".join(words))
    except NotFoundError as wrong:
        more = "" if str(wrong).endswith("?") else f"; expected a class of diffusers, or a sampler with {', '.join(_SCHEDULES)} or nothing behind it"
        raise NotFoundError(f"there is no scheduler {name!r}; {str(wrong).partition('; ')[2]}{more}") from None
    kind = next((one for one in names if one.endswith("Scheduler") and hasattr(diffusers, one)), None)
    if kind is None:
        raise UnsupportedError(f"diffusers has no scheduler that is {name!r}, which a pipeline could take; strata.solver.Solver({name!r}, steps=…) has it")
    takes = inspect.signature(getattr(diffusers, kind).__init__).parameters
    for flag, on in settings.items():
        if on and flag not in takes:
            raise UnsupportedError(f"{kind} of diffusers has no {flag}, so that there is no {name!r}")
    return kind, {flag: value for flag, value in settings.items() if flag in takes}


class Scheduler(SchedulerMixin, ConfigMixin):
    """A diffusers scheduler by a Strata table. Made by from_config() or from_scheduler()."""

    config_name = "scheduler_config.json"

    def __init__(self, original: Any) -> None:
        """original is a diffusers scheduler; it is asked for constants and never stepped."""
        if not hasattr(original, "step") or not hasattr(original, "set_timesteps"):
            raise UnsupportedError(f"{type(original).__name__} has no step(); expected a scheduler that has")
        self._internal_dict = FrozenDict(dict(original.config))
        self._name = type(original).__name__
        self.__module__ = type(original).__module__  # which a pipeline writes into its model_index.json
        self._step_words = set(inspect.signature(original.step).parameters)
        self._second = _second_field(original)
        self._local = threading.local()
        self._on_cpu: dict[int, Any] = {}
        self._elsewhere: OrderedDict[int, tuple[torch.Tensor, _Chain]] = OrderedDict()
        self._lock = threading.Lock()
        self._settle(original)
        try:
            self._table_for(_PROBE_STEPS, mu=1.0 if self._settings.get("use_dynamic_shifting") else None)  # refuses here what there is no table for
        except NotFoundError:
            raise UnsupportedError(f"there is no table for {self._name} of diffusers; a pipeline keeps it as its own") from None
        except InvalidError:  # there may be one for other timesteps
            pass

    def _settle(self, original: Any) -> None:
        """Goes by the configuration of a scheduler from here on."""
        config = {key: _plain(value) for key, value in original.config.items() if not key.startswith("_")}
        self._original, self._settled = original, self._internal_dict
        self._settings = {"_class_name": self._name, **config}
        self._tables: dict[Any, Table] = {}
        probe = _fresh(original)
        try:
            probe.set_timesteps(_PROBE_STEPS)
            self._dtype = probe.timesteps.dtype
        except Exception:  # its schedule needs more to be known (mu)
            self._dtype = torch.float32

    # ---- made from what diffusers has ----

    @classmethod
    def from_config(cls, config: Any = None, name: Optional[str] = None, **changes: Any) -> "Scheduler":  # type: ignore[override]
        """From a scheduler's configuration, whose class is the one it names; or `name`: a class of diffusers, or a sampler that users know
        ("DPM++ 2M Karras", "Euler a"). changes go over it.

        >>> Scheduler.from_config({"_class_name": "EulerDiscreteScheduler"}, "DPM++ 2M SDE Karras").config["algorithm_type"]
        'sde-dpmsolver++'
        """
        if config is None:
            raise InvalidError("there is no configuration; expected pipe.scheduler.config or a dict")
        if isinstance(config, SchedulerMixin):
            return cls.from_scheduler(config, **changes)
        if not isinstance(config, Mapping):
            raise InvalidError(f"the configuration is a {type(config).__name__}; expected pipe.scheduler.config or a dict")
        config = dict(config)
        found = name or config.get("_class_name") or _class_by_keys(config)
        original = _class_named(found)
        if original is None and name is None:
            raise NotFoundError(f"the configuration names {found!r}, and diffusers has no such scheduler; expected the name of one of its classes")
        if original is None:
            found, settings = _named(str(found))
            original, changes = getattr(diffusers, found), {**settings, **changes}
        same = config.get("_class_name", found) == found
        return cls(_made(original, {**config, **changes}) if same else original.from_config(config, **changes))

    @classmethod
    def from_scheduler(cls, scheduler: Any, **changes: Any) -> "Scheduler":
        """From a scheduler of diffusers as it is."""
        return cls(_made(_class_of(scheduler), {**scheduler.config, **changes}))

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path: Any = None, subfolder: Optional[str] = None, return_unused_kwargs: bool = False,
                        **words: Any) -> "Scheduler":
        """From a folder with a scheduler_config.json, or from the hub."""
        config, _ = ConfigMixin.load_config.__func__(
            cls, pretrained_model_name_or_path, subfolder=subfolder, return_unused_kwargs=True, **words)
        return cls.from_config(config)

    # isinstance() and what is saved go by the scheduler that this stands for.
    @property
    def __class__(self) -> type:  # type: ignore[override]
        original = self.__dict__.get("_original")
        return type(original) if original is not None else Scheduler

    def __deepcopy__(self, memo: Any) -> "Scheduler":
        return Scheduler(_fresh(self._original))

    def __reduce__(self) -> Any:
        return _remake, (self._name, dict(self.config))

    def __repr__(self) -> str:
        return f"strata.diffusers.Scheduler as {ConfigMixin.__repr__(self)}"

    def __len__(self) -> int:
        return int(self.config["num_train_timesteps"])

    def __getattr__(self, name: str) -> Any:
        """Constants (alphas_cumprod, betas …) are the original's."""
        if name.startswith("__") or "_original" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.__dict__["_original"], name)

    # ---- timesteps ----

    @property
    def order(self) -> int:
        return int(self._original.order)

    @property
    def timesteps(self) -> torch.Tensor:
        """What this thread last asked for; before that, the training's."""
        return getattr(self._local, "timesteps", self._original.timesteps)

    @property
    def num_inference_steps(self) -> Optional[int]:
        chain = self._current()
        return None if chain is None else chain.table.step_count

    @property
    def init_noise_sigma(self) -> Any:
        chain = self._current()
        return getattr(self._original, "init_noise_sigma", 1.0) if chain is None else torch.tensor(chain.table.init_noise_sigma)

    @property
    def sigmas(self) -> torch.Tensor:
        """As the original has them, for pipelines that look at them."""
        chain = self._current()
        if chain is None:
            return self._original.sigmas
        if chain.sigmas is None:
            other = _fresh(self._original)
            other.set_timesteps(**chain.asked["words"])
            chain.sigmas = other.sigmas
        assert chain.sigmas is not None
        return chain.sigmas

    @property
    def begin_index(self) -> Optional[int]:
        chain = self._current()
        return None if chain is None else chain.begin

    @property
    def step_index(self) -> Optional[int]:
        chain = self._current()
        return None if chain is None or chain.position is None else chain.position.due

    def set_begin_index(self, begin_index: int = 0) -> None:
        """Where image to image begins. step() sees that by itself; add_noise() goes by it."""
        chain = self._current()
        if chain is not None:
            chain.begin = int(begin_index)

    def set_timesteps(self, num_inference_steps: Optional[int] = None, device: Union[str, torch.device, None] = None,
                      timesteps: Optional[Sequence[float]] = None, sigmas: Optional[Sequence[float]] = None, mu: Optional[float] = None,
                      original_inference_steps: Optional[int] = None, strength: Optional[float] = None, **others: Any) -> None:
        """New timesteps for this thread; those of others, and those made before, stay as they are."""
        unknown = [key for key, value in others.items() if value is not None]
        if unknown:
            raise UnsupportedError(f"set_timesteps has no {unknown[0]!r} here")
        with self._lock:
            if self._internal_dict is not self._settled:  # by register_to_config(), or by a pipeline that was made with this
                self._settle(_made(type(self._original), self._internal_dict))
        words = {"num_inference_steps": num_inference_steps, "timesteps": timesteps, "sigmas": sigmas, "mu": mu,
                 "original_inference_steps": original_inference_steps, "strength": strength}
        words = {key: _plain(value) for key, value in words.items() if value is not None}
        options = {}
        if original_inference_steps is not None:
            options["original_inference_steps"] = int(original_inference_steps)
            if self._name == "TCDScheduler":
                options["over_training"] = True
        asked = {"steps": None if timesteps is not None or sigmas is not None else num_inference_steps, "mu": words.get("mu"),
                 "timesteps": _tuple(words.get("timesteps")), "sigmas": _tuple(words.get("sigmas")), "options": options, "words": words}
        if "strength" in words and "strength" in inspect.signature(self._original.set_timesteps).parameters:
            asked["strength"] = float(words["strength"])
        self._local.timesteps = self._tensor(self._chain(asked), device)

    def _chain(self, asked: dict[str, Any]) -> _Chain:
        wanted = {key: asked[key] for key in asked if key != "words"}
        try:
            return _Chain(self._table_for(**wanted), asked)
        except InvalidError as wrong:
            found = self._without_the_first(wanted, asked["words"], wrong)
            if found is None:
                raise
            return _Chain(found[0], asked, found[1], wrong)

    def _without_the_first(self, wanted: dict[str, Any], words: Mapping[str, Any], why: Exception) -> Optional[tuple[Table, list[float]]]:
        """Some timesteps cannot be stepped from (pure noise, of which a prediction of noise says nothing), but those after them can: a
        pipeline may begin there. The longest table, and the timesteps before it."""
        steps = wanted["steps"] or len(wanted["timesteps"] or wanted["sigmas"] or ())
        if wanted.get("strength") is not None or steps < 2:
            return None
        other = _fresh(self._original)
        try:
            other.set_timesteps(**words)
        except Exception:  # pylint: disable=broad-except  # refused by diffusers as well
            return None
        told = [float(value) for value in other.timesteps]
        for left in range(steps - 1, 0, -1):
            try:
                table = self._table_for(**{**wanted, "strength": (left + 0.5) / steps})
            except InvalidError:
                continue
            calls = [row.timestep for row in table.rows if row.calls_model]
            return table, told[:len(told) - len(calls)]
        return None

    def _tensor(self, chain: _Chain, device: Any) -> torch.Tensor:
        values = chain.values
        kind = {torch.int64: np.int64, torch.float64: np.float64}.get(self._dtype, np.float32)
        if kind is np.int64 and any(value != int(value) for value in values):
            kind = np.float32
        memory = np.array(values, kind).view(_Timesteps)
        memory.chain = chain
        tensor = torch.from_numpy(memory)
        where = torch.device("cpu" if device is None else device)
        if where.type == "cpu":
            key = tensor.data_ptr()
            self._on_cpu[key] = weakref.ref(memory, lambda gone: self._forget(key, gone))
            return tensor
        tensor = tensor.to(where)
        with self._lock:
            self._elsewhere[tensor.data_ptr()] = (tensor, chain)
            while len(self._elsewhere) > _DEVICE_CHAINS_MAX:
                self._elsewhere.popitem(last=False)
        return tensor

    def _forget(self, key: int, gone: Any) -> None:
        if self._on_cpu.get(key) is gone:
            del self._on_cpu[key]

    def _chain_at(self, tensor: torch.Tensor) -> Optional[_Chain]:
        """The chain in whose timesteps this tensor lies."""
        key = int(tensor.data_ptr() - tensor.storage_offset() * tensor.element_size())
        if tensor.device.type != "cpu":
            found = self._elsewhere.get(key)
            return found[1] if found else None
        memory = self._on_cpu.get(key)
        memory = memory() if memory is not None else None
        return None if memory is None else memory.chain

    def _current(self) -> Optional[_Chain]:
        tensor = getattr(self._local, "timesteps", None)
        return None if tensor is None else self._chain_at(tensor)

    def _find(self, timestep: Any) -> tuple[_Chain, int]:
        """Whose timestep this is, and which of its model calls."""
        if isinstance(timestep, torch.Tensor) and timestep.numel() == 1:
            chain = self._chain_at(timestep)
            if chain is not None and timestep.storage_offset() < len(chain.calls):
                return chain, int(timestep.storage_offset())
        chain = self._current()
        if chain is None:
            raise InvalidError("there are no timesteps in this thread; expected set_timesteps() first")
        value = float(timestep if not isinstance(timestep, torch.Tensor) else timestep.reshape(-1)[0])
        due = chain.position.due if chain.position is not None else chain.begin
        return chain, self._nearest(chain, value, due)

    @staticmethod
    def _nearest(chain: _Chain, value: float, due: int) -> int:
        order = [*range(due, len(chain.calls)), *range(0, due)]
        for index in order:
            if abs(chain.values[index] - value) <= 1e-4 * max(1.0, abs(value)):
                return index
        known = ", ".join(f"{known:g}" for known in chain.values[:8])
        raise InvalidError(f"there is no timestep {value:g}; expected one of {known}{' …' if len(chain.calls) > 8 else ''}")

    # ---- tables ----

    def _table_for(self, steps: Optional[int], mu: Optional[float] = None, timesteps: Any = None, sigmas: Any = None,
                   options: Optional[Mapping[str, Any]] = None, strength: Optional[float] = None) -> Table:
        key = (steps, mu, timesteps, sigmas, tuple(sorted((options or {}).items())), strength)
        table = self._tables.get(key)
        if table is None:
            name = self._name if options else None
            table = _table.build(name, steps, config=self._settings, mu=mu, timesteps=timesteps, sigmas=sigmas, strength=strength, options=options,
                                 sigmas_end=sigmas is not None and self._name in _SIGMAS_END)
            if len(self._tables) >= 256:
                self._tables.clear()
            self._tables[key] = table
        return table

    def _start(self, chain: _Chain, index: int, sample: torch.Tensor, words: Mapping[str, Any]) -> _Position:
        """A picture begins at a model call: at the first, or later for image to image, where the table has no history."""
        asked = {key: value for key, value in chain.asked.items() if key != "words"}
        kinds = {"use_clipped_model_output": bool, "order": int}
        unused = _UNUSED_OPTIONS.get(self._name, ())
        options = {key: kinds.get(key, float)(value) for key, value in words.items()
                   if value is not None and key in self._step_words and key not in unused}
        plain = {key: value for key, value in options.items() if value != _defaults(type(self._original)).get(key)}
        if plain or "eta" in options:
            asked["options"] = {**asked["options"], **plain, **({"eta": options["eta"]} if "eta" in options else {})}
        chain.row(index)  # refuses what cannot be stepped from
        if chain.calls[0] >= 0:
            whole = self._table_for(**asked)
            if index == 0 or whole.slot_count == 0:
                return _Position(whole, 0, index, sample)
        left, total = len(chain.calls) - index, len(chain.calls)
        table = self._later_part(asked, left, total, chain.values[index])
        return _Position(table, index, index, sample)

    def _later_part(self, asked: dict[str, Any], left: int, total: int, timestep: float) -> Table:
        """The table of the last `left` of `total` model calls."""
        steps = asked["steps"] or len(asked["timesteps"] or asked["sigmas"] or ()) or total
        guesses = [left / total, *((k + 0.5) / steps for k in range(steps))]
        for strength in guesses:
            if not 0 < strength <= 1:
                continue
            try:
                table = self._table_for(**{**asked, "strength": strength})
            except InvalidError:
                continue
            calls = [row for row in table.rows if row.calls_model]
            if len(calls) == left and abs(calls[0].timestep - timestep) <= 1e-4 * max(1.0, abs(timestep)):
                return table
        raise UnsupportedError(f"{self._name} cannot begin at the {total - left}th of {total} model calls")

    # ---- steps ----

    def scale_model_input(self, sample: torch.Tensor, timestep: Any = None) -> torch.Tensor:
        if timestep is None:
            return sample
        chain, index = self._find(timestep)
        scale = chain.row(index).input_scale
        return sample if scale == 1 else sample * scale

    def step(self, model_output: torch.Tensor, timestep: Any, sample: torch.Tensor, eta: Optional[float] = None,
             use_clipped_model_output: Optional[bool] = None, generator: Any = None, variance_noise: Optional[torch.Tensor] = None,
             s_churn: Optional[float] = None, s_tmin: Optional[float] = None, s_tmax: Optional[float] = None,
             s_noise: Optional[float] = None, noise: Optional[torch.Tensor] = None, order: Optional[int] = None, return_dict: bool = True,
             **others: Any) -> Any:
        """The next sample. The model's output and the sample stay as they are."""
        unknown = [key for key, value in others.items() if value is not None]
        if unknown:
            raise UnsupportedError(f"step has no {unknown[0]!r} here")
        for what, given in (("the sample", sample), ("the output", model_output)):
            if not isinstance(given, torch.Tensor):
                raise TypeError(f"{what} is a {type(given).__name__}; expected a tensor")
        _apply.check_fits(model_output, sample, "the output")
        chain, index = self._find(timestep)
        kind = model_output.dtype
        if kind != sample.dtype:
            wide = torch.promote_types(kind, sample.dtype)
            model_output, sample = model_output.to(wide), sample.to(wide)
        position = chain.position
        said = (eta, order, s_churn, s_tmin, s_tmax, s_noise, use_clipped_model_output)
        if position is not None and (position.due != index or position.like != (sample.shape, sample.dtype, sample.device)):
            position = None  # another picture, or another place in it
        if position is None or position.words != said:
            if position is not None and position.slots:
                raise UnsupportedError(f"step is told other options in the middle of a picture, of which {self._name} keeps earlier steps; expected the same")
            position = chain.position = self._start(chain, index, sample, dict(zip(_STEP_OPTIONS, said)))
            position.words = said
        if position.kernel is not None and torch.is_grad_enabled() and (model_output.requires_grad or sample.requires_grad):
            position.kernel, position.rows = None, _apply.TorchRows(sample)  # gradients go through torch's operations alone
        table = position.table
        at = position.calls[index]

        def draw(row: Any) -> torch.Tensor:
            given = variance_noise if variance_noise is not None else noise
            if given is None and row.noise_from > 0:
                if position.tree is None:
                    position.tree = Noise("brownian", seed=self._tree_seed(generator), shape=tuple(sample.shape))
                given = torch.from_numpy(position.tree.of_row(table.raw, row, 1)).to(model_output.device)
            if given is None:
                drawn = torch.float32 if self._name in _DRAWS_FLOAT else kind
                given = randn_tensor(model_output.shape, generator=generator, device=model_output.device, dtype=drawn)
            _apply.check_fits(given, sample, "the noise")
            return given.to(torch.float32).contiguous()

        result = self._apply(position, at, model_output, sample, draw)
        following = at + 1
        while following < len(table.rows) and not table.rows[following].calls_model:
            result = self._apply(position, following, None, result, draw)
            following += 1
        position.due = index + 1
        if position.due == len(chain.calls):
            chain.position = None
        if result.dtype != kind and isinstance(self._original, _FLOWS):
            result = result.to(kind)
        if self._second is None:
            return StepOutput(result) if return_dict else (result,)
        make = _denoised if self._second == "denoised" else _clean
        output = StepOutput(result, self._second, functools.partial(make, table, at, model_output, sample))
        return output if return_dict else _Pair.of(output)

    def _tree_seed(self, generator: Any) -> int:
        """The seed of a Brownian tree: of the configuration, or of the generator, or any."""
        seed = self.config.get("noise_sampler_seed")
        if seed is None and isinstance(generator, torch.Generator) and "noise_sampler_seed" not in self.config:
            seed = generator.initial_seed()
        return int(torch.randint(0, 2**63 - 1, []).item()) if seed is None else int(seed)

    @staticmethod
    def _apply(position: _Position, at: int, output: Optional[torch.Tensor], sample: torch.Tensor, draw: Any) -> torch.Tensor:
        raw, row = position.table.raw_rows[at], position.table.rows[at]
        noise = draw(raw) if row.draws_noise else None
        if position.kernel is None:
            assert position.rows is not None
            return position.rows.apply(raw, at, sample, output, position.slots, noise)
        if not sample.is_contiguous():
            sample = sample.contiguous()
        if output is not None and not output.is_contiguous():
            output = output.contiguous()
        result = torch.empty_like(sample)
        position.kernel.apply(raw, sample.data_ptr(), 0 if output is None else output.data_ptr(), result.data_ptr(),
                              0 if noise is None else noise.data_ptr())
        return result

    # ---- noising ----

    def add_noise(self, original_samples: torch.Tensor, noise: torch.Tensor, timesteps: torch.Tensor) -> torch.Tensor:
        """Clean samples, noised to where timesteps stand; in training, to any of the training's."""
        chain = self._current()
        if chain is None or self._name == "SASolverScheduler":  # which noises as the training did, on whatever levels it steps
            return self._original.add_noise(original_samples, noise, timesteps)
        known: list[tuple[float, float]] = []
        for timestep in timesteps.reshape(-1):
            owner = self._chain_at(timestep) or chain
            try:
                known.append(self._level(owner, self._nearest(owner, float(timestep), owner.begin)))
            except InvalidError:  # between the rows: where the original would put it
                return self._original.add_noise(original_samples, noise, timesteps)
        shape = (-1, *[1] * (original_samples.dim() - 1))
        alpha = torch.tensor([alpha for alpha, _ in known], device=original_samples.device, dtype=original_samples.dtype).reshape(shape)
        sigma = torch.tensor([sigma for _, sigma in known], device=original_samples.device, dtype=original_samples.dtype).reshape(shape)
        return alpha * original_samples + sigma * noise

    def _level(self, chain: _Chain, index: int) -> tuple[float, float]:
        """Where a sample stands at a model call. KDPM2 noises to its next whole step between two of them."""
        row = chain.row(index)
        return (row.alpha, float(self.sigmas[index])) if self._name.startswith("KDPM2") and chain is self._current() else (row.alpha, row.sigma)

    def scale_noise(self, sample: torch.Tensor, timestep: torch.Tensor, noise: Optional[torch.Tensor] = None) -> torch.Tensor:
        """add_noise under the name that flow schedulers have for it."""
        if noise is None:
            noise = torch.randn_like(sample)
        return self.add_noise(sample, noise, timestep if timestep.dim() else timestep.reshape(1))


def _remake(name: str, config: dict[str, Any]) -> Scheduler:
    return Scheduler.from_config(config, name=name)


def _fresh(scheduler: Any) -> Any:
    """Another of the same class and configuration, as if never used."""
    return _made(_class_of(scheduler), scheduler.config)


def _class_of(scheduler: Any) -> Any:
    return type(scheduler._original) if type(scheduler) is Scheduler else type(scheduler)


def _class_named(name: Any) -> Any:
    """The class of diffusers, unless it is no scheduler."""
    thing = getattr(diffusers, name, None) if isinstance(name, str) else None
    other = not isinstance(thing, type) or issubclass(thing, (torch.nn.Module, DiffusionPipeline))
    return None if other else thing


def _made(cls: Any, config: Mapping[str, Any]) -> Any:
    """One with just these settings; from_config() alone would forget those that once were defaults and were changed by a pipeline."""
    return cls.from_config({key: value for key, value in config.items() if key not in ("_class_name", "_use_default_values")})


def _plain(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.tolist()
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def _tuple(values: Any) -> Any:
    return None if values is None else tuple(float(value) for value in values)


@functools.lru_cache(None)
def _defaults(original: type) -> dict[str, Any]:
    """What step() of a scheduler class takes where nothing is said."""
    return {key: word.default for key, word in inspect.signature(original.step).parameters.items()}


def _second_field(original: Any) -> Optional[str]:
    """What a scheduler returns beside the sample, by the annotation of its step()."""
    said = str(inspect.signature(original.step).return_annotation)
    module = inspect.getmodule(type(original))
    for name, thing in vars(module).items():
        if name in said and isinstance(thing, type) and issubclass(thing, BaseOutput):
            for field in ("denoised", "pred_original_sample"):
                if field in getattr(thing, "__annotations__", {}):
                    return field
    return None


@functools.lru_cache(None)
def _keys_of_classes() -> dict[str, frozenset[str]]:
    found = {}
    for name in dir(diffusers.schedulers):
        thing = getattr(diffusers.schedulers, name, None)
        if isinstance(thing, type) and issubclass(thing, SchedulerMixin) and issubclass(thing, ConfigMixin):
            found[name] = frozenset(inspect.signature(thing.__init__).parameters) - {"self", "kwargs"}
    return found


def _class_by_keys(config: Mapping[str, Any]) -> str:
    """The class of a configuration that does not name it (one of an object that was not loaded): the one that has just these keys."""
    keys = frozenset(key for key in config if not key.startswith("_"))
    fitting = [name for name, has in _keys_of_classes().items() if has == keys]
    fitting = [name for name in fitting if name.replace("Parallel", "") not in fitting or "Parallel" not in name]  # which step as those without
    if len(fitting) != 1:
        said = f"it could be {' or '.join(sorted(fitting))}" if fitting else "no class of diffusers has these keys"
        raise InvalidError(f"the configuration names no class ({said}); expected from_config(config, name=…) or from_scheduler(pipe.scheduler)")
    return fitting[0]


_FLOWS = tuple(getattr(diffusers, name) for name in ("FlowMatchEulerDiscreteScheduler", "FlowMatchHeunDiscreteScheduler") if hasattr(diffusers, name))


def _clean(table: Table, at: int, output: torch.Tensor, sample: torch.Tensor) -> torch.Tensor:
    """The clean sample that the model predicts at a row, limited as the row says."""
    how = _table.arithmetic(table.raw_rows[at])
    y = how.clean[0] * sample + how.clean[1] * output
    if how.flags & lib.STRATA_ROW_CLIP:
        return y.clamp(-how.limit, how.limit)
    return y


def _denoised(table: Table, at: int, output: torch.Tensor, sample: torch.Tensor) -> torch.Tensor:
    """What distilled models end with: the next sample without its noise, at the scale of a clean one."""
    terms = {"x": 0.0, "m": 0.0, **dict(_table.arithmetic(table.raw_rows[at]).next.terms)}
    if set(terms) - {"x", "m", "n", "y"}:
        raise UnsupportedError("the solver keeps more than one step; there is no denoised sample of one")
    scale = table.rows[at + 1].alpha if at + 1 < len(table.rows) else 1.0
    total = terms["x"] * sample + terms["m"] * output
    if terms.get("y"):
        total = total + terms["y"] * _clean(table, at, output, sample)
    return total / scale

