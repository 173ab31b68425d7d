"""Models of which half fits into memory, called with torch from a cold disk: strata.offload beside accelerate and diffusers, in turns; the same bits."""

import json
import os
import subprocess
import tempfile

from rows import Row
from torch_env import missing  # noqa: F401  pylint: disable=unused-import

SHARE = 0.5


def measure(build):
    with tempfile.NamedTemporaryFile() as file:
        subprocess.run([os.path.join(build, "bench", "bench_offload"), "--json", file.name], check=True, stdout=subprocess.DEVNULL)
        models = json.load(file)
    for model in models:
        ours = next(way for way in model["ways"] if way["ours"] and way["share"] == SHARE)
        for way in model["ways"]:
            if not way["ours"] and way["share"] in (None, SHARE):
                yield Row(f"{model['model']}, half of {model['weights'] / 1e6:.0f} MB", "ms", "less", ours["ms"], way["ms"], way["name"].split(",")[0].split(" ")[0] +
                          way["name"].partition(",")[2].removesuffix(", 50%"), model["resident_ms"], "all in memory")
        yield Row(f"{model['model']}, all in memory, of plain torch", "", "less", model["overhead"])
