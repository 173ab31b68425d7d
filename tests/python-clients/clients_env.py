"""What tests with clients of others share: they go on in the environment of tools/python-env (build/python-clients), which `make test T=python-clients` makes;
where it is absent a test counts as skipped. The service is a real one with the workers it starts, reached over TCP with a token."""
import os
import sys

SOURCE = os.environ.get("STRATA_SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ENVIRONMENT = os.path.join(SOURCE, "build", "python-clients")
sys.path.insert(0, os.path.join(SOURCE, "tests", "api"))


def enter():
    """Starts the script again with the environment's Python, once."""
    if os.path.realpath(sys.prefix) == os.path.realpath(ENVIRONMENT):
        return
    if not os.path.exists(os.path.join(ENVIRONMENT, "pins")):
        print("1..0 # SKIP there is no build/python-clients; `make test T=python-clients` makes it")
        sys.exit(0)
    python = os.path.join(ENVIRONMENT, "bin", "python")
    os.execv(python, [python, *sys.argv])


def token(service):
    return service.api("POST", "/tokens", {}, 201)["token"]
