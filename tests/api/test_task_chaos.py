#!/usr/bin/env python3
"""Faults at random while people ask for pictures: no acknowledged task is lost, none is finished twice, and each has the picture of a run without faults
(task_chaos.py).

STRATA_CHAOS_TASKS and STRATA_CHAOS_FAULTS make it a long one; STRATA_CHAOS_SEED repeats one; the word `paced` leaves out workers that compute.
"""
import os
import sys
import time

import postgres
import task_chaos

TASKS, FAULTS = (int(os.environ.get(name, "0")) for name in ("STRATA_CHAOS_TASKS", "STRATA_CHAOS_FAULTS"))
SEED = int(os.environ.get("STRATA_CHAOS_SEED", "0")) or int(time.time()) % 1000000

failed, real = 0, "paced" not in sys.argv[1:]
wanted = [store for store in sys.argv[1:] if store != "paced"] or ["sqlite", "postgres"]
print(f"1..{len(wanted)}", flush=True)
for number, store in enumerate(wanted, 1):
    name = f"no_task_is_lost_or_finished_twice_whatever_happens ({store})"
    if store != "sqlite" and not postgres.possible():
        print(f"ok {number} - {name} # SKIP there is no PostgreSQL", flush=True)
        continue
    findings = task_chaos.play(store, SEED + number, seconds=0 if TASKS else 6, tasks=TASKS, faults=FAULTS, real=real)
    print(f"{'not ok' if findings else 'ok'} {number} - {name}", flush=True)
    failed |= bool(findings)
sys.exit(failed)
