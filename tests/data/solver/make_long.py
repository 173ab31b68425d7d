#!/usr/bin/env python3
"""Writes formulas_long.json: restart and sa_solver_pece over many steps, from their published formulas in float64.

Restart goes back up only from 20 steps on, twice from 36 on; SA-Solver keeps its full order only in the middle of a long run. The integrals of the latter
are taken numerically, so nothing here is shared with src/solver. What this makes of the cases of sa_solver_pece in formulas.json has to be what is there.
"""
import json
import math
import os

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
SIGMA_MIN, SIGMA_MAX = 0.0291675, 14.6146


def read(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return json.load(file)


BANK = read("bank.json")
PHASE = 0.1 * (numpy.arange(42) % 7)


def model(x, sigma):
    return x - sigma * numpy.sin(0.7 * x / math.sqrt(sigma * sigma + 1) + 0.1 * math.log(sigma) + PHASE)


def karras(n, low, high, rho=7):
    ramp = numpy.linspace(0, 1, n)
    return list((high ** (1 / rho) + ramp * (low ** (1 / rho) - high ** (1 / rho))) ** rho)


class Noise:
    def __init__(self):
        self.taken = 0

    def draw(self):
        self.taken += 1
        return numpy.array(BANK["noise"][self.taken - 1])


# ---- restart (Xu et al. 2023; the steps as A1111 shares them out) ----

def restart_steps(sigmas):
    """The pairs of levels that are gone through."""
    n = len(sigmas) - 1
    if n < 20:
        return list(zip(sigmas, sigmas[1:]))
    extra, times = (n // 4, 2) if n >= 36 else (9, 1)
    levels = karras(n - extra * times, sigmas[-2], sigmas[0]) + [0.0]
    low = min(range(len(levels)), key=lambda i: abs(levels[i] - 0.1))
    high = min(range(len(levels)), key=lambda i: abs(levels[i] - 2))
    steps = []
    for i in range(len(levels) - 1):
        steps.append((levels[i], levels[i + 1]))
        if i + 1 == low and high < low:
            again = karras(extra + 1, levels[low], levels[high])
            for _ in range(times):
                steps += list(zip(again, again[1:]))
    return steps


def restart(x, sigmas, args, noise):
    last = None
    for sigma, to in restart_steps(sigmas):
        if last is not None and sigma > last:
            x = x + noise.draw() * args.get("s_noise", 1) * math.sqrt(sigma ** 2 - last ** 2)
        slope = (x - model(x, sigma)) / sigma
        if to == 0:
            x = x + slope * (to - sigma)
        else:
            guess = x + slope * (to - sigma)
            x = x + (slope + (guess - model(guess, to)) / to) / 2 * (to - sigma)
        last = to
        yield x


# ---- SA-Solver, predict, evaluate, correct, evaluate (Xue et al. 2023, as ComfyUI has it) ----

def training_levels():
    betas = numpy.linspace(0.00085 ** 0.5, 0.012 ** 0.5, 1000) ** 2
    signal = numpy.cumprod(1 - betas)
    return numpy.log(numpy.sqrt((1 - signal) / signal))


TRAINING = training_levels()


def tau_at(sigma, eta):
    timestep = numpy.interp(math.log(sigma), TRAINING, numpy.arange(1000))
    return eta if 0.2 * 999 <= timestep <= 0.8 * 999 else 0


def weights(nodes, start, end, tau):
    """Of clean samples at the levels `nodes` (as −ln sigma) in the step from one to another."""
    places, factors = numpy.polynomial.legendre.leggauss(40)
    at = (end - start) / 2 * places + (end + start) / 2
    kernel = (1 + tau ** 2) * numpy.exp(-(1 + tau ** 2) * (end - at)) * factors * (end - start) / 2
    found = []
    for j, node in enumerate(nodes):
        others = [other for k, other in enumerate(nodes) if k != j]
        found.append(float(numpy.sum(kernel * numpy.prod([(at - other) / (node - other) for other in others], axis=0))))
    return found


def sa_solver_pece(x, sigmas, args, noise):
    n, eta, s_noise = len(sigmas) - 1, args.get("eta", 1), args.get("s_noise", 1)
    place = [-math.log(sigma) if sigma else None for sigma in sigmas]
    clean, base, tau = [], None, 0
    for i in range(n):
        if i > 0:
            order = min(4, i + 1, n - i)
            seen = [model(x, sigmas[i])] + clean[::-1][:order - 1]
            parts = weights([place[i - k] for k in range(order)], place[i - 1], place[i], tau)
            x = base + sum(part * one for part, one in zip(parts, seen))
        clean.append(model(x, sigmas[i]))
        order = min(3, i + 1, n - i - 1)
        if sigmas[i + 1] == 0 or order == 0:
            x = x + (x - clean[-1]) / sigmas[i] * (sigmas[i + 1] - sigmas[i])
            yield x
            continue
        tau, step = tau_at(sigmas[i + 1], eta), place[i + 1] - place[i]
        base = math.exp(-(1 + tau ** 2) * step) * x
        if tau > 0 and s_noise > 0:
            base = base + noise.draw() * s_noise * sigmas[i + 1] * math.sqrt(-math.expm1(-2 * tau ** 2 * step))
        parts = weights([place[i - k] for k in range(order)], place[i], place[i + 1], tau)
        x = base + sum(part * one for part, one in zip(parts, clean[::-1]))
        yield x


SAMPLERS = {"restart": restart, "sa_solver_pece": sa_solver_pece}


def make(sampler, n, args, at):
    sigmas = [float(f"{sigma:.9g}") for sigma in karras(n, SIGMA_MIN, SIGMA_MAX)] + [0.0]
    noise = Noise()
    samples = list(SAMPLERS[sampler](numpy.array(BANK["init"]) * sigmas[0], sigmas, args, noise))
    at = [k % len(samples) for k in at]
    return {"sampler": sampler, "args": args, "schedule": "karras", "sigma_min": SIGMA_MIN, "sigma_max": SIGMA_MAX, "n": n, "sigmas": sigmas,
            "noise_draws": noise.taken, "at": at, "samples": [[float(f"{value:.9g}") for value in samples[k]] for k in at], "dev64": 1e-06}


def check_against_kept():
    for want in read("formulas.json")["cases"]:
        if want["sampler"] in SAMPLERS:
            got = make(want["sampler"], want["n"], want["args"], want["at"])
            for one, other in zip(got["samples"], want["samples"]):
                assert numpy.allclose(one, other, rtol=1e-6, atol=1e-6), want


def main():
    check_against_kept()
    cases = [make("restart", n, {}, at) for n, at in ((19, [9, -1]), (20, [5, 12, -1]), (35, [20, 27, -1]), (36, [12, 20, 28, -1]), (50, [20, 33, -1]))]
    cases += [make("restart", 24, {"s_noise": 0.5}, [14, -1])]
    cases += [make("sa_solver_pece", n, args, at) for n, args, at in ((20, {}, [4, 12, -1]), (40, {"eta": 0}, [20, -1]), (4, {}, [1, -1]), (2, {}, [0, -1]))]
    with open(os.path.join(HERE, "formulas_long.json"), "w", encoding="utf-8") as file:
        file.write('{"format": "kdiffusion-golden-1", "reference": "the published formulas, in float64",\n"cases": [\n')
        file.write(",\n".join(json.dumps(case) for case in cases))
        file.write("\n]}\n")


if __name__ == "__main__":
    main()
