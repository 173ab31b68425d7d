"""What tests with torch share: they go on in the environment of tools/python-env (build/python-torch), which `make test T=python-torch` makes; where it is
absent a test counts as skipped. A test is a function; a failed assert or an exception fails it. TAP comes out."""
import os
import subprocess
import sys
import traceback

SOURCE = os.environ.get("STRATA_SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("STRATA_BUILD") or os.path.join(SOURCE, "build")
ENVIRONMENT = os.path.join(SOURCE, "build", "python-torch")
STRATA = os.path.join(BUILD, "strata")


def enter():
    """Starts the script again with the environment's Python, once."""
    if os.path.realpath(sys.prefix) == os.path.realpath(ENVIRONMENT):
        return
    if not os.path.exists(os.path.join(ENVIRONMENT, "pins")):
        print("1..0 # SKIP there is no build/python-torch; `make test T=python-torch` makes it")
        sys.exit(0)
    python = os.path.join(ENVIRONMENT, "bin", "python")
    os.environ.update(OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error")
    os.execv(python, [python, *sys.argv])


def strata(*words, **variables):
    """What the program prints; it must end with 0."""
    done = subprocess.run([STRATA, *map(str, words)], capture_output=True, text=True, env=dict(os.environ, **variables))
    assert done.returncode == 0, f"strata {' '.join(map(str, words))}: exit status {done.returncode}: {done.stderr}"
    return done.stdout


def run(*tests):
    bad = 0
    print(f"1..{len(tests)}")
    for number, test in enumerate(tests, 1):
        try:
            test()
            print(f"ok {number} - {test.__name__}", flush=True)
        except Exception:  # pylint: disable=broad-except
            bad = 1
            print(f"not ok {number} - {test.__name__}")
            print("".join(f"# {line}\n" for line in traceback.format_exc().splitlines()), end="", flush=True)
    sys.exit(bad)
