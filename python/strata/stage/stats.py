"""What an offloaded model has done and holds."""
from __future__ import annotations

from typing import NamedTuple

__all__ = ["Stats"]


class Stats(NamedTuple):
    """What an offloaded model has done and holds; times in seconds."""

    budget_bytes: int
    memory_bytes: int
    """Taken for parameters: frames of the stream, and what is kept. Never above the budget."""
    peak_bytes: int
    """Of it, in use at a time."""
    kept_bytes: int
    """Parameters that stay in memory: those that large modules have beside their children, and what cannot be staged; small states of an
    optimizer; room for parameters that lie badly in their file."""
    lookup_bytes: int
    """Tables of embeddings that stay in the file, where a call reads a few rows."""
    gradient_bytes: int
    """Of the largest gradient that was there while a model trained, beyond the budget."""
    written_bytes: int
    """Parameters that the program has written to by itself: they stay in memory, beyond the budget."""
    total_bytes: int
    """All parameters."""
    units: int
    steps: int
    visits: int
    surprises: int
    """Visits that the plan did not expect."""
    plans: int
    bytes_read: int
    bytes_written: int
    wait_s: float
    """That the model waited for parameters."""
    channel: str
    direct: bool
    """The file is read around the system's cache."""
