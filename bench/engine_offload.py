#!/usr/bin/env python3
"""The engine with a budget beside accelerate's disk offload, for the same network from a cold disk, one thread each, in one run.

  PYTHON bench/engine_offload.py [--strata build/strata] [--rounds 5] [--share 0.3333]

PYTHON is an interpreter that has torch and accelerate. The network is the UNet that `strata engine bench --keep` makes up
(src/bench/unet.c): built here again as a torch module, with the same weights, and its result compared with the engine's.
accelerate may keep the same share of the weights in memory (dispatch_model); with disk_offload it keeps none.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
import torch
from torch import nn
from torch.nn import functional

CHANNELS, BLOCKS, GROUPS, HEAD, CONTEXT, TOKENS, BATCH, SIZE, HIDDEN = (96, 192, 384, 384), 2, 32, 32, 256, 77, 2, 32, 4


class Attention(nn.Module):
    def __init__(self, channels, context):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(width, channels, bias=False) for width in (channels, context, context))
        self.out = nn.Linear(channels, channels)

    def forward(self, x, context):
        def heads(y):
            return y.view(y.shape[0], y.shape[1], -1, HEAD).transpose(1, 2)

        y = functional.scaled_dot_product_attention(heads(self.q(x)), heads(self.k(context)), heads(self.v(context)))
        return self.out(y.transpose(1, 2).reshape(x.shape))


class FeedForward(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.wide = nn.Linear(channels, 2 * HIDDEN * channels)
        self.back = nn.Linear(HIDDEN * channels, channels)

    def forward(self, x):
        through, gate = self.wide(x).chunk(2, dim=-1)
        return self.back(through * functional.gelu(gate))


class Transformer(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.GroupNorm(GROUPS, channels, eps=1e-5)
        self.into = nn.Conv2d(channels, channels, 1)
        self.norm1, self.own = nn.LayerNorm(channels), Attention(channels, channels)
        self.norm2, self.other = nn.LayerNorm(channels), Attention(channels, CONTEXT)
        self.norm3, self.feed = nn.LayerNorm(channels), FeedForward(channels)
        self.out = nn.Conv2d(channels, channels, 1)

    def forward(self, x, context):
        y = self.into(self.norm(x)).flatten(2).transpose(1, 2)
        even = self.norm1(y)
        y = self.own(even, even) + y
        y = self.other(self.norm2(y), context) + y
        y = self.feed(self.norm3(y)) + y
        return self.out(y.transpose(1, 2).reshape(x.shape)) + x


class Residual(nn.Module):
    def __init__(self, channels, out):
        super().__init__()
        self.norm1 = nn.GroupNorm(GROUPS, channels, eps=1e-5)
        self.conv1 = nn.Conv2d(channels, out, 3, padding=1)
        self.time = nn.Linear(HIDDEN * CHANNELS[0], out)
        self.norm2 = nn.GroupNorm(GROUPS, out, eps=1e-5)
        self.conv2 = nn.Conv2d(out, out, 3, padding=1)
        self.beside = nn.Conv2d(channels, out, 1) if channels != out else nn.Identity()

    def forward(self, x, when):
        y = self.conv1(functional.silu(self.norm1(x))) + self.time(functional.silu(when))[:, :, None, None]
        return self.beside(x) + self.conv2(functional.silu(self.norm2(y)))


class Time(nn.Module):
    def __init__(self):
        super().__init__()
        self.waves = nn.Parameter(torch.empty(1, CHANNELS[0] // 2))
        self.one = nn.Linear(CHANNELS[0], HIDDEN * CHANNELS[0])
        self.two = nn.Linear(HIDDEN * CHANNELS[0], HIDDEN * CHANNELS[0])

    def forward(self, timestep):
        angle = timestep[:, None] * self.waves
        return self.two(functional.silu(self.one(torch.cat([angle.cos(), angle.sin()], dim=-1))))


class UNet(nn.Module):
    """Parts are made in the order in which their weights are in the file."""

    def __init__(self):
        super().__init__()
        self.time, self.first = Time(), nn.Conv2d(4, CHANNELS[0], 3, padding=1)
        self.down, self.up, skips, last = nn.ModuleList(), nn.ModuleList(), [CHANNELS[0]], len(CHANNELS) - 1
        channels = CHANNELS[0]
        for level, out in enumerate(CHANNELS):
            for _ in range(BLOCKS):
                self.down.append(Residual(channels, out))
                if level < last:
                    self.down.append(Transformer(out))
                skips.append(out)
                channels = out
            if level < last:
                self.down.append(nn.Conv2d(out, out, 3, stride=2, padding=1))
                skips.append(out)
        self.middle = nn.ModuleList([Residual(channels, channels), Transformer(channels), Residual(channels, channels)])
        for level in range(last, -1, -1):
            for _ in range(BLOCKS + 1):
                self.up.append(Residual(channels + skips.pop(), CHANNELS[level]))
                channels = CHANNELS[level]
                if level < last:
                    self.up.append(Transformer(channels))
            if level > 0:
                self.up.append(nn.Conv2d(channels, channels, 3, padding=1))
        self.norm, self.last = nn.GroupNorm(GROUPS, CHANNELS[0], eps=1e-5), nn.Conv2d(CHANNELS[0], 4, 3, padding=1)

    def in_order(self):
        """Parts with weights, as the file has them."""
        return [self.time, self.first, *self.down, *self.middle, *self.up, self.norm, self.last]

    def forward(self, sample, timestep, context):
        when, x = self.time(timestep), self.first(sample)
        skips = [x]
        for index, part in enumerate(self.down):
            x = part(x, when) if isinstance(part, Residual) else part(x, context) if isinstance(part, Transformer) else part(x)
            after = self.down[index + 1] if index + 1 < len(self.down) else None
            if not (isinstance(part, Residual) and isinstance(after, Transformer)):
                skips.append(x)
        for part in self.middle:
            x = part(x, when) if isinstance(part, Residual) else part(x, context)
        for part in self.up:
            if isinstance(part, Residual):
                x = part(torch.cat([x, skips.pop()], dim=1), when)
            elif isinstance(part, Transformer):
                x = part(x, context)
            else:
                x = part(functional.interpolate(x, scale_factor=2, mode="nearest"))
        return self.last(functional.silu(self.norm(x)))


def load(model, path):
    """Weights in the order of the file, each at a whole block; those of MatMul are the other way around."""
    numbers, at = numpy.memmap(path, dtype=numpy.float32, mode="r"), 0

    def take(parameter, turned=False):
        nonlocal at
        at = -(-at // 1024) * 1024
        shape = tuple(reversed(parameter.shape)) if turned else tuple(parameter.shape)
        values = torch.from_numpy(numpy.array(numbers[at:at + parameter.numel()])).view(shape)
        parameter.data.copy_(values.T if turned else values)
        at += parameter.numel()

    for part in model.in_order():
        for name, module in part.named_modules():
            turned = isinstance(module, nn.Linear) and not (isinstance(part, Time) or name == "time")
            for parameter_name, parameter in module.named_parameters(recurse=False):
                take(parameter, turned and parameter_name == "weight")
    if at * 4 != os.path.getsize(path):
        sys.exit(f"engine_offload: {path} has {os.path.getsize(path)} bytes; {at * 4} were expected: not the usual UNet")


def made_up(seed, shape):
    """As `strata engine run` makes up inputs."""
    values = numpy.empty(int(numpy.prod(shape)), dtype=numpy.float32)
    for i in range(values.size):
        seed = (seed * 1664525 + 1013904223) & 0xffffffff
        values[i] = numpy.float32(seed >> 8) / numpy.float32(1 << 23) - numpy.float32(1)
    return torch.from_numpy(values.reshape(shape))


def chill(directory):
    for root, _, names in os.walk(directory):
        for name in names:
            with open(os.path.join(root, name), "rb") as file:
                os.fdatasync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def disk_bytes():
    with open("/proc/self/io", encoding="ascii") as file:
        return int(next(line.split()[1] for line in file if line.startswith("read_bytes")))


def measure(model, inputs, directory, rounds):
    took, before = [], disk_bytes()
    with torch.no_grad():
        model(*inputs)
        before = disk_bytes()
        for _ in range(rounds):
            chill(directory)
            begin = time.monotonic()
            model(*inputs)
            took.append((time.monotonic() - begin) * 1e3)
    return statistics.median(took), (disk_bytes() - before) // rounds


def fresh(path):
    model = UNet().eval()
    load(model, path + ".data")
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--strata", default="build/strata")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--share", type=float, default=1 / 3)
    options = parser.parse_args()

    import accelerate
    torch.set_num_threads(1)
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    bench = [options.strata, "engine", "bench", "--keep", "--part", "budget", "--rounds", str(options.rounds),
             "--share", str(options.share), "--json"]
    env = {key: value for key, value in os.environ.items() if key != "STRATA_DATA"}
    ours = json.loads(subprocess.run(bench, check=True, capture_output=True, text=True, env=env).stdout)["budget"][0]
    if "why" in ours:
        sys.exit("engine_offload: " + ours["why"])
    path = os.path.join(os.environ.get("TMPDIR", "/tmp"), "strata-unet.onnx")
    inputs = made_up(1, (BATCH, 4, SIZE, SIZE)), made_up(2, (BATCH,)), made_up(3, (BATCH, TOKENS, CONTEXT))

    with tempfile.TemporaryDirectory(prefix="strata-offload-") as directory:
        subprocess.run([options.strata, "engine", "run", path, "--repeat", "1", "--output", directory], check=True,
                       capture_output=True, env=env)
        expected = numpy.load(os.path.join(directory, "out_sample.npy"))
    model = fresh(path)
    with torch.no_grad():
        got = model(*inputs).numpy()
    differs = float(numpy.abs(got - expected).max() / numpy.abs(expected).max())
    if not differs < 1e-3:
        sys.exit(f"engine_offload: torch's result differs by {differs:.1e}: not the same network")

    rows = []
    with tempfile.TemporaryDirectory(prefix="strata-offload-", dir=os.path.dirname(path)) as directory:
        weights = sum(parameter.numel() * 4 for parameter in model.parameters())
        plan = accelerate.infer_auto_device_map(model, max_memory={"cpu": int(weights * options.share), "disk": weights * 2},
                                                no_split_module_classes=["Time"])
        model = accelerate.dispatch_model(model, plan, main_device="cpu", offload_dir=directory)
        rows.append((f"accelerate {accelerate.__version__}, {options.share:.0%} in memory",
                     *measure(model, inputs, directory, options.rounds)))
    with tempfile.TemporaryDirectory(prefix="strata-offload-", dir=os.path.dirname(path)) as directory:
        model = accelerate.disk_offload(fresh(path), directory, execution_device="cpu")
        rows.append((f"accelerate {accelerate.__version__}, disk_offload", *measure(model, inputs, directory, options.rounds)))
    again = json.loads(subprocess.run(bench, check=True, capture_output=True, text=True, env=env).stdout)["budget"][0]
    engine = (ours["budget_ms"] + again["budget_ms"]) / 2  # before and after the others
    print(f"time of a call from a cold disk, one thread; torch {torch.__version__}; results differ by {differs:.1e}")
    print(f"{'':42} {'ms':>9} {'MB read':>8} {'÷ engine':>9}")
    print(f"{'strata engine, budget ' + format(options.share, '.0%'):42} {engine:9.1f} {ours['read_bytes'] / 1e6:8.0f} {1:9.2f}")
    for name, took, read in rows:
        print(f"{name:42} {took:9.1f} {read / 1e6:8.0f} {took / engine:9.2f}")


if __name__ == "__main__":
    main()
