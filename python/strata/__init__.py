"""Strata for people who work in Python: the levels of libstrata, with torch, diffusers and the service around them.

    strata.solver      denoising trajectories: tables and steps on numpy and torch
    strata.diffusers   a scheduler for any diffusers pipeline, shared by many threads
    strata.place       models on devices: which operator runs where; a backend for torch.compile
    strata.pool        generation tasks: which runs next
    strata.stage       models larger than memory; strata.offload runs one within a budget
    strata.client      the service: jobs, queue, events, pictures; sync and async
    strata.submit      runs a function as a job; strata.map as an array job
    strata.worker      draws pictures for the service with a diffusers pipeline
    strata.ray         a Ray cluster inside a job of several nodes
    strata.lightning   Lightning inside jobs: where it runs, checkpoints when it has to go, progress

What decides is the C library; this package is thin. A part is imported when it is first used, so that one without numpy or torch
costs nothing and needs nothing.
"""
import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import client as client, diffusers as diffusers, errors as errors, functions as functions, place as place, pool as pool
    from . import solver as solver, stage as stage
    from .client import AsyncClient as AsyncClient, Client as Client
    from .errors import Error as Error
    from .functions import map as map, submit as submit
    from .stage.handle import offload as offload

__version__ = "0.2.0"

_MODULES = ("client", "diffusers", "errors", "functions", "lightning", "place", "pool", "ray", "solver", "stage", "worker")
_NAMES = {"AsyncClient": "client", "Client": "client", "Error": "errors", "map": "functions", "offload": "stage", "submit": "functions"}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _NAMES:
        return getattr(importlib.import_module(f"{__name__}.{_NAMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES, *_NAMES})
