#!/usr/bin/env python3
"""Faults at random while clients work: every acknowledged fact holds in the end (chaos.py).

STRATA_CHAOS_JOBS and STRATA_CHAOS_FAULTS make it a long one; STRATA_CHAOS_SEED repeats one.
"""
import os
import sys
import time

import chaos
import postgres

STORES = ["sqlite", "postgres", "pair"]
JOBS, FAULTS = (int(os.environ.get(name, "0")) for name in ("STRATA_CHAOS_JOBS", "STRATA_CHAOS_FAULTS"))
SEED = int(os.environ.get("STRATA_CHAOS_SEED", "0")) or int(time.time()) % 1000000

failed = 0
wanted = [store for store in sys.argv[1:]] or STORES
print(f"1..{len(wanted)}", flush=True)
for number, store in enumerate(wanted, 1):
    name = f"what_was_acknowledged_holds_whatever_happens ({store})"
    if store != "sqlite" and not postgres.possible():
        print(f"ok {number} - {name} # SKIP there is no PostgreSQL", flush=True)
        continue
    findings = chaos.play(store, SEED + number, seconds=0 if JOBS else 20, jobs=JOBS, faults=FAULTS, pause_s=0.5 if JOBS else 1)
    print(f"{'not ok' if findings else 'ok'} {number} - {name}", flush=True)
    failed |= bool(findings)
sys.exit(failed)
