"""Layers on a device: the same hooks as a stream of libstrata, with frames that torch has, such as memory of a GPU.

A run of the stage level says which layers come, stay and go; a frame holds one layer. One thread reads what comes from the file, around the
cache, into staging memory (pinned for CUDA), and copies it to its frame on a stream of its own, while the device computes.
"""
from __future__ import annotations

import os
import time
import types
import weakref
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Optional

import torch

from .. import errors
from .._call import Arena, call, ffi, lib, memory
from .stream import Layer, Plan, plan_of
from .weights import ALIGNMENT

__all__ = ["DeviceStream"]

_BLOCK = 4096


def _up(number: int, unit: int) -> int:
    return -(-number // unit) * unit


def _close(fds: list[int]) -> None:
    for fd in fds:
        os.close(fd)


class _Staging:
    """Memory of this machine that files are read into; a block at the beginning of it."""

    def __init__(self, size: int, pinned: bool) -> None:
        whole = torch.empty(size + _BLOCK, dtype=torch.uint8, pin_memory=pinned)
        skip = -whole.data_ptr() % _BLOCK
        self.bytes = whole[skip:skip + size]
        whole_numpy: Any = self.bytes.numpy()
        self.window = memoryview(whole_numpy)
        self.free: Any = None  # the event after which it may be written to again


class DeviceStream:
    """Frames on a device. One thread at a time calls the hooks."""

    def __init__(self, paths: Sequence[str], layers: Sequence[Layer], *, budget: int, bytes_per_s: int, device: torch.device,
                 order: Optional[Sequence[int]] = None, planner: str = "best") -> None:
        self.layers, self.device, self._paths = list(layers), device, list(paths)
        self.offsets: list[list[int]] = []
        sizes = []
        for layer in layers:
            at, offsets = 0, []
            for extent in layer.extents:
                offsets.append(at)
                at = _up(at + extent.bytes, ALIGNMENT)
            self.offsets.append(offsets)
            sizes.append(at)
        self.frame_bytes = _up(max(sizes), _BLOCK)
        self.frame_count = min(len(layers), budget // self.frame_bytes)
        if self.frame_count < min(2, len(layers)):
            raise errors.TooLargeError(f"the budget is {budget} bytes on {device}; at least {2 * self.frame_bytes} are needed: two frames of the largest layer")
        self._run = self._follow(sizes, order, bytes_per_s, planner)
        self._due = ffi.new("struct strata_stage_due *")
        self._frames = torch.empty(self.frame_count, self.frame_bytes, dtype=torch.uint8, device=device)
        self._free = list(range(self.frame_count))
        self._used: list[Any] = [None] * self.frame_count  # the event after which a frame is not read any more
        self._frame: dict[int, int] = {}
        self._coming: dict[int, Future[Any]] = {}
        self._fds, self.direct = self._open(paths)
        self._closing = weakref.finalize(self, _close, list(self._fds))
        self._failure: Optional[BaseException] = None  # it is for good
        largest = max(extent.bytes for layer in layers for extent in layer.extents) + 2 * _BLOCK
        cuda = device.type == "cuda"
        self._staging = [_Staging(_up(largest, _BLOCK), cuda) for _ in range(2 if cuda else 1)]
        self._turn = 0
        self._copies = torch.cuda.Stream(device) if cuda else None
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="strata-read")
        self.bytes_read = self.wait_ns = self.peak = 0

    def _follow(self, sizes: list[int], order: Optional[Sequence[int]], bytes_per_s: int, planner: str) -> Any:
        """A run in which a layer is one page: pages are as large as the largest."""
        kept: list[Any] = [ffi.new("char[]", layer.name.encode()) for layer in self.layers]
        layers = ffi.new("struct strata_stage_layer[]", [{"name": name, "bytes": max(1, size), "compute_ns": layer.compute_ns}
                                                          for name, size, layer in zip(kept, sizes, self.layers)])
        model = ffi.new("struct strata_stage_model *", {"layers": layers, "layer_count": len(self.layers)})
        if order is not None:
            kept.append(ffi.new("uint32_t[]", list(order)))
            model.order, model.visit_count = kept[-1], len(order)
        allocator, arena_of = memory(), Arena()
        arena = arena_of.__enter__()
        spec = ffi.new("struct strata_spec *")
        call(lib.strata_spec_build, ffi.addressof(lib.strata_planner_kind), planner.encode(), arena, spec)
        conf = ffi.new("struct strata_stage_run_conf *", {"model": model, "planner": spec[0], "machine": {
            "page_bytes": self.frame_bytes, "budget_bytes": self.frame_bytes * self.frame_count, "bytes_per_s": bytes_per_s}})
        out = ffi.new("struct strata_stage_run **")
        call(lib.strata_stage_run_new, conf, allocator, out)

        def free(pointer: Any, kept: Any = (kept, layers, allocator, spec)) -> None:
            lib.strata_stage_run_free(pointer)
            arena_of.__exit__()
        return ffi.gc(out[0], free)

    @staticmethod
    def _open(paths: Sequence[str]) -> tuple[list[int], bool]:
        try:
            fds = [os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECT) for path in paths]
            for fd in fds:  # some file systems open a file and then refuse
                os.preadv(fd, [_Staging(_BLOCK, False).window], 0)
            return fds, True
        except OSError:
            return [os.open(path, os.O_RDONLY | os.O_CLOEXEC) for path in paths], False

    def close(self) -> None:
        """Waits for what is under way and gives everything back."""
        self._reader.shutdown()
        self._closing()
        self._frames = torch.empty(0, 0)

    # ---- hooks ----

    def step_start(self) -> None:
        """A step begins."""
        self._hook(lib.STRATA_STAGE_STEP_START, 0)

    def step_end(self) -> None:
        """A step has ended."""
        self._hook(lib.STRATA_STAGE_STEP_END, 0)

    def pre(self, layer: int) -> int:
        """Returns when the layer is in its frame, or is going to be before anything that the device is asked from now on: which frame."""
        self._hook(lib.STRATA_STAGE_PRE_FORWARD, layer)
        self._wait(layer)
        return self._frame[layer]

    def post(self, layer: int) -> None:
        """The layer is not used for now."""
        if self._copies is not None:
            self._used[self._frame[layer]] = torch.cuda.current_stream(self.device).record_event()
        self._hook(lib.STRATA_STAGE_POST_FORWARD, layer)

    def view(self, frame: int, layer: int, number: int, dtype: torch.dtype, shape: torch.Size) -> torch.Tensor:
        """An extent of a layer, in a frame."""
        at = self.offsets[layer][number]
        return self._frames[frame, at:at + self.layers[layer].extents[number].bytes].view(dtype).view(shape)

    def _hook(self, hook: int, layer: int) -> None:
        if self._failure is not None:
            raise self._failure
        call(lib.strata_stage_run_hook, self._run, hook, layer, self._due)
        for entry in [self._due.entries[at] for at in range(self._due.count)]:
            kind, which, count = entry.kind, entry.layer, entry.count
            if kind == lib.STRATA_STAGE_RELEASE and count:
                self._wait(which)  # it may be on its way
                self._free.append(self._frame.pop(which))
            elif kind in (lib.STRATA_STAGE_FETCH, lib.STRATA_STAGE_PREFETCH) and count:
                self._frame[which] = self._free.pop(0)
                self.peak = max(self.peak, len(self._frame))
                self._coming[which] = self._reader.submit(self._bring, which, self._frame[which])

    def _wait(self, layer: int) -> None:
        coming = self._coming.pop(layer, None)
        if coming is None:
            return
        began = time.monotonic_ns()
        try:
            arrived = coming.result()
        except BaseException as failure:
            self._failure = failure
            raise
        self.wait_ns += time.monotonic_ns() - began
        if arrived is not None:
            torch.cuda.current_stream(self.device).wait_event(arrived)

    # ---- in the background ----

    def _bring(self, layer: int, frame: int) -> Any:
        for extent, at in zip(self.layers[layer].extents, self.offsets[layer]):
            staging = self._staging[self._turn]
            self._turn = (self._turn + 1) % len(self._staging)
            if staging.free is not None:
                staging.free.synchronize()
            before = extent.offset % _BLOCK if self.direct else 0
            self._read(extent.file, extent.offset - before, before + extent.bytes, staging.window)
            there, here = staging.bytes[before:before + extent.bytes], self._frames[frame, at:at + extent.bytes]
            if self._copies is None:
                here.copy_(there)
                continue
            with torch.cuda.stream(self._copies):
                if self._used[frame] is not None:
                    self._copies.wait_event(self._used[frame])
                here.copy_(there, non_blocking=True)
                staging.free = self._copies.record_event()
        return None if self._copies is None else self._copies.record_event()

    def _read(self, file: int, offset: int, count: int, window: memoryview) -> None:
        done = 0
        while done < count:
            some = os.preadv(self._fds[file], [window[done:_up(count, _BLOCK)]], offset + done)
            self.bytes_read += some
            done += some if done + some >= count else some // _BLOCK * _BLOCK
            if some < _BLOCK and done < count:
                raise errors.MalformedError(f"{self._paths[file]}: the file was cut short: it ends before byte {offset + count}")

    # ---- what it does ----

    def plan(self) -> Optional[Plan]:
        """The plan that is followed; None while the order is being recorded."""
        progress = self.progress()
        return plan_of(progress.plan, self.layers)

    def metrics(self) -> Any:
        """As struct strata_stream_metrics."""
        return types.SimpleNamespace(channel=ffi.new("char[]", b"threads"), direct=self.direct, bytes_read=self.bytes_read, bytes_written=0,
                                     wait_ns=self.wait_ns, arena_bytes=self.frame_count * self.frame_bytes,
                                     peak_bytes=self.peak * self.frame_bytes, progress=self.progress())

    def write_trace(self, path: str) -> None:
        """There is none yet of a device."""
        raise errors.UnsupportedError(f"a model on {self.device} writes no trace; expected one without device=")

    def progress(self) -> Any:
        """struct strata_stage_progress."""
        out = ffi.new("struct strata_stage_progress *")
        lib.strata_stage_run_progress(self._run, out)
        return out
