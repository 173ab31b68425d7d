"""Setting up a scheduler by questions and answers.

    >>> import io
    >>> answers = io.StringIO("llm\\ny\\n\\nn\\ny\\n\\n")
    >>> scheduler = interactive_scheduler_setup(answers=answers, output=io.StringIO(), experience=None)
    >>> scheduler.feature_flags["memory_optimization"], scheduler.feature_flags["advanced_optimization"]
    (False, True)

Questions are asked on a terminal, or of any stream; at its end every answer is the recommended one.
"""
from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, Optional, TextIO

import torch

from .._call import lib, text
from ..capture import as_call, capture
from ..errors import InvalidError
from .adaptive import FEATURES, SCHEDULER_PROFILES
from .devices import Device, devices_of
from .graph import graph_of
from .scheduler import Scheduler, create_scheduler_from_profile, recommend_profile

__all__ = ["customize_profile", "detect_workload_type", "get_pytorch_version", "interactive_scheduler_setup", "prompt_yes_no"]

WORKLOADS: tuple[str, ...] = tuple(text(lib.strata_workload_name(index)) for index in range(lib.STRATA_WORKLOAD_COUNT))

_QUESTIONS = 3  # times that one is asked before it is an error


def get_pytorch_version() -> tuple[int, ...]:
    """As numbers, to compare with.

    >>> get_pytorch_version() >= (2, 0)
    True
    """
    return tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])


def detect_workload_type(model: Optional[torch.nn.Module] = None, inputs: Any = ()) -> str:
    """What sort of model it is, by the detectors of the C level; "other" without a model."""
    if model is None:
        return "other"
    args, kwargs = as_call(inputs, {})
    with torch.no_grad():
        return graph_of(capture(model, args, kwargs).program).detect().workload


class _Asker:
    """Asks on one stream and reads answers from another."""

    def __init__(self, answers: Optional[TextIO], output: Optional[TextIO]) -> None:
        self._answers, self._output = answers or sys.stdin, output or sys.stdout

    def say(self, line: str = "") -> None:
        self._output.write(line + "\n")

    def ask(self, question: str, usual: str, allowed: Sequence[str]) -> str:
        """One of the allowed answers, or of their beginnings; the usual one for an empty line and at the end."""
        for _ in range(_QUESTIONS):
            self._output.write(f"{question} [{usual}] ")
            self._output.flush()
            line = self._answers.readline()
            word = line.strip().lower()
            if not self._answers.isatty():
                self.say(word)
            if not word:
                return usual
            found = [one for one in allowed if one == word] or [one for one in allowed if one.startswith(word)]
            if len(found) == 1:
                return found[0]
            self.say(f"{word!r} is not among the answers; expected {', '.join(allowed)}")
        raise InvalidError(f"{question} was not answered in {_QUESTIONS} lines; expected {', '.join(allowed)}")

    def yes(self, question: str, usual: bool) -> bool:
        return self.ask(question, "yes" if usual else "no", ("yes", "no")) == "yes"


def prompt_yes_no(question: str, default: bool = False, *, answers: Optional[TextIO] = None, output: Optional[TextIO] = None) -> bool:
    """A question of yes or no."""
    return _Asker(answers, output).yes(question, default)


def customize_profile(profile: str, *, answers: Optional[TextIO] = None, output: Optional[TextIO] = None) -> dict[str, Any]:
    """The features of a profile, each as the user wants it."""
    return _customize(profile, _Asker(answers, output))


def _customize(profile: str, asker: _Asker) -> dict[str, Any]:
    usual: Mapping[str, Any] = SCHEDULER_PROFILES[profile]
    chosen: dict[str, Any] = {FEATURES[0]: True}
    for feature in FEATURES[1:]:
        chosen[feature] = asker.yes(f"{feature}?", bool(usual.get(feature, False)))
    chosen["description"] = f"{profile}, as set by hand"
    return chosen


def interactive_scheduler_setup(model: Optional[torch.nn.Module] = None, inputs: Any = (), *, answers: Optional[TextIO] = None,
                                output: Optional[TextIO] = None, devices: Any = None, **words: Any) -> Scheduler:
    """Asks what is to be scheduled and makes a scheduler for it. Of a model that is given the workload is found out."""
    asker = _Asker(answers, output)
    title = "Strata: placing models on devices"
    asker.say(title)
    asker.say("=" * len(title))
    if model is not None:
        workload = detect_workload_type(model, inputs)
        asker.say(f"Workload of the model: {workload}")
    else:
        workload = asker.ask("What is to run?", "other", WORKLOADS)
    found: Sequence[Device] = devices_of(devices)
    asker.say(f"Devices: {len(found)} ({', '.join(device.name for device in found)})")
    profile = recommend_profile(workload, found)
    asker.say(f"Recommended profile: {profile} ({SCHEDULER_PROFILES[profile]['description']})")
    chosen: Any = profile
    if asker.yes("Change what it does?", False):
        chosen = _customize(profile, asker)
    return create_scheduler_from_profile(chosen, devices=devices, **words)
