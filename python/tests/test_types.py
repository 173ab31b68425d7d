#!/usr/bin/env python3
"""pyright has nothing to say of the package as it is built: what is annotated fits what is called, with the real torch, diffusers and Lightning."""
import os
import shutil
import subprocess
import sys
import tempfile

import package

PYRIGHT = os.path.join(package.SOURCE, "build", "python-tools", "bin", "pyright")
PYRIGHT = PYRIGHT if os.path.exists(PYRIGHT) else shutil.which("pyright")
TORCH = os.path.join(package.ENVIRONMENT, "bin", "python")


def pyright(folder):
    """What it says of the package in a folder, with the settings of pyproject.toml, and its exit status."""
    shutil.copy(os.path.join(package.SOURCE, "pyproject.toml"), folder)
    done = subprocess.run([PYRIGHT, "--pythonpath", TORCH, "-p", folder], capture_output=True, text=True, timeout=600)
    return done.returncode, done.stdout.replace(folder + os.sep, "python/")


def copied(folder):
    return shutil.copytree(os.path.join(package.PACKAGE, "strata"), os.path.join(folder, "strata"), ignore=shutil.ignore_patterns("__pycache__", "*.so*"))


def the_package_is_typed():
    with tempfile.TemporaryDirectory() as folder:
        copied(folder)
        status, said = pyright(folder)
        assert status == 0 and said.startswith("0 errors, 0 warnings"), said


def a_wrong_call_is_found():
    """Of the library by the types that are made for it, and of torch: neither is Any throughout."""
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "strata"))
        for name in ("__init__.py", "_call.py", "_native.pyi", "errors.py", "py.typed"):
            shutil.copy(os.path.join(package.PACKAGE, "strata", name), os.path.join(folder, "strata"))
        with open(os.path.join(folder, "wrong.py"), "w", encoding="utf-8") as file:
            file.write("import torch\nfrom strata._call import ffi, lib\n"
                       "lib.strata_solver_build(b'euler', '5', ffi.NULL, ffi.NULL, ffi.NULL)\nlib.strata_solver_bild()\ntorch.zeros(1).nothing()\n")
        status, said = pyright(folder)
        assert status == 1, said
        for line in (3, 4, 5):
            assert f"wrong.py:{line}:" in said, said


if not PYRIGHT:
    package.skip("pyright is not installed; `make test T=python-tools` makes an environment with it")
if not os.path.exists(TORCH):
    package.skip("there is no build/python-torch; `make test T=python-torch` makes it")
if not os.path.exists(os.path.join(package.PACKAGE, "strata", "_native.pyi")):
    package.skip("the Python package is not built here (`make python` needs cffi and the headers of Python)")
sys.stdout.reconfigure(line_buffering=True)
package.run(the_package_is_typed, a_wrong_call_is_found)
