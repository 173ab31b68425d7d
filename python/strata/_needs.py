"""What a part of the package needs beside cffi, said with the command that installs it."""
from __future__ import annotations

import importlib.util


def need(part: str, *modules: str, extra: str) -> None:
    """Raises a ModuleNotFoundError that says what to do, where one of the modules is not there."""
    for module in modules:
        if importlib.util.find_spec(module) is None:
            raise ModuleNotFoundError(f"{part} needs {module}: pip install 'strata[{extra}]'", name=module)
