"""Mean bounded slowdown and the longest wait, beside EASY in the same run and what others have published of the same logs."""

import json
import os
import subprocess

from rows import Row

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TRACES = os.path.join(os.environ.get("STRATA_DATA") or os.path.join(SOURCE, "..", "shared"), "traces")
# The mean bounded slowdown of the best published scheme that learns, by its authors.
LOGS = {"kth_sp2": 45.8, "sdsc_sp2": 65.0, "sdsc_blue": 10.6}
DAY_S = 86400


def missing(_build):
    return "" if os.path.exists(os.path.join(TRACES, "kth_sp2.swf.gz")) else "the logs are not there (STRATA_DATA)"


def measure(build):
    for log, published in LOGS.items():
        done = subprocess.run([os.path.join(build, "strata"), "sim", "cluster", os.path.join(TRACES, log + ".swf.gz"), "--json", "--compare",
                               "turnaround/easy_sjbf:patience=0.25/learned,fifo/easy/requested"], check=True, capture_output=True, text=True)
        ours, easy = json.loads(done.stdout)
        yield Row(f"{log}: mean bounded slowdown, turnaround", "", "less", ours["avg_bsld"], easy["avg_bsld"], "fifo with EASY",
                  dated=f"published, learned: {published}")
        yield Row(f"{log}: longest wait", "days", "less", ours["max_wait_s"] / DAY_S, easy["max_wait_s"] / DAY_S, "fifo with EASY")
