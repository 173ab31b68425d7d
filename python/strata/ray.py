"""A Ray cluster inside a job: one call, a Ray node for each node of the job.

    import strata.ray
    with strata.ray.cluster() as ray:              # in a job of several nodes: strata submit --nodes 3 …
        print(ray.cluster_resources())             # CPUs and GPUs of all of them

srun starts a Ray node on each node of the job, with the CPUs and GPUs that the job holds there; the first is the head. Who connects needs a token that only this job's
processes have. What runs is Ray's own; the service
decides which nodes, and with the end of the block, or of the job, all of it is gone. Nodes that are emulated on one machine are Ray nodes side by side on it.
"""
from __future__ import annotations

import contextlib
import importlib
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

from .errors import ConflictError, DeadlineError, NotFoundError, UnavailableError

__all__ = ["cluster", "inside", "node_count"]

_STORE_BYTES_MIN = 80 << 20   # Ray refuses less
_STORE_SHARE = 0.3            # of a node's memory, as Ray's own


def inside() -> bool:
    """Is this a job of Strata's?"""
    return "STRATA_JOB_ID" in os.environ or "SLURM_JOB_ID" in os.environ


def _number(name: str, default: int) -> int:
    text = os.environ.get(name, "")
    return int(text) if text.isdigit() else default


def node_count() -> int:
    """How many nodes the job has."""
    return max(1, _number("SLURM_JOB_NUM_NODES", 1))


def _free_port(host: str) -> int:
    with socket.socket() as probe:
        probe.bind((host, 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def cluster(timeout_s: float = 120.0, **words: Any) -> Iterator[Any]:
    """Starts Ray on all nodes of this job and connects to it: `ray`, as it is imported. words go to ray.init(). Everything is stopped at the
    end of the block. It is to be called once in a job, by the job's own script and not by what srun starts."""
    if not inside():
        raise ConflictError("this is not a job; `strata submit --nodes 3 python3 script.py` makes one")
    if "SLURM_STEP_ID" in os.environ:
        raise ConflictError("this is one of the tasks of srun; expected the job's script, which srun starts Ray nodes for")
    srun = shutil.which("srun")
    if srun is None:
        raise NotFoundError("srun is not in PATH: Ray nodes are started by it")
    ray: Any = importlib.import_module("ray")
    if ray.is_initialized():
        raise ConflictError("Ray is connected already; expected ray.shutdown() first")
    before = {name: os.environ.get(name) for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN")}
    os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32))  # others on these machines are not to run anything in it
    _read_token()
    count, host = node_count(), str(ray.util.get_node_ip_address())
    folder = tempfile.mkdtemp(prefix="strata-ray-", dir="/tmp")  # sockets in it have short names or do not work
    address = f"{host}:{_free_port(host)}"
    step = subprocess.Popen([srun, "--overlap", f"--nodes={count}", f"--ntasks={count}", "--ntasks-per-node=1", "--kill-on-bad-exit=1",
                             sys.executable, "-m", "strata.ray", address, folder], stdin=subprocess.DEVNULL, env=_environment())
    try:
        _connect(ray, step, address, count, time.monotonic() + timeout_s, words)
        yield ray
    finally:
        ray.shutdown()
        _stop(step)
        shutil.rmtree(folder, ignore_errors=True)
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def _read_token() -> None:
    """Ray reads these variables when it is imported; here it reads them again, if the script has imported it before."""
    inner: Any = importlib.import_module("ray._raylet")
    inner.Config.initialize("")
    inner.AuthenticationTokenLoader.instance().reset_cache()


def _environment() -> dict[str, str]:
    """The package must be found by what srun starts, also where it is not installed."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return dict(os.environ, RAY_USAGE_STATS_ENABLED="0", PYTHONPATH=os.pathsep.join(filter(None, (here, os.environ.get("PYTHONPATH", "")))))


def _connect(ray: Any, step: subprocess.Popen[bytes], address: str, count: int, until: float, words: dict[str, Any]) -> None:
    """Waits for the head, then for all nodes."""
    host, port = address.rsplit(":", 1)
    while not _answers(host, int(port)):
        _go_on(step, until, "the head does not answer")
    ray.init(**{"address": address, "log_to_driver": False, "logging_level": "ERROR", **words})
    while (alive := sum(1 for node in ray.nodes() if node["Alive"])) < count:
        _go_on(step, until, f"{alive} of {count} Ray nodes are there")


def _go_on(step: subprocess.Popen[bytes], until: float, state: str) -> None:
    code = step.poll()
    if code is not None:
        raise UnavailableError(f"Ray did not start: srun ended with {code} when {state}; the job's output says why")
    if time.monotonic() > until:
        raise DeadlineError(f"Ray did not start in time: {state}")
    time.sleep(0.1)


def _answers(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=1):
            return True
    except OSError:
        return False


def _stop(step: subprocess.Popen[bytes]) -> None:
    """Ends the step, and with it all that Ray has started."""
    if step.poll() is None:
        step.terminate()
        try:
            step.wait(20)
        except subprocess.TimeoutExpired:
            step.kill()
            step.wait()


# ---- what srun starts on each node ----

def _gpus() -> int:
    return len([one for one in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if one and one != "NoDevFiles"])


def _words(address: str, folder: str) -> list[str]:
    """The command line of this node's Ray."""
    memory = _number("SLURM_MEM_PER_NODE", 0) << 20
    store = max(int(memory * _STORE_SHARE), _STORE_BYTES_MIN) if memory else 2 * _STORE_BYTES_MIN
    host, port = address.rsplit(":", 1)
    words = [f"--num-cpus={_number('SLURM_CPUS_ON_NODE', 1)}", f"--num-gpus={_gpus()}", f"--object-store-memory={store}",
             f"--node-name={os.environ.get('SLURMD_NODENAME', socket.gethostname())}", "--disable-usage-stats", "--block"]
    if memory:
        words.append(f"--memory={memory}")
    if _number("SLURM_PROCID", 0) == 0:
        return [*words, "--head", f"--node-ip-address={host}", f"--port={port}", f"--temp-dir={folder}", "--include-dashboard=false"]
    return [*words, f"--address={address}"]


def _is_next(folder: str, rank: int) -> bool:
    """Ray nodes on one machine share a folder and take the first names that are free in it: each waits until those before it have theirs."""
    if not os.path.isdir(folder):
        return True  # the head is on another machine
    try:
        names = os.listdir(os.path.join(folder, "session_latest", "sockets"))
    except OSError:
        return False
    return sum(name.startswith("raylet") for name in names) >= rank


def main(address: str, folder: str) -> None:
    """Becomes this node's Ray, when the head is there."""
    host, port = address.rsplit(":", 1)
    until, rank = time.monotonic() + 120, _number("SLURM_PROCID", 0)
    while rank and not (_answers(host, int(port)) and _is_next(folder, rank)):
        if time.monotonic() > until:
            sys.exit(f"strata.ray: the head at {address}, or the node before this one, did not start in time")
        time.sleep(0.1)
    program = os.path.join(os.path.dirname(sys.executable), "ray")
    os.execv(program, [program, "start", *_words(address, folder)])


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
