"""Mean bounded slowdown and the longest wait, beside EASY in the same run and what others have published of the same logs."""

import json
import os
import subprocess

from rows import Row

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TRACES = os.path.join(os.environ.get("STRATA_DATA") or os.path.join(SOURCE, "..", "shared"), "traces")
# The mean bounded slowdown of the best published scheme that learns, by its authors.
LOGS = {"kth_sp2": 45.8, "sdsc_sp2": 65.0, "sdsc_blue": 10.6}
# The windows of the RLScheduler experiments (SC'20), and what its authors published for them, with backfilling.
WINDOWS = "1981,2756,4299,8850,3316,2714,5228,7762,4022,7085:1024"
WINDOWED = {"rl_sdsc_sp2_4.2_cln": ("SDSC-SP2", 397.8), "rl_lublin_256": ("Lublin-1", 58.6), "rl_lublin_256_new2": ("Lublin-2", 118.8)}
DAY_S = 86400


def missing(_build):
    return "" if os.path.exists(os.path.join(TRACES, "kth_sp2.swf.gz")) else "the logs are not there (STRATA_DATA)"


def replay(build, log, policies, *more):
    done = subprocess.run([os.path.join(build, "strata"), "sim", "cluster", os.path.join(TRACES, log + ".swf.gz"), "--json", "--compare", policies, *more],
                          check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def measure(build):
    for log, published in LOGS.items():
        ours, easy = replay(build, log, "turnaround/easy_sjbf:patience=0.25/learned,fifo/easy/requested")
        yield Row(f"{log}: slowdown, turnaround", "", "less", ours["avg_bsld"], easy["avg_bsld"], "fifo with EASY", dated=f"published, learned: {published}")
        yield Row(f"{log}: longest wait", "days", "less", ours["max_wait_s"] / DAY_S, easy["max_wait_s"] / DAY_S, "fifo with EASY")
    for log, (name, published) in WINDOWED.items():
        ours, easy = replay(build, log, "wfp3/easy_sjbf/learned,fifo/easy/requested", "--windows", WINDOWS)
        yield Row(f"{name}, ten windows of 1,024 jobs: slowdown, wfp3", "", "less", ours["avg_bsld"], easy["avg_bsld"], "fifo with EASY",
                  dated=f"published, reinforcement learning: {published}")
