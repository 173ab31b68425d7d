"""What stands in a parameter's `grad` when its gradient is not in memory: a mark that says so to whoever computes with it.

Without it `torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)` would find no gradients, return 0 and clip nothing, and nobody would notice. A mark
has the shape and type of the gradient, takes no memory, and may be set to None, as optimizer.zero_grad() does.
"""
from __future__ import annotations

from typing import Any

import torch

from ..errors import UnsupportedError

__all__ = ["Mark"]


class Mark(torch.Tensor):
    """A gradient that is elsewhere, or was used up.

    >>> mark = Mark.of("weight", torch.zeros(2, 3), kept=False)
    >>> mark.shape
    torch.Size([2, 3])
    >>> mark.norm()
    Traceback (most recent call last):
    ...
    strata.errors.UnsupportedError: the gradient of 'weight' was used up in backward(), where the optimizer steps an offloaded model; \
strata.offload(…, keep_gradients=True) keeps gradients, and h.clip_grad_norm_(max_norm) clips them
    """

    _said: str

    @classmethod
    def of(cls, name: str, like: torch.Tensor, kept: bool) -> Mark:
        numbers = torch.full((), float("nan"), dtype=like.dtype).expand(like.shape)
        mark = torch.Tensor._make_subclass(cls, numbers)
        mark._said = (f"the gradient of '{name}' is staged, not in memory; h.clip_grad_norm_(max_norm) clips an offloaded model" if kept else
                      f"the gradient of '{name}' was used up in backward(), where the optimizer steps an offloaded model; "
                      "strata.offload(…, keep_gradients=True) keeps gradients, and h.clip_grad_norm_(max_norm) clips them")
        return mark

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"<{self.__dict__['_said']}>"

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__name__", "") in ("__get__", "size", "dim", "numel", "element_size", "stride", "is_floating_point"):  # about it, not of it
            with torch._C.DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {}))
        for one in _all(args):
            raise UnsupportedError(one.__dict__["_said"])
        raise UnsupportedError("the gradients of an offloaded model are not in memory")


def _all(words: Any) -> Any:
    """The marks among arguments, which may be lists of them."""
    for word in words:
        if isinstance(word, Mark):
            yield word
        elif isinstance(word, (tuple, list)):
            yield from _all(word)
