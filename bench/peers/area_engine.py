"""Models on the native backend beside ONNX Runtime: processor time of one call on one thread, in turns, as `strata engine bench` measures it."""

import json
import os
import subprocess

from rows import Row
from torch_env import SOURCE, onnxruntime


def missing(_build):
    return "" if onnxruntime() else "there is no ONNX Runtime; `make bench PEERS=1` installs it"


def measure(build):
    done = subprocess.run([os.path.join(build, "strata"), "engine", "bench", "--part", "native", "--json"], capture_output=True, text=True,
                          env={"STRATA_DATA": os.path.join(SOURCE, "..", "shared"), **os.environ, "STRATA_ONNXRUNTIME": onnxruntime()})
    if done.returncode:
        raise AssertionError(done.stderr.strip())
    version = onnxruntime().rsplit(".so.", 1)[-1]
    for entry in json.loads(done.stdout)["native"]:
        yield Row(f"{entry['model'].removesuffix('.onnx').removesuffix('/model')}", "ms", "less", entry["native_ms"], entry["onnxruntime_ms"], f"ONNX Runtime {version}")
