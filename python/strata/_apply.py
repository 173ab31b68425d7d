"""Applying a row to buffers: by the C kernel where they are in this machine's memory, by torch operations elsewhere.

The torch operations of a row depend on which operands it reads, not on its numbers: rows that look alike share one function, which is
compiled once on a GPU (torch.compile) and gets the numbers as a tensor.
"""
from __future__ import annotations

import functools
import math
import sys
from typing import Any, Callable, Optional

from ._call import ffi, lib
from ._table import Arithmetic, arithmetic

__all__ = ["Kernel", "elements_of", "is_torch", "on_cpu", "scaled", "weighted"]

_BEST = lib.strata_isa_best()
_NUMPY_ELEMENTS = {"float32": lib.STRATA_F32, "float16": lib.STRATA_F16}


def is_torch(buffer: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(buffer, torch.Tensor)


@functools.lru_cache(None)
def _torch_elements() -> dict[Any, int]:
    import torch
    return {torch.float32: lib.STRATA_F32, torch.float16: lib.STRATA_F16, torch.bfloat16: lib.STRATA_BF16}


def elements_of(buffer: Any) -> Optional[int]:
    """The kernel's element for a buffer that it can work on; None: it cannot."""
    if is_torch(buffer):
        if not buffer.is_floating_point() or buffer.is_sparse:
            raise TypeError(f"the sample is {'sparse' if buffer.is_sparse else buffer.dtype}; expected a dense tensor of float32, float16, bfloat16 or float64")
        if buffer.device.type != "cpu" or buffer.requires_grad:
            return None
        return _torch_elements().get(buffer.dtype)
    if not hasattr(buffer, "__array_interface__"):
        raise TypeError(f"the sample is a {type(buffer).__name__}; expected a numpy array or a torch tensor")
    element = _NUMPY_ELEMENTS.get(buffer.dtype.name) if buffer.dtype.isnative else None
    if element is None:
        raise TypeError(f"the sample is an array of {buffer.dtype if buffer.dtype.isnative else buffer.dtype.str}; expected float32 or float16 in this machine's order of bytes")
    return element


def on_cpu(buffer: Any) -> bool:
    return elements_of(buffer) is not None


def address(buffer: Any) -> int:
    return buffer.data_ptr() if is_torch(buffer) else buffer.__array_interface__["data"][0]


def count_of(buffer: Any) -> int:
    return buffer.numel() if is_torch(buffer) else buffer.size


def contiguous(buffer: Any) -> bool:
    return buffer.is_contiguous() if is_torch(buffer) else bool(buffer.flags.c_contiguous)


def check_fits(buffer: Any, like: Any, what: str) -> None:
    """What is computed with a sample has its shape and lies where it does: nothing is spread over it."""
    if type(buffer) is not type(like) and not (is_torch(buffer) and is_torch(like)):
        raise TypeError(f"{what} is a {type(buffer).__name__}; expected a {type(like).__name__}, as the sample")
    if tuple(buffer.shape) != tuple(like.shape):
        raise ValueError(f"{what} has the shape {tuple(buffer.shape)}; expected {tuple(like.shape)}, as the sample")
    if is_torch(buffer) and (buffer.device != like.device or buffer.layout != like.layout):
        raise ValueError(f"{what} is {buffer.layout} on {buffer.device}; expected {like.layout} on {like.device}, as the sample")


def check(buffer: Any, like: Any, what: str) -> None:
    """Buffers that the kernel reads must be alike: it goes by their addresses alone."""
    check_fits(buffer, like, what)
    if buffer.dtype != like.dtype:
        raise TypeError(f"{what} is {buffer.dtype}; expected {like.dtype}, as the sample")
    if not contiguous(buffer):
        raise ValueError(f"{what} is not contiguous")


class Kernel:
    """The C kernel on buffers of one kind, size and dtype, with the slots that rows keep. Made once for a run; a row then costs a call."""

    def __init__(self, element: int, count: int, members: int, slots: list[Any]) -> None:
        self._element, self._count, self._members = element, count, max(members, 1)
        self._bytes = 4 if element == lib.STRATA_F32 else 2
        self._slots = slots
        self._how = ffi.new("struct strata_solver_how *", {"element": element, "isa": _BEST, "workers": ffi.NULL})
        self._whole, self._whole_slots = self._items(1)
        self._each: Any = None

    def _items(self, members: int) -> tuple[Any, list[Any]]:
        items, kept = ffi.new("struct strata_solver_item[]", members), []
        offset = self._count // members * self._bytes
        for k in range(members):
            if self._slots:
                kept.append(ffi.new("void *[]", [ffi.cast("void *", address(slot) + k * offset) for slot in self._slots]))
                items[k].slots = kept[-1]
        return items, kept

    def apply(self, raw_row: Any, sample: int, output: int, following: int, noise: int) -> None:
        """By addresses; 0 where there is none. The buffers have the size, the dtype and the order that the kernel was made for."""
        if raw_row.flags & (lib.STRATA_ROW_THRESHOLD | lib.STRATA_ROW_MEASURE):
            self._apply_each(raw_row, sample, output, following, noise)
            return
        item = self._whole[0]  # of a batch as one
        item.row = raw_row
        item.sample = ffi.cast("void *", sample)
        item.output = ffi.cast("void *", output)
        item.next = ffi.cast("void *", following)
        item.noise = ffi.cast("float *", noise)
        lib.strata_solver_apply(self._whole, 1, self._count, self._how)

    def _apply_each(self, raw_row: Any, sample: int, output: int, following: int, noise: int) -> None:
        if self._each is None:
            self._each, self._each_slots = self._items(self._members)
        count = self._count // self._members
        for k in range(self._members):
            item, offset = self._each[k], k * count * self._bytes
            item.row = raw_row
            item.sample = ffi.cast("void *", sample + offset)
            item.output = ffi.cast("void *", output + offset if output else 0)
            item.next = ffi.cast("void *", following + offset)
            item.noise = ffi.cast("float *", noise + k * count * 4 if noise else 0)
        lib.strata_solver_apply(self._each, self._members, count, self._how)

    def measure(self) -> float:
        """How good the measured row was that was applied last: of the member that it was worst for."""
        count = self._count // self._members
        return max(lib.strata_solver_measure(self._each + k, count, self._element) for k in range(self._members))


def weighted(terms: list[tuple[float, Any]]) -> Any:
    """Σ coefficient·buffer by the operations of numpy or torch, in float32 at least, as the dtype of the first."""
    first = terms[0][1]
    total: Any
    if is_torch(first):
        import torch
        wide = torch.float64 if first.dtype == torch.float64 else torch.float32
        total = sum(buffer.to(wide) * coefficient for coefficient, buffer in terms)
        return total.to(first.dtype)
    total = sum(buffer.astype("float32") * coefficient for coefficient, buffer in terms)
    return total.astype(first.dtype)


def scaled(buffer: Any, scale: float) -> Any:
    return buffer if scale == 1 else weighted([(scale, buffer)])


# ---- torch operations ----

Signature = tuple[Any, ...]


def _signature(row: Arithmetic) -> tuple[Signature, list[float]]:
    """Which operands a row reads, and its numbers in the order in which the function takes them."""
    sums = [row.next, *(total for _, total in row.writes)]
    needs_clean = any(name == "y" for total in sums for name, _ in total.terms)
    numbers = [*row.clean, row.limit] if needs_clean else []
    for total in sums:
        numbers += [value for _, value in total.terms]
    mask = row.flags & (lib.STRATA_ROW_CLIP | lib.STRATA_ROW_THRESHOLD) if needs_clean else 0
    ratio = row.threshold_ratio if mask & lib.STRATA_ROW_THRESHOLD else 0.0
    names = tuple(tuple(name for name, _ in total.terms) for total in sums)
    return (names, tuple(slot for slot, _ in row.writes), needs_clean, mask, ratio), numbers


def _operation(signature: Signature) -> Callable[..., Any]:
    names, _, needs_clean, mask, ratio = signature
    import torch

    def clean(x: Any, m: Any, numbers: Any) -> Any:
        y = numbers[0] * x if m is None else numbers[0] * x + numbers[1] * m
        limit = numbers[2]
        if mask & lib.STRATA_ROW_CLIP:
            return torch.minimum(torch.maximum(y, -limit), limit)
        if mask & lib.STRATA_ROW_THRESHOLD:
            flat = y.reshape(y.shape[0], -1).abs()
            bound = torch.quantile(flat, ratio, dim=1).clamp(min=1)
            bound = torch.minimum(bound, limit).reshape(-1, *[1] * (y.dim() - 1))
            return torch.minimum(torch.maximum(y, -bound), bound) / bound
        return y

    def run(x: Any, m: Any, slots: list[Any], n: Any, numbers: Any) -> list[Any]:
        wide = torch.float64 if x.dtype == torch.float64 else torch.float32
        of = {"x": x.to(wide), "m": None if m is None else m.to(wide), "n": None if n is None else n.to(wide)}
        of.update((f"s{k}", slot.to(wide)) for k, slot in enumerate(slots))
        at = 0
        if needs_clean:
            of["y"], at = clean(of["x"], of["m"], numbers), 3
        results = []
        for terms in names:
            total = torch.zeros_like(of["x"]) if not terms else numbers[at] * of[terms[0]]
            for k in range(1, len(terms)):
                total = total + numbers[at + k] * of[terms[k]]
            at += len(terms)
            results.append(total.to(x.dtype))
        return results
    return run


@functools.lru_cache(None)
def operation(signature: Signature, compiled: bool) -> Callable[..., Any]:
    """The torch function of all rows with this signature."""
    run = _operation(signature)
    if not compiled:
        return run
    import torch
    return torch.compile(run, dynamic=False)


def numbers_on(values: list[float], like: Any) -> Any:
    import torch
    wide = torch.float64 if like.dtype == torch.float64 else torch.float32
    return torch.tensor(values or [0.0], dtype=wide).to(like.device)


class TorchRows:
    """The rows of a table for one device and dtype: their functions, and their numbers as tensors there."""

    def __init__(self, like: Any, compiled: Optional[bool] = None) -> None:
        self._like = like.detach().reshape(-1)[:0].clone()
        self._compiled = like.device.type == "cuda" if compiled is None else compiled
        self._ready: dict[Any, tuple[Any, Any, tuple[int, ...]]] = {}

    def apply(self, raw_row: Any, key: Any, sample: Any, output: Any, slots: list[Any], noise: Any) -> Any:
        """The new sample; slots are written in place of the old ones. key names the row; None: it is not kept."""
        ready = self._ready.get(key) if key is not None else None
        if ready is None:
            signature, values = _signature(arithmetic(raw_row))
            ready = operation(signature, self._compiled), numbers_on(values, self._like), signature[1]
            if key is not None:
                self._ready[key] = ready
        run, numbers, written = ready
        results = run(sample, output, slots, noise, numbers)
        for slot, value in zip(written, results[1:]):
            slots[slot] = value
        return results[0]


def torch_measure(raw_row: Any, following: Any, slots: list[Any]) -> float:
    """strata_solver_measure by torch operations."""
    import torch
    rough, before = slots[lib.STRATA_SLOT_ROUGH].double(), slots[lib.STRATA_SLOT_BEFORE].double()
    allowed = (torch.maximum(rough.abs(), before.abs()) * raw_row.threshold_ratio).clamp(min=raw_row.limit)
    off = ((rough - following.double()) / allowed) ** 2
    return math.sqrt(float((off.reshape(off.shape[0], -1) if off.dim() > 1 else off.reshape(1, -1)).mean(dim=1).max()))
