"""What tests of the client side share: the package of the source tree (nothing of it is compiled), a service of tests/api, and the environment with
torch for those that need it. TAP comes out."""
import os
import sys

SOURCE = os.environ.get("STRATA_SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ENVIRONMENT = os.path.join(SOURCE, "build", "python-torch")
PACKAGE = os.path.join(SOURCE, "python")
sys.path[:0] = [PACKAGE, os.path.join(SOURCE, "tests", "api")]


def enter_torch():
    """Starts the script again with the Python of build/python-torch, once."""
    if os.path.realpath(sys.prefix) == os.path.realpath(ENVIRONMENT):
        return
    if not os.path.exists(os.path.join(ENVIRONMENT, "pins")):
        print("1..0 # SKIP there is no build/python-torch; `make test T=python-torch` makes it")
        sys.exit(0)
    python = os.path.join(ENVIRONMENT, "bin", "python")
    os.environ.update(OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error", DIFFUSERS_VERBOSITY="error", RAY_USAGE_STATS_ENABLED="0")
    os.execv(python, [python, *sys.argv])


def raises(kind, call, *args, **kwargs):
    """What it raises; it must be of this kind."""
    try:
        call(*args, **kwargs)
    except kind as wrong:
        return wrong
    raise AssertionError(f"{kind.__name__} was expected")
