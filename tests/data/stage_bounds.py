#!/usr/bin/env python3
"""Makes stage_bounds.json: for each configuration of stage_configs.json a proof that no plan, whatever it keeps, has shorter steps in the long run.

    tests/data/stage_bounds.py      (needs scipy: build/python-torch/bin/python has it)

In the long run, of the layer of visit v x(v) pages are kept on the average until its next visit, 0 ≤ x(v) ≤ its pages p(v), and y(u) are read while visit u
computes, 0 ≤ y(u) ≤ its time × speed. While u computes, its own pages, those that are kept across it and those that are being read have frames:

    y(u) + the sum of x(v) kept across u ≤ budget − p(u)                                       (each u)

Reads per step are R = Σ (p − x); the channel is busy for R ÷ speed, and what is not read while something computes is waited for:

    T ≥ R ÷ speed        T ≥ compute + (R − Σ y) ÷ speed        T ≥ compute

What is least under these is a linear programme, and its dual solution proves it: `weights` of the three lines, whose sum is at most 1, and `visits`, a
weight for each u (none: all are 0). tests/unit/test_stage.c adds them up; whoever doubts this script need not trust it.
"""
import json
import math
import os

import numpy as np
from scipy.optimize import linprog

HERE = os.path.dirname(os.path.abspath(__file__))


def covers(order):
    """For each visit those before it, in the ring of steps, that are kept across it."""
    count, across = len(order), [[] for _ in order]
    for visit, layer in enumerate(order):
        for distance in range(1, count + 1):
            if order[(visit + distance) % count] == layer:
                break
            across[(visit + distance) % count].append(visit)
    return across


def proof(config):
    order, speed = config["order"], config["pages_per_time"]
    pages = [config["layer_pages"][layer] for layer in order]
    compute = [config["compute_time"][layer] for layer in order]
    count, across = len(order), covers(order)
    rows, limits = np.zeros((3 + count, 2 * count + 1)), np.zeros(3 + count)
    rows[:3, -1] = -1
    rows[:2, :count] = rows[1, count:-1] = -1 / speed
    limits[:3] = -sum(pages) / speed, -sum(compute) - sum(pages) / speed, -sum(compute)
    for visit in range(count):
        rows[3 + visit, count + visit] = 1
        rows[3 + visit, across[visit]] = 1
        limits[3 + visit] = config["budget_pages"] - pages[visit]
    goal = np.zeros(2 * count + 1)
    goal[-1] = 1
    bounds = [(0, own) for own in pages] + [(0, time * speed) for time in compute] + [(0, None)]
    found = linprog(goal, A_ub=rows, b_ub=limits, bounds=bounds, method="highs")
    weights = [math.floor(max(0, -float(value)) * 1e6 + 0.01) / 1e6 for value in found.ineqlin.marginals]  # of less, the proof holds as well
    return {"id": config["id"], "bound": round(found.fun, 3), "weights": weights[:3], "visits": weights[3:] if any(weights[3:]) else []}


def main():
    with open(os.path.join(HERE, "stage_configs.json"), encoding="utf-8") as file:
        configs = json.load(file)["configs"]
    with open(os.path.join(HERE, "stage_bounds.json"), "w", encoding="utf-8") as file:
        file.write("[\n" + ",\n".join(json.dumps(proof(config)) for config in configs) + "\n]\n")


main()
