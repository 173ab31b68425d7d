"""The fair policy with a hundred thousand tasks waiting, microseconds of processor time an operation. Those of others were measured on another day."""

import os
import subprocess

from rows import Row

OTHERS = {
    "get": "ChituDiffusion 88,216, ComfyUI 44, vLLM 0.15 (FCFS), InvokeAI 95,037",
    "cancel": "ComfyUI 36,043, vLLM 20,112 (FCFS), 114,097 (priority)",
    "page of 100": "ComfyUI 636 (all of it)",
    "bytes per task": "ChituDiffusion 1,041, ComfyUI 608",
}
DAY = "2026-10"


def missing(_build):
    return ""


def measure(build):
    done = subprocess.run([os.path.join(build, "bench", "bench_pool"), "fair"], check=True, capture_output=True, text=True)
    for line in done.stdout.split("\n\n")[0].splitlines()[1:]:
        name, values = line[19:37].strip(), line[37:].split()
        others = f"{DAY}: {OTHERS[name]}" if name in OTHERS else ""
        yield Row(f"{name}, 100,000 tasks" if "bytes" not in name else "memory of 100,000 tasks", "bytes a task" if "bytes" in name else "us", "less",
                  float(values[1]), dated=others)
