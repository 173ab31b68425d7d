"""Where a run stands, as bytes for another worker: latents, the solver's memory, the state of random numbers. What is torn, of another task or of another
version is refused, and the task begins anew."""
from __future__ import annotations

import hashlib
import io
import json
from typing import Any, Mapping

import torch

from ..errors import MalformedError

MAGIC = b"strata python latents 1\n"
_HASH = 32


def key_of(model: str, task: Mapping[str, Any], versions: str) -> bytes:
    text = json.dumps([versions, model, task["id"], task.get("seed"), task["parameters"]], sort_keys=True)
    return hashlib.sha256(text.encode()).digest()


def pack(key: bytes, state: Mapping[str, Any]) -> bytes:
    file = io.BytesIO()
    torch.save(state, file)
    data = file.getvalue()
    return MAGIC + key + hashlib.sha256(data).digest() + data


def unpack(key: bytes, saved: bytes) -> dict[str, Any]:
    head = len(MAGIC) + 2 * _HASH
    if len(saved) < head or saved[:len(MAGIC)] != MAGIC:
        raise MalformedError("they are of another program or version, or torn")
    if saved[len(MAGIC):head - _HASH] != key:
        raise MalformedError("they are of another task or version")
    data = saved[head:]
    if hashlib.sha256(data).digest() != saved[head - _HASH:head]:
        raise MalformedError("they are torn")
    return torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)


def memory_of(scheduler: Any) -> dict[str, Any]:
    """What a scheduler remembers between steps: everything of it that is numbers. The rest is made by set_timesteps."""
    found = {}
    for name, value in vars(scheduler).items():
        if _is_plain(value):
            found[name] = value
    return found


def _is_plain(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(_is_plain(one) for one in value)
    return value is None or isinstance(value, (bool, int, float, str, torch.Tensor))


def to_device(value: Any, device: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.to(device)
    if isinstance(value, (list, tuple)):
        return type(value)(to_device(one, device) for one in value)
    return value


def give_memory(scheduler: Any, memory: Mapping[str, Any]) -> None:
    """To a scheduler that has the same timesteps; each tensor goes where its own is."""
    for name, value in memory.items():
        before = vars(scheduler).get(name)
        device = before.device if isinstance(before, torch.Tensor) else next(
            (one.device for one in before if isinstance(one, torch.Tensor)), None) if isinstance(before, (list, tuple)) else None
        setattr(scheduler, name, to_device(value, device) if device is not None else value)
