"""Weights in safetensors files: written so that they can be read in place, found, compared and looked up.

A file is written beside its place and renamed, so that whoever looks sees the old one or all of the new one, also after a crash. Its
numbers begin at a whole block of the disk, and every tensor at a whole line of the processor's cache: products on some processors depend
in their last bits on where a matrix begins.
"""
from __future__ import annotations

import json
import mmap
import os
import tempfile
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Optional, Union

import torch

from .._call import Arena, call, ffi, lib, text
from ..errors import ConflictError, InvalidError, MalformedError
from .stream import Extent

__all__ = ["ALIGNMENT", "Files", "Found", "find", "missing", "write"]

ALIGNMENT = 64
_BLOCK = 4096
_TYPES = {
    "BOOL": torch.bool, "U8": torch.uint8, "I8": torch.int8, "I16": torch.int16, "U16": torch.uint16, "F16": torch.float16,
    "BF16": torch.bfloat16, "I32": torch.int32, "U32": torch.uint32, "F32": torch.float32, "C64": torch.complex64, "F64": torch.float64,
    "I64": torch.int64, "U64": torch.uint64, "F8_E5M2": torch.float8_e5m2, "F8_E4M3": torch.float8_e4m3fn,
    "F8_E5M2FNUZ": torch.float8_e5m2fnuz, "F8_E4M3FNUZ": torch.float8_e4m3fnuz,
}
_NAMES = {dtype: name for name, dtype in _TYPES.items()}


class Found(NamedTuple):
    """A tensor in a file."""

    extent: Extent
    dtype: Optional[torch.dtype]
    """None: one that torch does not have."""
    shape: tuple[int, ...]


def _bytes(tensor: torch.Tensor) -> memoryview:
    flat = tensor.detach().to("cpu").contiguous().reshape(-1)
    numbers: Any = flat.view(torch.uint8).numpy() if flat.numel() else b""
    return memoryview(numbers)


def write(path: str, tensors: Mapping[str, Union[torch.Tensor, Callable[[], torch.Tensor]]], sizes: Mapping[str, tuple[torch.dtype, tuple[int, ...]]]) -> None:
    """Writes tensors; a value may be a function that returns one, so that not all need be in memory at once."""
    rest = {name: torch.Size(shape).numel() * torch.empty(0, dtype=dtype).element_size() for name, (dtype, shape) in sizes.items()}
    order = sorted(sizes, key=lambda name: rest[name] % ALIGNMENT != 0)  # stable: those that keep the next one aligned come first
    at, header = 0, {}
    for name in order:
        dtype, shape = sizes[name]
        header[name] = {"dtype": _NAMES[dtype], "shape": list(shape), "data_offsets": [at, at + rest[name]]}
        at += rest[name]
    words = json.dumps(header, separators=(",", ":")).encode()
    words += b" " * (-(8 + len(words)) % _BLOCK)
    folder = os.path.dirname(os.path.abspath(path))
    fd, beside = tempfile.mkstemp(prefix=".strata-", suffix=".safetensors", dir=folder)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(len(words).to_bytes(8, "little") + words)
            for name in order:
                value = tensors[name]
                file.write(_bytes(value if isinstance(value, torch.Tensor) else value()))
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _close(fds: list[int]) -> None:
    for fd in fds:
        os.close(fd)


class Files:
    """The files of a model: a .safetensors file, an index of several, or a directory with one of these."""

    def __init__(self, path: str) -> None:
        self.paths: list[str] = []
        self.tensors: dict[str, Found] = {}
        with Arena() as arena:
            weights = ffi.new("struct strata_weights *")
            call(lib.strata_weights_read, os.fsencode(path), ffi.NULL, arena, weights)
            self.paths = [text(weights.paths[at]) for at in range(weights.path_count)]
            for layer in (weights.layers[at] for at in range(weights.layer_count)):
                for at in range(layer.tensor_count):
                    raw, extent = layer.tensors[at], layer.extents[at]
                    self.tensors[text(raw.name)] = Found(
                        Extent(extent.file, extent.offset, extent.bytes), _TYPES.get(text(lib.strata_weight_type_name(raw.type))),
                        tuple(raw.shape[axis] for axis in range(raw.rank)))
        self._maps: dict[int, mmap.mmap] = {}
        self._fds: list[int] = []
        weakref.finalize(self, _close, self._fds)
        for each in self.paths:
            self._fds.append(os.open(each, os.O_RDONLY | os.O_CLOEXEC))

    def places(self) -> list[str]:
        """Where the files can be opened again: at their paths, unless others are there by now."""
        def place(path: str, fd: int) -> str:
            try:
                return path if os.path.samestat(os.stat(path), os.fstat(fd)) else f"/proc/self/fd/{fd}"
            except OSError:
                return f"/proc/self/fd/{fd}"
        return [place(path, fd) for path, fd in zip(self.paths, self._fds)]

    def _map(self, file: int) -> mmap.mmap:
        if file not in self._maps:
            self._maps[file] = mmap.mmap(self._fds[file], 0, access=mmap.ACCESS_COPY)
        return self._maps[file]

    def lookup(self, found: Found) -> torch.Tensor:
        """A tensor whose numbers are looked up in the file when they are asked for. What is written to it stays in memory."""
        if found.dtype is None:
            raise MalformedError("a tensor has a type that torch does not have")
        return torch.frombuffer(self._map(found.extent.file), dtype=found.dtype, count=torch.Size(found.shape).numel(),
                                offset=found.extent.offset).view(found.shape)

    def same(self, found: Found, tensor: torch.Tensor) -> bool:
        """Whether the file has these numbers, bit for bit. Reads them."""
        there, step = _bytes(tensor), 8 << 20
        for at in range(0, len(there), step):
            if os.pread(self._fds[found.extent.file], min(step, len(there) - at), found.extent.offset + at) != there[at:at + step]:
                return False
        return True


def missing(files: Files, wanted: Iterable[tuple[str, torch.dtype, tuple[int, ...]]]) -> Optional[str]:
    """What the files lack, as a sentence; None: nothing."""
    for name, dtype, shape in wanted:
        found = files.tensors.get(name)
        if found is None:
            return f"there is no tensor '{name}'"
        if (found.dtype, found.shape) != (dtype, shape):
            return f"'{name}' is {found.dtype} {list(found.shape)}; expected {dtype} {list(shape)}"
    return None


def find(path: str, named: Sequence[tuple[str, torch.Tensor]], load: Optional[bool]) -> Files:
    """The file at a path, if it has these tensors; else it is written. load: as in strata.offload."""
    absent = [name for name, parameter in named if parameter.is_meta]
    if load is not False and os.path.exists(path):
        files = Files(path)
        lacks = missing(files, [(name, parameter.dtype, tuple(parameter.shape)) for name, parameter in named])
        if lacks:
            raise MalformedError(f"{path}: {lacks}; load=False writes the model's own weights there")
        if load is None:
            for name, parameter in named:
                if not parameter.is_meta and not files.same(files.tensors[name], parameter.data):
                    raise ConflictError(f"{path} has other numbers for '{name}' than the model; load=True takes those of the file, "
                                        "load=False writes the model's there")
        return files
    if load:
        raise InvalidError(f"{path} is not there; load=True expects a file of weights")
    if absent:
        raise InvalidError(f"'{absent[0]}' has no numbers (device meta) and {path} is not there; expected one of them")
    write(path, {name: parameter.data for name, parameter in named},
          {name: (parameter.dtype, tuple(parameter.shape)) for name, parameter in named})
    return Files(path)
