#!/usr/bin/env python3
"""Fewer model calls: what leaving some out costs, beside simply taking fewer steps of the same solver.

On the mixture whose score is known (`strata solver plot --reuse`): error ÷ that of the same solver with as many calls. On the model that comes with the
program: PSNR to the picture of 200 steps, the mean over eight pictures. A call that takes features of an earlier one counts as the part of a whole call that
it takes, by processor time.
"""
import json
import math
import os
import resource
import struct
import subprocess
import sys
import tempfile
import zlib

STRATA = os.path.join("@BUILD@", "strata")
SOLVERS = ["Euler Karras", "flow_euler", "Heun Karras", "DPM++ 2M Karras", "UniPC Karras", "DEIS Karras", "LMS Karras"]
PROMPTS = ["a zero", "a one", "a two", "a three", "a four", "a five", "a six", "a seven"]
QUALITIES = ["normal", "draft"]
FEATURES = ["features:every=2", "features:every=3"]


def strata(*words):
    done = subprocess.run([STRATA, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(done.stderr.strip())
    return done.stdout


def at(points, calls):
    """The error of a curve between two of its points, on logarithms."""
    for (a, error_a), (b, error_b) in zip(points, points[1:]):
        if a <= calls <= b:
            part = (math.log(calls) - math.log(a)) / (math.log(b) - math.log(a))
            return math.exp(math.log(error_a) * (1 - part) + math.log(error_b) * part)
    return None


def mixture(folder, quality):
    curves = json.loads(strata("solver", "plot", os.path.join(folder, "plot.svg"), "--json", "--reuse", quality, *SOLVERS))
    points = [[(point["calls"], point["error"]) for point in curve["points"]] for curve in curves]
    for solver, whole, less in zip(SOLVERS, points[::2], points[1::2]):
        ratios = [(calls, error / at(whole, calls)) for calls, error in less if at(whole, calls)]
        print(f"  {quality:7} {solver:16}" + "".join(f" {calls:3}: {ratio:5.2f}" for calls, ratio in ratios))


def pixels(path):
    """A PNG of 8 bits, grey or RGB, as the program writes it."""
    with open(path, "rb") as file:
        data = file.read()
    at_byte, packed = 8, b""
    while at_byte < len(data):
        length, kind = struct.unpack(">I4s", data[at_byte:at_byte + 8])
        body = data[at_byte + 8:at_byte + 8 + length]
        if kind == b"IHDR":
            width, height, _, colour = struct.unpack(">IIBB", body[:10])
        if kind == b"IDAT":
            packed += body
        at_byte += 12 + length
    unit = {0: 1, 2: 3}[colour]
    raw, before, rows = zlib.decompress(packed), bytearray(width * unit), []
    for y in range(height):
        line = raw[y * (width * unit + 1):(y + 1) * (width * unit + 1)]
        row = bytearray(line[1:])
        for x in range(len(row)):
            left, up, corner = row[x - unit] if x >= unit else 0, before[x], before[x - unit] if x >= unit else 0
            nearest = min((abs(up - corner), 0, left), (abs(left - corner), 1, up), (abs(left + up - 2 * corner), 2, corner))[2]
            row[x] = (row[x] + (0, left, up, (left + up) // 2, nearest)[line[0]]) % 256
        rows.append(bytes(row))
        before = row
    return b"".join(rows)


def draw(folder, prompt, seed, steps, quality):
    path = os.path.join(folder, "picture.png")
    strata("engine", "image", "digits", prompt, "--seed", str(seed), "--steps", str(steps), "--quality", quality, "--preview", "none", "-o", path)
    return pixels(path)


def psnr(one, other):
    error = sum((a - b) ** 2 for a, b in zip(one, other)) / len(one)
    return 99 if error == 0 else 10 * math.log10(255 ** 2 / error)


def calls_of(steps, quality, share):
    """Model calls of a run; one with features is a share of one."""
    rows = json.loads(strata("solver", "table", "flow_euler", "--steps", str(steps), "--reuse", quality, "--json"))["rows"]
    return sum((share if row["features"] else 1) for row in rows if row["model"])


def seconds(folder, steps, quality):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    draw(folder, PROMPTS[0], 0, steps, quality)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def outer_share(folder):
    """What a call with features takes, as a part of a whole one: of 400 calls all but five, and the rest of a run taken off."""
    rest, whole, outer = (min(seconds(folder, steps, quality) for _ in range(3))
                          for steps, quality in ((1, "exact"), (400, "exact"), (400, "features:every=100:first=1:last=0")))
    return (outer - rest) / (whole - rest)


def digits(folder):
    best = [draw(folder, prompt, seed, 200, "exact") for seed, prompt in enumerate(PROMPTS)]

    def mean(steps, quality):
        return sum(psnr(draw(folder, prompt, seed, steps, quality), best[seed]) for seed, prompt in enumerate(PROMPTS)) / len(PROMPTS)
    share = outer_share(folder)
    print(f"  a call with features takes {share:.2f} of a whole one")
    print(f"  {'STEPS':>5} {'QUALITY':16} {'CALLS':>5} {'PSNR':>8} {'AS MANY CALLS IN FEWER STEPS':>30}")
    for steps in (12, 18, 24, 36):
        for quality in ["exact", *QUALITIES, *FEATURES]:
            calls = calls_of(steps, quality, share)
            print(f"  {steps:5} {quality:16} {calls:5.1f} {mean(steps, quality):5.1f} dB {mean(max(1, round(calls)), 'exact'):27.1f} dB")


def main():
    with tempfile.TemporaryDirectory() as folder:
        print("error on a known mixture ÷ the same solver's with as many calls in fewer steps (CALLS: RATIO)")
        for quality in QUALITIES:
            mixture(folder, quality)
        print("PSNR to 200 steps, the model `digits`")
        digits(folder)


main()
