"""Calling libstrata: its errors become exceptions, its arenas context managers, its allocators have one owner each.

cffi releases the interpreter's lock in every call, so calls of several threads run side by side; what the headers say of threads
holds here too.
"""
from __future__ import annotations

from typing import Any

from . import errors
from ._native import ffi, lib

__all__ = ["Arena", "call", "ffi", "lib", "memory", "text"]


def text(value: Any) -> str:
    """A C string, or "" where there is none."""
    return ffi.string(value).decode("utf-8", "replace") if value != ffi.NULL else ""


def call(function: Any, *words: Any) -> int:
    """Calls a function whose last parameter is a struct strata_error: what it returns if that is not negative, else an exception."""
    err = ffi.new("struct strata_error *")
    code = function(*words, err)
    if code < 0:
        raise errors.of_code(code, text(err.text) or f"error {-code}", text(err.field))
    return code


def memory() -> Any:
    """An allocator without a limit. It must live as long as what was allocated with it."""
    return ffi.new("struct strata_memory *")


class Arena:
    """Scratch memory of one call.

    >>> with Arena() as arena:
    ...     lib.strata_arena_get(arena, 16) != ffi.NULL
    True
    """

    def __enter__(self) -> Any:
        self._memory = memory()
        self._arena = ffi.new("struct strata_arena *")
        lib.strata_arena_init(self._arena, self._memory, 0)
        return self._arena

    def __exit__(self, *what: Any) -> None:
        lib.strata_arena_fini(self._arena)
