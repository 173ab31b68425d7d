"""A stream of libstrata (<strata/stream.h>): layers of files that are in memory when a hook says so, read by io_uring behind the caller's back.

Nothing here knows torch: a layer is a list of extents, and where one lies is an address. Calls release the interpreter's lock.
"""
from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any, NamedTuple, Optional

from .. import errors
from .._call import Arena, call, ffi, lib, memory, text

__all__ = ["Entry", "Extent", "Layer", "Plan", "Stream", "plan_of", "size", "speed"]

_TRACE_EVENTS = 4096  # that each lane of a trace keeps


class Extent(NamedTuple):
    """Bytes of a file."""

    file: int
    offset: int
    bytes: int


class Layer(NamedTuple):
    """What is fetched together, and how long a visit computes."""

    name: str
    extents: Sequence[Extent]
    compute_ns: int = 0


class Entry(NamedTuple):
    """One entry of a plan: so many pages of a layer, from the first on."""

    kind: str
    layer: str
    first: int
    pages: int


class Plan(NamedTuple):
    """What one step does, as the stage level planned it, and what it is expected to cost.

    ratio is the time of a step to the least that any plan could take (`strata stage plan` prints the same)."""

    planner: str
    entries: tuple[Entry, ...]
    page_bytes: int
    budget_bytes: int
    bytes_per_step: int
    step_ms: float
    compute_ms: float
    bound_ms: float
    ratio: float
    peak_bytes: int

    def __str__(self) -> str:
        lines = [f"{entry.kind} {entry.layer}" + ("" if entry.kind == "compute" else f" {entry.first}+{entry.pages}") for entry in self.entries]
        return "\n".join([f"{self.planner}: {self.step_ms:.1f} ms a step ({self.ratio:.2f} × the bound), {self.bytes_per_step / 1e6:.1f} MB read",
                          *lines])


def plan_of(raw: Any, layers: Sequence[Layer]) -> Optional[Plan]:
    """A struct strata_stage_plan; None for none."""
    if raw == ffi.NULL:
        return None
    metrics = raw.metrics
    entries = tuple(Entry(text(lib.strata_stage_kind_name(entry.kind)), layers[entry.layer].name, entry.first, entry.count)
                    for entry in (raw.entries[at] for at in range(raw.entry_count)))
    return Plan(text(raw.planner), entries, raw.page_bytes, raw.budget_pages * raw.page_bytes, metrics.bytes_per_step, metrics.step_ns / 1e6,
                metrics.compute_ns / 1e6, metrics.lower_bound_ns / 1e6, metrics.ratio, metrics.peak_bytes)


def size(value: Any) -> int:
    """Bytes of a number or of a text with a unit.

    >>> size("2GiB"), size(4096), size("1.5MB")
    (2147483648, 4096, 1500000)
    """
    if not isinstance(value, str):
        return int(value)
    out = ffi.new("int64_t *")
    data = value.encode()
    call(lib.strata_size_parse, data, len(data), 1, 0, out)
    return int(out[0])


def speed(path: str, *, most: int = 64 << 20) -> int:
    """Bytes a second that the disk gives for a file, around the cache where that can be, from a look at its beginning."""
    block, depth = 2 << 20, 4
    direct = getattr(os, "O_DIRECT", 0)
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | direct)
    except OSError:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        import mmap
        from concurrent.futures import ThreadPoolExecutor
        count = min(os.fstat(fd).st_size, most) // block
        if count < 2:
            return 1_000_000_000
        buffers = [mmap.mmap(-1, block) for _ in range(depth)]
        began = time.monotonic()
        with ThreadPoolExecutor(depth) as pool:
            list(pool.map(lambda lane: [os.preadv(fd, [buffers[lane]], at * block) for at in range(lane, count, depth)], range(depth)))
        return max(1, int(count * block / max(1e-9, time.monotonic() - began)))
    except OSError:
        return 1_000_000_000
    finally:
        os.close(fd)


class Stream:
    """An open stream. One thread at a time; it is closed when nothing refers to it or to a view of it any more."""

    def __init__(self, paths: Sequence[str], layers: Sequence[Layer], *, budget: int, page: int, bytes_per_s: int,
                 order: Optional[Sequence[int]] = None, changes_dir: Optional[str] = None, planner: str = "best",
                 channel: str = "auto", cached: bool = False, pace: int = 0) -> None:
        self.layers = list(layers)
        self._memory, self._arena = memory(), Arena()
        self._kept: list[Any] = [self._memory]
        arena = self._arena.__enter__()
        spec = ffi.new("struct strata_spec *")
        call(lib.strata_spec_build, ffi.addressof(lib.strata_planner_kind), planner.encode(), arena, spec)
        channels = {"auto": lib.STRATA_STREAM_AUTO, "io_uring": lib.STRATA_STREAM_URING, "threads": lib.STRATA_STREAM_THREADS}
        if channel not in channels:
            raise errors.InvalidError(f"channel is '{channel}'; expected {', '.join(channels)}")
        conf = ffi.new("struct strata_stream_conf *", {
            "paths": self._keep("char *[]", [self._keep("char[]", os.fsencode(path)) for path in paths]), "path_count": len(paths),
            "layers": self._raw_layers(layers), "layer_count": len(layers), "budget_bytes": budget, "page_bytes": page,
            "bytes_per_s": bytes_per_s, "planner": spec[0], "channel": channels[channel], "cached": cached, "pace_bytes_per_s": pace})
        if order is not None:
            conf.order, conf.visit_count = self._keep("uint32_t[]", list(order)), len(order)
        if changes_dir is not None:
            conf.changes_dir = self._keep("char[]", os.fsencode(changes_dir))
        out = ffi.new("struct strata_stream **")
        call(lib.strata_stream_open, conf, self._memory, out)

        def close(pointer: Any, arena: Any = self._arena, kept: Any = (self._kept, spec)) -> None:
            lib.strata_stream_close(pointer)
            arena.__exit__()
        self._raw = ffi.gc(out[0], close)
        self._err = ffi.new("struct strata_error *")
        self._trace: Any = None
        self._start_trace()

    def _keep(self, kind: str, value: Any) -> Any:
        made = ffi.new(kind, value)
        self._kept.append(made)
        return made

    def _raw_layers(self, layers: Sequence[Layer]) -> Any:
        return self._keep("struct strata_stream_layer[]", [{
            "name": self._keep("char[]", layer.name.encode()), "extents": self._keep("struct strata_extent[]", [tuple(extent) for extent in layer.extents]),
            "extent_count": len(layer.extents), "compute_ns": layer.compute_ns} for layer in layers])

    # ---- hooks ----

    def _hook(self, hook: int, layer: int) -> None:
        code = lib.strata_stream_hook(self._raw, hook, layer, self._err)
        if code < 0:
            raise errors.of_code(code, text(self._err.text) or f"error {-code}", text(self._err.field))

    def step_start(self) -> None:
        """A step begins."""
        self._hook(lib.STRATA_STAGE_STEP_START, 0)

    def step_end(self) -> None:
        """A step has ended; what the next one begins with is on its way."""
        self._hook(lib.STRATA_STAGE_STEP_END, 0)

    def pre(self, layer: int) -> None:
        """Returns when all of the layer is in memory."""
        self._hook(lib.STRATA_STAGE_PRE_FORWARD, layer)

    def post(self, layer: int) -> None:
        """The layer is not used for now."""
        self._hook(lib.STRATA_STAGE_POST_FORWARD, layer)

    # ---- contents ----

    def buffer(self, layer: int, extent: int) -> Any:
        """An extent's memory: always at the same address, to be touched only between the layer's pre and post. Keeps the stream open."""
        at = lib.strata_stream_at(self._raw, layer, extent)
        held = ffi.gc(ffi.cast("char *", at), lambda _pointer, _stream=self: None)
        return ffi.buffer(held, self.layers[layer].extents[extent].bytes)

    def changed(self, layer: int, extent: int) -> None:
        """The extent was written to; it is kept from now on."""
        call(lib.strata_stream_changed, self._raw, layer, extent)

    def copy(self, layer: int, extent: int, address: int) -> None:
        """Copies an extent as it is now to memory of its size, wherever it is."""
        call(lib.strata_stream_copy, self._raw, layer, extent, ffi.cast("void *", address))

    # ---- what it does ----

    def metrics(self) -> Any:
        """struct strata_stream_metrics."""
        out = ffi.new("struct strata_stream_metrics *")
        lib.strata_stream_metrics(self._raw, out)
        return out

    def plan(self) -> Optional[Plan]:
        """The plan that is followed; None while the order is being recorded."""
        return plan_of(self.metrics().progress.plan, self.layers)

    def _start_trace(self) -> None:
        trace_memory, out = memory(), ffi.new("struct strata_trace **")
        conf = ffi.new("struct strata_trace_conf *", {
            "pid": os.getpid(), "process_name": self._keep("char[]", b"strata.offload"), "clock_name": self._keep("char[]", b"realtime"),
            "offset_ns": time.time_ns() - time.monotonic_ns()})
        call(lib.strata_trace_new, trace_memory, conf, out)
        trace = ffi.gc(out[0], lambda pointer, _kept=trace_memory: lib.strata_trace_free(pointer))
        call(lib.strata_stream_trace, self._raw, trace, 1, _TRACE_EVENTS)
        self._kept.append(trace)  # until the stream is closed
        self._trace = trace

    def write_trace(self, path: str) -> None:
        """The newest of what it did, for ui.perfetto.dev."""
        with open(path, "wb") as file, Arena() as arena:
            def write(_context: Any, data: Any, count: int) -> int:
                file.write(ffi.buffer(data, count))
                return 0
            function = ffi.callback("int(void *, const char *, size_t)", write, error=-5)
            sink = ffi.new("struct strata_trace_sink *", {"write": function})
            call(lib.strata_trace_write, self._trace, -2**63, arena, sink)
