"""The Python environment of the tests that need torch, from which peers are run."""

import glob
import os

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ENVIRONMENT = os.path.join(SOURCE, "build", "python-torch")


def python(_build=None):
    return os.path.join(ENVIRONMENT, "bin", "python")


def missing(build):
    """Why not, or nothing."""
    if not os.path.exists(os.path.join(ENVIRONMENT, "pins")):
        return "there is no build/python-torch; `make bench PEERS=1` makes it"
    if not os.path.exists(os.path.join(build, "python", "strata", "_native.abi3.so")):
        return "the Python package is not built; `make python`"
    return ""


def onnxruntime():
    """The path of its library."""
    found = glob.glob(os.path.join(ENVIRONMENT, "lib", "python3*", "site-packages", "onnxruntime", "capi", "libonnxruntime.so.*"))
    return found[0] if found else ""
