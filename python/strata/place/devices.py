"""What operators are computed on: GPUs, and sets of processor cores, with what they reach.

    >>> [device.name for device in devices_of(["cpu"])]
    ['cpu']
    >>> Device.parse("cpu:0").cores
    (0,)

A set of cores is a device of its own: its thread and the threads of torch's operators run there and nowhere else. What a device reaches is
measured once by torch's own operators (a tenth of a second for each); what makers say stands for GPUs whose memory is not to be touched.
"""
from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Optional, Union

import torch

from ..errors import InvalidError

__all__ = ["Device", "Machine", "Reach", "devices_of", "machine_of", "worker_of"]


@dataclass(frozen=True)
class Reach:
    """What a device does in a second."""
    flops_per_s: float
    bytes_per_s: float
    overhead_ns: float
    """Of starting one operator."""
    half_flops_per_s: float = 0.0


@dataclass(frozen=True)
class Device:
    """A torch device; of a CPU the cores that it is to use (none named: all that this process may use)."""
    name: str
    torch_device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    cores: tuple[int, ...] = ()
    capacity_bytes: int = 0
    """Of its memory; 0: no limit."""

    @property
    def kind(self) -> str:
        """"cpu" or "gpu", as the place level says it."""
        return "cpu" if self.torch_device.type == "cpu" else "gpu"

    @classmethod
    def parse(cls, text: str) -> "Device":
        """"cpu", "cpu:0-3" (cores), "cuda:1", "meta"."""
        kind, _, rest = text.partition(":")
        if kind != "cpu":
            place = torch_device(text)
            if place.type == "cuda" and (place.index or 0) >= torch.cuda.device_count():
                raise InvalidError(f"{text!r}: torch sees {torch.cuda.device_count()} GPUs here", field="devices")
            return cls(text, place)
        cores: list[int] = []
        for part in filter(None, rest.split(",")):
            first, _, last = part.partition("-")
            if not first.isdigit() or (last and not last.isdigit()) or int(last or first) < int(first):
                raise InvalidError(f"{text!r} names no cores; expected cpu:0-3 or cpu:0,2", field="devices")
            cores += range(int(first), int(last or first) + 1)
        missing = set(cores) - os.sched_getaffinity(0)
        if missing:
            raise InvalidError(f"{text!r}: this process may not use core {min(missing)}; expected cores of {sorted(os.sched_getaffinity(0))}",
                               field="devices")
        return cls(text, torch.device("cpu"), tuple(sorted(set(cores))))


def torch_device(text: str) -> torch.device:
    """A device of torch's by its name.

    >>> torch_device("gpu")
    Traceback (most recent call last):
    ...
    strata.errors.InvalidError: there is no device 'gpu'; expected a name of torch's, such as cuda:0, or cpu
    """
    try:
        return torch.device(text)
    except RuntimeError:
        raise InvalidError(f"there is no device {text!r}; expected a name of torch's, such as cuda:0, or cpu", field="devices") from None


@dataclass(frozen=True)
class Machine:
    """Devices, what they reach, and the links between them."""
    devices: tuple[Device, ...]
    reach: tuple[Reach, ...]
    bytes_per_s: tuple[tuple[float, ...], ...]
    """From device to device; 0 or less: at once."""
    latency_ns: tuple[tuple[float, ...], ...]

    def with_limits(self, limits: Sequence[int]) -> "Machine":
        """The same with other capacities."""
        return replace(self, devices=tuple(replace(device, capacity_bytes=int(limit)) for device, limit in zip(self.devices, limits)))


def devices_of(wanted: Union[None, int, Sequence[Union[str, torch.device, Device]]] = None) -> tuple[Device, ...]:
    """None: every GPU and the CPU. A number: so many sets of cores, alike as far as can be. A list: names as Device.parse reads them."""
    cores = sorted(os.sched_getaffinity(0))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if isinstance(wanted, int):
        if not 1 <= wanted <= len(cores):
            raise InvalidError(f"{wanted} sets of cores; expected 1 to {len(cores)}: this process may use {len(cores)} cores", field="devices")
        return tuple(Device(f"cpu{index}", torch.device("cpu"), tuple(cores[index * len(cores) // wanted:(index + 1) * len(cores) // wanted]),
                            memory // wanted) for index in range(wanted))
    if wanted is None:
        found = [Device(f"cuda:{index}", torch.device("cuda", index), (), torch.cuda.get_device_properties(index).total_memory)
                 for index in range(torch.cuda.device_count())]
        return (*found, Device("cpu", torch.device("cpu"), (), memory))
    made = tuple(one if isinstance(one, Device) else Device.parse(str(one)) for one in wanted)
    if not made:
        raise InvalidError("there are no devices; expected at least one", field="devices")
    return made


# ---- a thread for each ----

class Worker:
    """The thread of a device: what it is given it does in order, on the cores of the device."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self._work: queue.SimpleQueue[Optional[Callable[[], None]]] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=f"strata {device.name}", daemon=True)
        self._ready = threading.Event()
        before = torch.get_num_threads()
        self._thread.start()
        self._ready.wait()
        torch.set_num_threads(before)  # a number that a thread sets is also what threads to come begin with

    def _run(self) -> None:
        try:
            if self.device.cores:
                os.sched_setaffinity(0, self.device.cores)
                torch.set_num_threads(len(self.device.cores))
            if self.device.torch_device.type == "cuda":
                torch.cuda.set_device(self.device.torch_device)
        finally:
            self._ready.set()
        while (work := self._work.get()) is not None:
            work()

    def put(self, work: Callable[[], None]) -> None:
        """Does something behind all that was put before. It must not raise."""
        self._work.put(work)

    def call(self, function: Callable[[], Any]) -> Any:
        """Does something there and waits for its result."""
        done, result = threading.Event(), []

        def work() -> None:
            try:
                result.append((True, function()))
            except BaseException as trouble:  # noqa: BLE001 - it is raised again where it is waited for
                result.append((False, trouble))
            done.set()
        self.put(work)
        done.wait()
        good, value = result[0]
        if not good:
            raise value
        return value


_workers: dict[tuple[str, tuple[int, ...]], Worker] = {}
_lock = threading.Lock()


def worker_of(device: Device) -> Worker:
    """The one thread of a device in this process."""
    key = (str(device.torch_device), device.cores)
    with _lock:
        if key not in _workers:
            _workers[key] = Worker(device)
        return _workers[key]


# ---- what they reach ----

_reach: dict[tuple[str, tuple[int, ...]], Reach] = {}
_GPU = Reach(1e13, 3e11, 6000.0, 4e13)
_HOST_LINK = 1.2e10  # bytes/s over PCIe, until transfers were seen


def _best(work: Callable[[], Any], settle: Callable[[], None], rounds: int = 5) -> float:
    """Seconds of the fastest round: others on the machine only make it slower."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        settle()
        times.append(time.perf_counter() - start)
    return max(min(times), 1e-9)


def _measure(device: torch.device) -> Reach:
    settle = (lambda: torch.cuda.synchronize(device)) if device.type == "cuda" else (lambda: None)
    with torch.no_grad(), torch.autocast(device.type, enabled=False):
        size = 2048 if device.type == "cuda" else 384
        left, right = (torch.ones(size, size, device=device) for _ in range(2))
        flops = 2.0 * size ** 3 / _best(lambda: left @ right, settle)
        half = 0.0
        if device.type == "cuda":
            left, right = left.half(), right.half()
            half = 2.0 * size ** 3 / _best(lambda: left @ right, settle)
        source = torch.ones(1 << 22, device=device)
        target = torch.empty_like(source)
        rate = 2.0 * source.numel() * 4 / _best(lambda: target.copy_(source), settle)
        small = torch.ones(8, device=device)

        def many() -> None:
            for _ in range(200):
                torch.add(small, small)
        return Reach(flops, rate, _best(many, settle) / 200 * 1e9, half)


def reach_of(device: Device) -> Reach:
    """What a device reaches, measured on it once in this process."""
    key = (str(device.torch_device), device.cores)
    if key not in _reach:
        if device.torch_device.type not in ("cpu", "cuda"):
            _reach[key] = _GPU
        else:
            _reach[key] = worker_of(device).call(lambda: _measure(device.torch_device)) if device.cores else _measure(device.torch_device)
    return _reach[key]


def _handing_over(one: Worker, other: Worker, rounds: int = 60) -> float:
    """ns until a device's thread goes on with what another's has made: half of a round between both, the middle one of many."""
    bells = [(threading.Event(), threading.Event()) for _ in range(rounds)]
    times: list[int] = []

    def answer() -> None:
        for ping, pong in bells:
            ping.wait()
            pong.set()

    def ask() -> None:
        for ping, pong in bells:
            start = time.perf_counter_ns()
            ping.set()
            pong.wait()
            times.append(time.perf_counter_ns() - start)
    other.put(answer)
    one.call(ask)
    return sorted(times)[rounds // 2] / 2


def machine_of(devices: Sequence[Device]) -> Machine:
    """Devices with what they reach and what lies between them. Sets of cores share memory: nothing is moved between them, and what
    one has made another sees once its thread has woken."""
    reach = tuple(reach_of(device) for device in devices)
    sets = [device for device in devices if device.cores]
    wake_ns = _handing_over(worker_of(sets[0]), worker_of(sets[1])) if len(sets) > 1 else 30000.0

    def rate(one: Device, other: Device) -> float:
        if one is other or one.torch_device == other.torch_device:
            return 0.0
        return _HOST_LINK

    def latency(one: Device, other: Device) -> float:
        return 0.0 if one is other else wake_ns if one.torch_device == other.torch_device else 10000.0
    return Machine(tuple(devices), reach, tuple(tuple(rate(one, other) for other in devices) for one in devices),
                   tuple(tuple(latency(one, other) for other in devices) for one in devices))
