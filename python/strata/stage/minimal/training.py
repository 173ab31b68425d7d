"""A training step as a loop over layers, with the scheduler asked at every boundary."""
from __future__ import annotations

from typing import Any

__all__ = ["train_one_step"]


def train_one_step(model: Any, scheduler: Any, batch: Any) -> Any:
    """Forward through model.layers, then backward over them (the hooks only: nothing is differentiated). Returns what the last layer
    returned. scheduler is any object with the six hooks."""
    if hasattr(scheduler, "bind"):
        scheduler.bind(model.layers)  # so that a layer can be brought before it is seen
    scheduler.on_step_start()
    x = batch
    for layer in model.layers:
        scheduler.on_pre_forward(layer)
        x = layer.forward(x)
        scheduler.on_post_forward(layer)
    for layer in reversed(model.layers):
        scheduler.on_pre_backward(layer)
        scheduler.on_post_backward(layer)
    scheduler.on_step_end()
    return x
