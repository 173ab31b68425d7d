"""What tests of the Python package share: the package of the tree's build (`make python`), and TAP. A test is a function; a failed assert
or an exception fails it. Where the package was not built, or what a test needs is absent, it counts as skipped, by name."""
import importlib.util
import os
import sys
import traceback

SOURCE = os.environ.get("STRATA_SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("STRATA_BUILD") or os.path.join(SOURCE, "build")
PACKAGE = os.path.join(BUILD, "python")
ENVIRONMENT = os.path.join(SOURCE, "build", "python-torch")


def skip(why):
    print(f"1..0 # SKIP {why}")
    sys.exit(0)


def enter(*needed):
    """Puts the built package before all others; ends as skipped where it, or one of the modules, is not there. An installed package is
    tested in place of it with STRATA_PYTHON_INSTALLED=1."""
    if not os.environ.get("STRATA_PYTHON_INSTALLED"):
        if not os.path.exists(os.path.join(PACKAGE, "strata", "_native.abi3.so")):
            skip("the Python package is not built here (`make python` needs cffi and the headers of Python)")
        sys.path.insert(0, PACKAGE)
    for module in needed:
        if importlib.util.find_spec(module) is None:
            skip(f"Python has no module {module} here")


def enter_torch():
    """Starts the script again with the Python of build/python-torch, once."""
    if os.path.realpath(sys.prefix) != os.path.realpath(ENVIRONMENT) and not os.environ.get("STRATA_PYTHON_INSTALLED"):
        if not os.path.exists(os.path.join(ENVIRONMENT, "pins")):
            skip("there is no build/python-torch; `make test T=python-torch` makes it")
        python = os.path.join(ENVIRONMENT, "bin", "python")
        os.environ.update(OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error", DIFFUSERS_VERBOSITY="error")
        os.execv(python, [python, *sys.argv])
    enter("torch", "_cffi_backend")


def run(*tests):
    bad = 0
    print(f"1..{len(tests)}")
    for number, test in enumerate(tests, 1):
        try:
            said = test()
            print(f"ok {number} - {test.__name__}", flush=True)
            if said:
                print("".join(f"# {line}\n" for line in said.splitlines()), end="", flush=True)
        except Exception:  # pylint: disable=broad-except
            bad = 1
            print(f"not ok {number} - {test.__name__}")
            print("".join(f"# {line}\n" for line in traceback.format_exc().splitlines()), end="", flush=True)
    sys.exit(bad)
