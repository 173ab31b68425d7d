"""Schedulers: which operator of a model runs on which device, decided by the C place level, executed by torch, learned from.

    >>> import torch
    >>> from strata.place import execute_model
    >>> model = torch.nn.Linear(784, 10)
    >>> execute_model(model, torch.zeros(2, 784)).shape
    torch.Size([2, 10])
"""
from __future__ import annotations

import atexit
import contextlib
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Optional, Union

import torch

from ..capture import Capture, Flattener, Op, Program, Tensor, as_call, call_key, capture
from ..errors import Error, InvalidError, NoSpaceError, NotFoundError
from . import adaptive as learning
from .adaptive import FEATURES, SCHEDULER_PROFILES, Adaptive, Choice, Event, experience_path
from .devices import Device, devices_of, machine_of, worker_of
from .execute import Executable
from .graph import Corrections, Findings, Graph, Plan, Problem, graph_of
from .placement import Placement, busy, is_of_compiler, kept_name, placing_nothing, varying as varying_in
from .strategies import Strategy, strategies_of

__all__ = ["AdaptiveScheduler", "Placement", "ProgressiveScheduler", "Scheduler", "create_advanced_scheduler", "create_basic_scheduler",
           "create_scheduler_for_workload", "create_scheduler_from_profile", "create_semantic_scheduler", "create_smart_scheduler",
           "detect_available_devices", "execute_model", "recommend_profile", "SCHEDULER_PROFILES"]

_LOOKED_AT = (1, 2, 3)   # calls of a placement in which each operator is timed; the first is that of caches and allocators
_AGAIN = 64              # and then every so many calls
_TRIED = 4               # calls of a plan and of the best single device, in turn, before one of them stays
_EARNED = 8              # calls after which it is looked whether features came or went
_CAPTURES_MAX = 8        # of one model and one structure of inputs; more differ too much to be worth it

CostModel = Callable[[Op, Device], float]


class Scheduler:
    """Places models and runs them there.

    mode is "auto" (by workload, machine and experience), "basic", "semantic" or "advanced"; a profile fixes the features. devices: None (all GPUs
    and the CPU), a number of sets of cores, or a list as Device.parse reads them. objective: "latency", "throughput", "memory".
    experience: the file in which what was learned is kept between runs; None: it is not kept.
    """

    def __init__(self, mode: str = "auto", *, profile: Optional[str] = None, devices: Union[None, int, Sequence[Any]] = None,
                 objective: str = "latency", experience: Optional[str] = "", strategies: Optional[str] = None,
                 rules: Sequence[tuple[str, str]] = ()) -> None:
        self.mode, self.profile, self.objective = mode, profile, objective
        self.devices: tuple[Device, ...] = devices_of(devices)
        self._names = [kept_name(device) for device in self.devices]
        self._adaptive, self._corrections = Adaptive(mode, profile), Corrections(len(self.devices))
        self._own_strategies, self._rules = strategies, self._rules_of(rules)
        self._cost: Optional[CostModel] = None
        self._machine: Any = None
        self._workload = "other"
        self._version = 0
        self._placed: "weakref.WeakKeyDictionary[Any, dict[Any, list[Placement]]]" = weakref.WeakKeyDictionary()
        self._shapes: "weakref.WeakKeyDictionary[Any, dict[Any, list[Any]]]" = weakref.WeakKeyDictionary()
        self._compiled: "weakref.WeakKeyDictionary[Any, Any]" = weakref.WeakKeyDictionary()
        self._refused: "weakref.WeakKeyDictionary[Any, dict[Any, str]]" = weakref.WeakKeyDictionary()
        self._lock = threading.RLock()
        self.phases: dict[str, int] = {}
        """How many calls were of which phase."""
        self.last: Optional[Placement] = None
        """The placement of the last call."""
        self._path = experience_path() if experience == "" else experience
        self.trouble: Optional[Exception] = None
        """Why the last model that could not be captured as a whole could not."""
        self._unsaved = self._seen_events = self._runs = 0
        self._load()

    # ---- what users set ----

    def enable_feature(self, feature: str, enabled: bool = True) -> None:
        """Switches a feature by hand: one of FEATURES."""
        with self._lock:
            self._adaptive.switch(feature, enabled)
            self._version += 1

    def set_cost_model(self, cost: Optional[CostModel]) -> None:
        """A function of an operator (capture.Op: kind, flops, bytes, layer …) and a Device that returns seconds. Its prices decide; what
        was observed does not change them. None: the level's own again."""
        if cost is not None and not callable(cost):
            raise InvalidError(f"a cost model is called with an op and a device; {cost!r} cannot be", field="cost_model")
        with self._lock:
            self._cost = cost
            self._version += 1

    def _rules_of(self, rules: Sequence[tuple[str, str]]) -> list[tuple[str, int, bool]]:
        names = [device.name for device in self.devices]
        for _, name in rules:
            if name not in names:
                raise NotFoundError(f"there is no device {name!r}; there are {', '.join(names)}", field="rules")
        return [(ops, names.index(name), False) for ops, name in rules]

    # ---- what users ask ----

    @property
    def expert(self) -> bool:
        """Whether the options in use show that the user knows what they want."""
        return self._cost is not None or self._own_strategies is not None or bool(self._rules)

    @property
    def capabilities(self) -> dict[str, Any]:
        """What was found out: how many devices, what lies between them, the workload of the last model, how much the user has set."""
        kinds = {device.torch_device.type for device in self.devices}
        cores = sum(1 for device in self.devices if device.torch_device.type == "cpu")
        topology = "one_device" if len(self.devices) == 1 else "shared_memory" if kinds == {"cpu"} else "host_links" if cores else "device_links"
        return {"devices": len(self.devices), "network_topology": topology, "workload_type": self._workload,
                "expertise_level": "expert" if self.expert else "intermediate" if self.mode != "auto" or self.profile else "beginner"}

    def decide(self, workload: Optional[str] = None, pressure: float = 0.0) -> Choice:
        """What would be tried for a workload; that of the last model when none is named."""
        with self._lock:
            return self._adaptive.decide(workload or self._workload, len(self.devices), pressure, self.expert)

    @property
    def strategies(self) -> list[Strategy]:
        """What is tried."""
        return strategies_of(self._own_strategies or self.decide().strategies)

    @property
    def feature_flags(self) -> dict[str, bool]:
        """Which features are on."""
        return self.decide().features

    @property
    def usage_stats(self) -> dict[str, int]:
        """What came of earlier schedules, those of earlier runs included."""
        metrics = self._adaptive.metrics()
        return {"schedules": metrics["schedules"], "successful_schedules": metrics["successes"], "failed_schedules": metrics["failures"],
                "fallbacks": metrics["fallbacks"]}

    def metrics(self) -> dict[str, Any]:
        """All counters of the C level."""
        return self._adaptive.metrics()

    def events(self) -> list[Event]:
        """Features that came or went by experience in this run."""
        return self._adaptive.events()

    # ---- placing ----

    def machine(self) -> Any:
        """The devices with what they reach, measured once."""
        if self._machine is None:
            self._machine = machine_of(self.devices)
        return self._machine

    def schedule(self, taken: Capture) -> Placement:
        """A plan for a captured call."""
        with self._lock:
            graph = graph_of(taken.program, self.machine(), self._cost)
            findings = graph.detect()
            self._workload = findings.workload
            choice, plan = self._plan(taken.program, graph, findings)
            return Placement(taken, graph, findings, choice, plan, Executable(taken.program, self.devices, plan.device, plan.order),
                             version=self._version)

    def _problem(self, program: Program, graph: Graph) -> Problem:
        return Problem(graph, self.machine(), objective=self.objective, corrections=None if self._cost is not None else self._corrections,
                       in_order=program.in_order, rules=self._rules)

    def _plan(self, program: Program, graph: Graph, findings: Findings) -> tuple[Choice, Plan]:
        problem = self._problem(program, graph)
        choice = self._adaptive.decide(findings.workload, len(self.devices), problem.pressure(), self.expert)
        return choice, problem.plan(self._own_strategies or choice.strategies)

    def _again(self, placement: Placement) -> None:
        """Plans anew by what was learned or set since."""
        if placement.version != self._version:
            fresh = self.schedule(placement.capture)
            placement.graph, placement.findings, placement.version = fresh.graph, fresh.findings, fresh.version
            choice, plan, executable = fresh.choice, fresh.plan, fresh.executable
        else:
            choice, plan = self._plan(placement.program, placement.graph, placement.findings)
            same = (plan.device, plan.order) == (placement.plan.device, placement.plan.order)
            executable = placement.executable if same else Executable(placement.program, self.devices, plan.device, plan.order)
        placement.choice, placement.plan, placement.executable = choice, plan, executable

    # ---- running ----

    def execute(self, model: torch.nn.Module, inputs: Any = (), **more: Any) -> Any:
        """model(inputs), placed: a tuple is several arguments, a mapping keyword arguments."""
        return self._call(model, model, as_call(inputs, more))

    @contextlib.contextmanager
    def placed(self, model: torch.nn.Module) -> Iterator[torch.nn.Module]:
        """Within it every call of the model is placed, also those from within its own methods: generate() with its prefill and decode
        steps."""
        forward = model.forward

        def instead(*args: Any, **kwargs: Any) -> Any:
            if busy.busy:
                return forward(*args, **kwargs)
            return self._call(model, forward, (args, kwargs))
        had = vars(model).get("forward")
        model.forward = instead
        try:
            yield model
        finally:
            if had is None:
                del model.forward
            else:
                model.forward = had

    def _call(self, model: torch.nn.Module, method: Callable[..., Any], call: tuple[tuple[Any, ...], dict[str, Any]]) -> Any:
        flat = Flattener()
        structure = ("tuple", (flat.add(call[0]), flat.add(call[1])))
        with self._lock:
            placement = self._find(model, method, structure, flat.leaves, call) if not flat.opaque else None
            if placement is None:
                return self._fall_back(model, method, call)
        try:
            results = self.run(placement, flat.leaves)
        except Error:
            raise
        except Exception:
            if placement.program.in_order:
                raise  # it may have written already: doing it over would not be the same
            with placing_nothing():
                return method(*call[0], **call[1])
        return placement.capture.finish(results, flat.objects)

    def run(self, placement: Placement, leaves: Sequence[Any]) -> list[Any]:
        """The results of a placed program for these tensors; what it took is learned from."""
        with self._lock:
            if placement.version != self._version:
                self._again(placement)
            elif self._runs % _EARNED == 0 and self.decide(placement.findings.workload).features != placement.choice.features:
                self._again(placement)  # features came or went by experience
            timed = placement.calls in _LOOKED_AT or (placement.calls and placement.calls % _AGAIN == 0)
            times: Optional[list[int]] = [0] * len(placement.program.ops) if timed and self._cost is None else None
            alone = times is None and placement.single is not None and len(placement.tried_ns[0]) > len(placement.tried_ns[1])
            executable = placement.single[1] if alone else placement.executable  # type: ignore[index]
        start = time.perf_counter_ns()
        try:
            results = executable.run(leaves, times)
        except Exception:
            self._report(placement, False, 0)
            raise
        self._learn(placement, times, time.perf_counter_ns() - start, alone)
        return results

    def _find(self, model: Any, method: Callable[..., Any], structure: Any, leaves: Sequence[Any], call: Any) -> Optional[Placement]:
        """The placement for such a call, made where there is none; None: it cannot be captured."""
        key = call_key(structure, leaves)
        if key in self._refused.setdefault(model, {}):
            return None
        known = self._placed.setdefault(model, {}).setdefault(key, [])
        for placement in known:
            if placement.capture.accepts(leaves):
                return placement
        seen = self._shapes.setdefault(model, {}).setdefault(key, [])
        varying = varying_in(seen, leaves)
        seen.append([tuple(leaf.shape) if isinstance(leaf, torch.Tensor) else None for leaf in leaves])
        if len(known) >= _CAPTURES_MAX:
            self._refused[model][key] = f"it has had {len(known)} shapes"
            return None
        placement = self._capture(model, method, call, varying) if varying is not None else None
        placement = placement or self._capture(model, method, call, None)
        if placement is None:
            self._refused[model][key] = "it cannot be captured"
        else:
            known.insert(0, placement)
        return placement

    def _capture(self, model: Any, method: Callable[..., Any], call: Any, varying: Optional[Sequence[frozenset[int]]]) -> Optional[Placement]:
        with placing_nothing():
            try:
                taken = capture(model, *call, varying=varying, method=method if method is not model else None)
            except Exception as trouble:  # noqa: BLE001 - whatever export does not support: the next way is tried
                self.trouble = trouble
                return None
        if varying is not None:
            flat = Flattener()
            flat.add(call[0])
            flat.add(call[1])
            if not taken.accepts(flat.leaves):
                return None
        return self.schedule(taken)

    # ---- models that cannot be captured as a whole ----

    def _fall_back(self, model: torch.nn.Module, method: Callable[..., Any], call: tuple[tuple[Any, ...], dict[str, Any]]) -> Any:
        """By the graphs that dynamo finds; a model that has none is one operator."""
        from .compile import backend_of
        compiled: Any = self._compiled.get(model)
        if compiled is None:
            inner = method if method is not model else model.forward
            compiled = self._compiled[model] = [torch.compile(inner, backend=backend_of(self)), inner]
        with placing_nothing():
            if compiled[0] is not None:
                try:
                    before, result = self._runs, compiled[0](*call[0], **call[1])
                    if self._runs == before:  # dynamo found nothing to capture in it
                        compiled[0] = None
                        self._note_whole(model)
                    return result
                except Exception as trouble:  # noqa: BLE001 - dynamo's, or the model's own, which comes again below
                    if not is_of_compiler(trouble):
                        raise
                    compiled[0] = None
            return self._whole(model, compiled[1], call)

    def _whole(self, model: torch.nn.Module, method: Callable[..., Any], call: tuple[tuple[Any, ...], dict[str, Any]]) -> Any:
        """The model as one operator, on the best of the devices that its weights can be used on."""
        device = self.devices[self._note_whole(model).plan.device[0]]
        if not device.cores:
            return method(*call[0], **call[1])
        from .execute import _modes
        modes = _modes()

        def work() -> Any:
            with modes(), placing_nothing():
                return method(*call[0], **call[1])
        return worker_of(device).call(work)

    def _note_whole(self, model: torch.nn.Module) -> Placement:
        known = self._placed.setdefault(model, {}).setdefault("whole", [])
        if not known:
            known.append(self._one_op(model))
        one = known[0]
        one.calls += 1
        self.last, self.phases[one.phase] = one, self.phases.get(one.phase, 0) + 1
        return one

    def _one_op(self, model: torch.nn.Module) -> Placement:
        held = [*model.parameters(), *model.buffers()]
        home = held[0].device if held else torch.device("cpu")
        tensors = [Tensor(f"weight{index}", "weight", one.dtype, tuple(one.shape), one.numel() * one.element_size()) for index, one in enumerate(held)]
        tensors += [Tensor("result", "output")]
        op = Op(type(model).__name__, "python::module", False, "", list(range(len(held))), [len(held)], 0.0, -1.0)
        program = Program(type(model).__name__, tensors, [op], {}, [], [], {}, [], True)
        taken = Capture(program, (), (), [], [], {}, [], b"")
        graph = graph_of(program)
        usable = [(op.name, number, True) for number, device in enumerate(self.devices) if device.torch_device.type != home.type]
        problem = Problem(graph, self.machine(), rules=usable if len(usable) < len(self.devices) else ())
        findings, choice = graph.detect(), self.decide("other")
        return Placement(taken, graph, findings, choice, problem.plan(choice.strategies), None, version=self._version)  # type: ignore[arg-type]

    # ---- learning ----

    def _learn(self, placement: Placement, times: Optional[list[int]], took: int, alone: bool) -> None:
        with self._lock:
            placement.calls += 1
            self._runs += 1
            self.last, self.phases[placement.phase] = placement, self.phases.get(placement.phase, 0) + 1
            self._workload = placement.findings.workload
            if times is None:
                placement.observed_ns = took
            else:
                for index, (number, observed) in enumerate(zip(placement.plan.device, times)):
                    self._corrections.observe(placement.graph, index, number, placement.plan.prices[index][number], observed)
                if placement.calls > max(_LOOKED_AT) and len(self.devices) > 1:
                    self._again(placement)
                    self._try_single(placement)
            # operators that are timed one by one do not overlap, and a first call fills caches: neither says how the plan did
            says = times is None and placement.calls > 1
            self._report(placement, True, took if says else 0, alone)
            if says and placement.single is not None:
                self._compare(placement, took, alone)

    def _compare(self, placement: Placement, took: int, alone: bool) -> None:
        """The plan and the best single device run in turn for a while; of both the one that was faster stays. Fastest calls count: others
        on the machine only make one slower."""
        assert placement.single is not None
        placement.tried_ns[alone].append(took)
        if min(map(len, placement.tried_ns)) < _TRIED:
            return
        if min(placement.tried_ns[True]) < min(placement.tried_ns[False]):
            placement.plan, placement.executable = placement.single
        placement.single, placement.tried_ns = None, ([], [])

    def _try_single(self, placement: Placement) -> None:
        """From now on a plan on several devices is compared with one device."""
        placement.single, placement.tried_ns = None, ([], [])
        if len(set(placement.plan.device)) < 2:
            return
        problem = self._problem(placement.program, placement.graph)
        try:
            plan = problem.plan("single")
        except NoSpaceError:
            return
        placement.single = plan, Executable(placement.program, self.devices, plan.device, plan.order)

    def _report(self, placement: Placement, success: bool, took: int, alone: bool = False) -> None:
        single = dict(placement.plan.results).get("single", 0.0)
        plan = placement.single[0] if alone and placement.single is not None else placement.plan
        with self._lock:
            self._adaptive.report(placement.choice.bits, success, plan.strategy == "single" and len(self.devices) > 1,
                                  plan.latency_ns, took, single)
            self._unsaved += 1
            if len(self._adaptive.events()) != self._seen_events or self._unsaved >= 100:
                self.save()

    def _load(self) -> None:
        if self._path is None:
            return
        try:
            learning.load(self._path, self._adaptive, self._corrections, self._names)
        except (Error, OSError) as trouble:
            warnings.warn(f"nothing is taken from earlier runs: {trouble}", stacklevel=3)
        _unsaved_ones.add(self)

    def save(self) -> None:
        """Keeps what was learned so far; it is kept by itself when features change and when the program ends."""
        if self._path is None:
            return
        with self._lock:
            self._unsaved, self._seen_events = 0, len(self._adaptive.events())
            try:
                learning.save(self._path, self._adaptive, self._corrections, self._names)
            except OSError as trouble:
                warnings.warn(f"what was learned cannot be kept: {trouble}", stacklevel=2)
                self._path = None


_unsaved_ones: "weakref.WeakSet[Scheduler]" = weakref.WeakSet()


@atexit.register
def _save_all() -> None:
    for one in list(_unsaved_ones):
        if one._unsaved:
            one.save()


class AdaptiveScheduler(Scheduler):
    """Does as much as model, machine and user ask for.

    >>> scheduler = AdaptiveScheduler(mode="advanced", experience=None)
    >>> scheduler.feature_flags["advanced_optimization"], scheduler.capabilities["workload_type"]
    (True, 'other')
    """


class ProgressiveScheduler(AdaptiveScheduler):
    """Begins with little and adds features as they are earned: semantics after more than ten schedules that went well, memory under
    pressure. What was earned is kept between runs."""

    def __init__(self, **words: Any) -> None:
        super().__init__(mode="auto", **words)


def create_scheduler_from_profile(profile: Union[str, Mapping[str, Any]], **words: Any) -> Scheduler:
    """A scheduler with the features of a profile: its name, or a mapping from features to whether they are on."""
    if isinstance(profile, str):
        if profile not in SCHEDULER_PROFILES:
            Adaptive("auto", profile)  # says what is wrong with the name
        return Scheduler(profile=profile, **words)
    scheduler = Scheduler(profile="basic_inference", **words)
    for feature, enabled in profile.items():
        if feature != "description" and not (feature == FEATURES[0] and enabled):
            scheduler.enable_feature(feature, bool(enabled))
    return scheduler


def create_scheduler_for_workload(workload_type: str, **words: Any) -> Scheduler:
    """A scheduler for a workload: a profile's name ("llm_serving"), or a workload ("llm", "diffusion"). Any other: basic inference.

    >>> create_scheduler_for_workload("llm_serving", experience=None).feature_flags["memory_optimization"]
    True
    """
    profile = workload_type if workload_type in SCHEDULER_PROFILES else recommend_profile(workload_type)
    return Scheduler(profile=profile, **words)


def recommend_profile(workload: str, devices: Sequence[Device] = ()) -> str:
    """The profile that suits a workload.

    >>> recommend_profile("llm")
    'llm_serving'
    """
    from .._call import ffi, lib, text
    raw = lib.strata_profile_recommend(ffi.new("char[]", workload.encode()))
    return text(raw.name)


def detect_available_devices() -> list[Device]:
    """All GPUs, and the CPU."""
    return list(devices_of())


def create_basic_scheduler(**words: Any) -> Scheduler:
    """Costs only."""
    return AdaptiveScheduler(mode="basic", **words)


def create_semantic_scheduler(**words: Any) -> Scheduler:
    """And what the model is."""
    return AdaptiveScheduler(mode="semantic", **words)


def create_advanced_scheduler(**words: Any) -> Scheduler:
    """And every strategy there is."""
    return AdaptiveScheduler(mode="advanced", **words)


def create_smart_scheduler(**words: Any) -> Scheduler:
    """By what is there: every strategy where there are several devices, costs only where there is one."""
    return create_advanced_scheduler(**words) if len(devices_of(words.get("devices"))) > 1 else create_basic_scheduler(**words)


_default: Optional[Scheduler] = None


def execute_model(model: torch.nn.Module, inputs: Any = (), scheduler: Optional[Scheduler] = None, **more: Any) -> Any:
    """model(inputs), placed by a scheduler: one for all calls of this process, in mode auto, when none is given. A tuple is several
    positional arguments, a mapping keyword arguments, as are all others that are given here."""
    global _default
    if scheduler is None:
        if _default is None or _default._path != experience_path():
            _default = AdaptiveScheduler()
        scheduler = _default
    return scheduler.execute(model, inputs, **more)
