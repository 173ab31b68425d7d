"""A million jobs that wait, different from each other as those of a lab are. What is looked at costs what is shown, not what waits; submitting, coming back after a
kill and memory grow with the jobs. Slurm keeps 10,000 by its default (MaxJobCount)."""

import os
import subprocess

from rows import Row


def missing(_build):
    return ""


def measure(build):
    done = subprocess.run([os.path.join(build, "bench", "bench_million")], check=True, capture_output=True, text=True)
    for line in done.stdout.splitlines()[1:]:
        what, (few, many), unit = line[2:34].strip(), (float(word.replace(",", "")) for word in line[34:58].split()), line[58:].strip()
        yield Row(what, unit, "more" if unit == "/s" else "less", many, dated=f"{few:,.1f} with 10,000")
