"""Nested values as a flat list of tensors and a structure, and back.

What models take and return is nested: dicts, tuples, dataclasses, ModelOutput of transformers, KV caches. A structure says what stands where;
all that is no tensor is part of it, so that two calls with equal structures differ in their tensors only. KV caches are objects that
a call changes: they are rebuilt from their attributes, and what became of the attributes is part of the result.
"""
from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import types
from collections.abc import Mapping, Sequence
from typing import Any, Optional

import torch

__all__ = ["Flattener", "Structure", "rebuild", "restore"]

Structure = tuple  # ("leaf", k), ("const", value), ("list", items) …: see Flattener.add


_PLAIN = (type(None), bool, int, float, complex, str, bytes, slice, range, enum.Enum, type, types.FunctionType, types.BuiltinFunctionType,
          torch.dtype, torch.device, torch.layout, torch.memory_format)


def _is_plain(value: Any) -> bool:
    """Whether a constant can be compared with another by its value, for good: it cannot change."""
    if isinstance(value, functools.partial):
        return all(map(_is_plain, (value.func, *value.args, *value.keywords.values())))
    if isinstance(value, (frozenset, set)):
        return all(map(_is_plain, value))
    return isinstance(value, _PLAIN)


def _is_state(value: Any) -> bool:
    """KV caches of transformers and their layers: objects whose tensors a call replaces."""
    return any(cls.__name__ in ("Cache", "CacheLayerMixin") for cls in type(value).__mro__)


class Flattener:
    """Collects the tensors of values.

    >>> flat = Flattener()
    >>> flat.add({"x": torch.zeros(2), "n": [3, None]})
    ('dict', <class 'dict'>, ('x', 'n'), (('leaf', 0), ('list', (('const', 3), ('const', None)))))
    >>> len(flat.leaves)
    1
    """

    def __init__(self, known: Sequence[Any] = ()) -> None:
        """known: objects that a structure refers to by number where it meets them again."""
        self.leaves: list[Any] = []
        self.objects: list[Any] = []
        self.opaque: list[Any] = []
        """Constants that could change unseen: a program that was captured with them may not be used again."""
        self._numbers: dict[int, int] = {}
        self._known = {id(one): number for number, one in enumerate(known)}

    def add(self, value: Any) -> Structure:
        """The structure of a value; its tensors are appended, each once."""
        if isinstance(value, (torch.Tensor, torch.SymInt, torch.SymFloat, torch.SymBool)):
            return ("leaf", self._leaf(value))
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return ("named", type(value), tuple(map(self.add, value)))
        if type(value) in (list, tuple, torch.Size):
            return ("list" if type(value) is list else "tuple", tuple(map(self.add, value)))
        if isinstance(value, collections.OrderedDict) and dataclasses.is_dataclass(value):
            return ("output", type(value), tuple(value.keys()), tuple(map(self.add, value.values())))
        if isinstance(value, (dict, collections.UserDict)):
            cls = type(value) if type(value) in (dict, collections.OrderedDict) else dict
            return ("dict", cls, tuple(value.keys()), tuple(map(self.add, value.values())))
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            keys = tuple(field.name for field in dataclasses.fields(value) if hasattr(value, field.name))
            return ("dataclass", type(value), keys, tuple(self.add(getattr(value, key)) for key in keys))
        if _is_state(value):
            if id(value) in self._known:
                return ("known", self._known[id(value)])
            self._known[id(value)] = len(self.objects)
            self.objects.append(value)
            return ("state", type(value), *self.attributes(value))
        if not _is_plain(value):
            self.opaque.append(value)
        return ("const", value)

    def attributes(self, value: Any) -> tuple[tuple[str, ...], tuple[Structure, ...]]:
        """What an object holds."""
        held = vars(value)
        return tuple(held), tuple(self.add(held[key]) for key in held)

    def _leaf(self, value: Any) -> int:
        number = self._numbers.get(id(value))
        if number is None:
            number = self._numbers[id(value)] = len(self.leaves)
            self.leaves.append(value)
        return number


def rebuild(structure: Structure, leaves: Sequence[Any], objects: Optional[list[Any]] = None) -> Any:
    """The value of a structure, with these tensors. Objects are appended to `objects` as they are made, in the Flattener's order."""
    kind = structure[0]
    if kind == "leaf":
        return leaves[structure[1]]
    if kind == "const":
        return structure[1]
    if kind == "list":
        return [rebuild(item, leaves, objects) for item in structure[1]]
    if kind == "tuple":
        return tuple(rebuild(item, leaves, objects) for item in structure[1])
    if kind == "named":
        return structure[1](*(rebuild(item, leaves, objects) for item in structure[2]))
    objects = [] if objects is None else objects
    if kind == "known":
        return objects[structure[1]]
    _, cls, keys, items = structure
    if kind == "state":
        made = object.__new__(cls)
        objects.append(made)
        vars(made).update(_pairs(keys, items, leaves, objects))
        return made
    pairs = _pairs(keys, items, leaves, objects)
    if kind == "output":
        return cls(**pairs)
    if kind == "dict":
        return cls(pairs)
    made = object.__new__(cls)
    for key, value in pairs.items():
        object.__setattr__(made, key, value)
    return made


def _pairs(keys: Sequence[Any], items: Sequence[Structure], leaves: Sequence[Any], objects: list[Any]) -> dict[Any, Any]:
    return {key: rebuild(item, leaves, objects) for key, item in zip(keys, items)}


def restore(objects: Sequence[Any], states: Sequence[tuple[tuple[str, ...], tuple[Structure, ...]]], leaves: Sequence[Any]) -> list[Any]:
    """Gives objects the attributes that a call left behind. Returns all objects that structures of that call may refer to."""
    known = list(objects)
    for one, (keys, items) in zip(objects, states):
        held = _pairs(keys, items, leaves, known)
        vars(one).clear()
        vars(one).update(held)
    return known


def key_of(structure: Any) -> Any:
    """Something to compare structures by: constants that cannot be hashed count as themselves only."""
    if isinstance(structure, tuple) and structure and structure[0] == "const":
        value = structure[1]
        try:
            hash(value)
        except TypeError:
            return ("const", id(value))
        return ("const", type(value), value)
    return tuple(map(key_of, structure)) if isinstance(structure, tuple) else structure


def as_call(inputs: Any, more: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional and keyword arguments from what users give as inputs: a tuple is several positional ones, a mapping keyword ones.

    >>> as_call({"x": 1}, {"y": 2})
    ((), {'x': 1, 'y': 2})
    """
    if isinstance(inputs, Mapping) and all(isinstance(key, str) for key in inputs):
        return (), {**inputs, **more}
    return (inputs if type(inputs) is tuple else (inputs,)), dict(more)
