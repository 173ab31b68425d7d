"""Models as graphs of operators: what strata.place and strata.stage know of a torch module.

    >>> import torch
    >>> taken = capture(torch.nn.Linear(4, 2), (torch.zeros(3, 4),), {})
    >>> [(op.kind, op.flops) for op in taken.program.ops], taken.program.weight_bytes
    ([('Gemm', 48.0)], 40)
"""
from .program import Op, Program, Source, Tensor, program_of
from .trace import Capture, call_key, capture
from .values import Flattener, as_call, rebuild

__all__ = ["Capture", "Flattener", "Op", "Program", "Source", "Tensor", "as_call", "call_key", "capture", "program_of", "rebuild"]
