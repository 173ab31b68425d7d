#!/usr/bin/env python3
"""Models that do not fit, called with torch: strata.offload beside accelerate's and diffusers' offloading, from a cold disk, by turns in one run.

    bench_offload [--rounds 5] [--threads 1] [--only gpt2|unet] [--json FILE]

Each row is one way to run the same model with the same weights; every result is compared with that of the model in memory, bit for bit.
Files of the others are put out of the system's cache before each call, and the bytes that really came from the disk are counted
(/proc/self/io): a call that read less than its share of the weights was not cold. Times are medians; "÷ strata" is their ratio to strata
with the same budget. accelerate's disk_offload keeps nothing in memory, its dispatch_model the share that strata has.
Overhead: everything in memory, in turns with the plain model; processor time, because the wall clock of a busy machine says nothing.
"""
import argparse
import gc
import json
import os
import shutil
import statistics
import sys
import tempfile
import time

SOURCE, BUILD = "@SOURCE@", "@BUILD@"
ENVIRONMENT = os.path.join(SOURCE, "build", "python-torch")
if os.path.realpath(sys.prefix) != os.path.realpath(ENVIRONMENT):
    if not os.path.exists(os.path.join(ENVIRONMENT, "pins")):
        print("left out: there is no build/python-torch (make test T=python-torch makes it)")
        sys.exit(0)
    os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error", DIFFUSERS_VERBOSITY="error")
    python = os.path.join(ENVIRONMENT, "bin", "python")
    os.execv(python, [python, *sys.argv])
sys.path.insert(0, os.path.join(BUILD, "python"))

import torch  # noqa: E402

import strata  # noqa: E402

BUDGETS = (1 / 4, 1 / 3, 1 / 2)


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel
    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config(n_layer=20, n_embd=768, n_head=12, use_cache=False)).eval()
    return model, {"input_ids": torch.randint(0, 50000, (1, 64), generator=torch.Generator().manual_seed(1))}


def unet():
    from diffusers import UNet2DConditionModel
    torch.manual_seed(0)
    model = UNet2DConditionModel(sample_size=32, block_out_channels=(128, 256, 512, 512), layers_per_block=2, cross_attention_dim=512,
                                 attention_head_dim=8).eval()
    chance = torch.Generator().manual_seed(1)
    return model, {"sample": torch.randn(2, 4, 16, 16, generator=chance), "timestep": torch.tensor(10),
                   "encoder_hidden_states": torch.randn(2, 77, 512, generator=chance)}


def bytes_of(model):
    return sum(parameter.numel() * parameter.element_size() for parameter in model.parameters())


def disk_bytes():
    with open("/proc/self/io", encoding="ascii") as file:
        return int(next(line.split()[1] for line in file if line.startswith("read_bytes")))


def chill(folder):
    for root, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(root, name), "rb") as file:
                os.fdatasync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


class Way:
    """One way to run the model."""

    def __init__(self, name, model, inputs, folder, budget=None, close=None):
        self.name, self.model, self.inputs, self.folder, self.budget, self.close = name, model, inputs, folder, budget, close
        self.wall, self.cpu, self.read, self.same = [], [], [], True

    def call(self, expected, count=True):
        chill(self.folder)
        read, cpu, wall = disk_bytes(), time.process_time(), time.monotonic()
        with torch.no_grad():
            out = self.model(**self.inputs)[0]
        took = (time.monotonic() - wall) * 1e3, (time.process_time() - cpu) * 1e3, disk_bytes() - read
        self.same = self.same and torch.equal(out, expected)
        if count:
            self.wall.append(took[0])
            self.cpu.append(took[1])
            self.read.append(took[2])


def with_strata(make, inputs, share, folder):
    model, _ = make()
    handle = strata.offload(model, budget=int(bytes_of(model) * share), path=os.path.join(folder, "weights.safetensors"))
    return Way(f"strata.offload, {share:.0%}", model, inputs, folder, share, handle.remove)


def with_disk_offload(make, inputs, folder):
    import accelerate
    model = accelerate.disk_offload(make()[0], folder, execution_device="cpu")
    return Way(f"accelerate {accelerate.__version__}, disk_offload", model, inputs, folder)


def with_dispatch(make, inputs, share, folder):
    import accelerate
    model, _ = make()
    weights = bytes_of(model)
    classes = ["GPT2Block", "BasicTransformerBlock", "ResnetBlock2D"]
    where = accelerate.infer_auto_device_map(model, max_memory={"cpu": int(weights * share), "disk": weights * 2}, no_split_module_classes=classes)
    model = accelerate.dispatch_model(model, where, main_device="cpu", offload_dir=folder)
    return Way(f"accelerate {accelerate.__version__}, dispatch_model, {share:.0%}", model, inputs, folder, share)


def with_groups(make, inputs, folder):
    import diffusers
    from diffusers.hooks import apply_group_offloading
    model, _ = make()
    apply_group_offloading(model, onload_device=torch.device("cpu"), offload_device=torch.device("cpu"), offload_type="leaf_level",
                           offload_to_disk_path=folder)
    return Way(f"diffusers {diffusers.__version__}, group offload to disk", model, inputs, folder)


def ways_of(make, inputs, where):
    """All of them, and those that cannot be."""
    ways, failed = [], []
    makers = [(f"strata {share}", with_strata, (share,)) for share in BUDGETS]
    makers += [("accelerate disk_offload", with_disk_offload, ())] + [(f"accelerate dispatch {share}", with_dispatch, (share,)) for share in BUDGETS]
    makers += [("diffusers group offload", with_groups, ())]
    for name, maker, words in makers:
        folder = tempfile.mkdtemp(dir=where)
        try:
            way = maker(make, inputs, *words, folder)
            with torch.no_grad():
                way.model(**inputs)
            ways.append(way)
        except Exception as wrong:  # pylint: disable=broad-except
            failed.append((name, f"{type(wrong).__name__}: {str(wrong).splitlines()[0][:120] if str(wrong) else ''}"))
        gc.collect()
    return ways, failed


def budgets(title, make, rounds, where):
    model, inputs = make()
    weights = bytes_of(model)
    with torch.no_grad():
        expected, alone = model(**inputs)[0], 1e9
        for _ in range(3):
            began = time.monotonic()
            model(**inputs)
            alone = min(alone, (time.monotonic() - began) * 1e3)
    del model
    ways, failed = ways_of(make, inputs, where)
    for way in ways:
        way.call(expected, count=False)
    for _ in range(rounds):
        for way in ways:
            way.call(expected)
    ours = {way.budget: statistics.median(way.wall) for way in ways if way.name.startswith("strata")}
    print(f"{title}: {weights / 1e6:.0f} MB of weights, {alone:.0f} ms with all of them in memory; {rounds} rounds")
    print(f"  {'':46} {'ms':>7} {'cpu ms':>7} {'MB read':>8}  {'same bits':9}  ÷ strata at " + " ".join(f"{share:>6.0%}" for share in BUDGETS))
    for way in ways:
        took = statistics.median(way.wall)
        ratios = " ".join(f"{took / ours[share]:6.2f}" if share in ours and way.budget in (None, share) else f"{'':6}" for share in BUDGETS)
        print(f"  {way.name:46} {took:7.0f} {statistics.median(way.cpu):7.0f} {statistics.median(way.read) / 1e6:8.0f}  {'yes' if way.same else 'NO':9}  "
              f"{'':12}{ratios}")
    for name, why in failed:
        print(f"  {name}: not run: {why}")
    for way in ways:
        if way.close:
            way.close()
    return {"model": title, "weights": weights, "resident_ms": alone,
            "ways": [{"name": way.name, "ours": way.name.startswith("strata"), "share": way.budget, "ms": statistics.median(way.wall),
                      "cpu_ms": statistics.median(way.cpu), "read": statistics.median(way.read), "same": way.same} for way in ways]}


def overhead(title, make, rounds, where):
    plain, inputs = make()
    staged, _ = make()
    with tempfile.TemporaryDirectory(dir=where) as folder, torch.no_grad(), \
            strata.offload(staged, budget=2 * bytes_of(staged), path=os.path.join(folder, "weights.safetensors")):
        took = {id(plain): [], id(staged): []}
        for model in (plain, staged):
            for _ in range(2):
                model(**inputs)
        for turn in range(2 * rounds):
            for model in (plain, staged) if turn % 2 else (staged, plain):
                began = time.process_time()
                model(**inputs)
                took[id(model)].append(time.process_time() - began)
    ratios = [there / here for here, there in zip(took[id(plain)], took[id(staged)])]
    print(f"  everything in memory ÷ plain model: {statistics.median(ratios):.3f} (processor time, median of {2 * rounds} pairs; "
          f"medians' ratio {statistics.median(took[id(staged)]) / statistics.median(took[id(plain)]):.3f}, "
          f"least ÷ least {min(took[id(staged)]) / min(took[id(plain)]):.3f})")
    return statistics.median(ratios)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", choices=("gpt2", "unet"))
    parser.add_argument("--json", metavar="FILE", help="gets the figures, too")
    options = parser.parse_args()
    found = []
    torch.set_num_threads(options.threads)
    where = tempfile.mkdtemp(prefix="strata-offload-")
    try:
        for name, title, make in (("gpt2", "GPT-2-like", gpt2), ("unet", "UNet2DCondition", unet)):
            if options.only in (None, name):
                found.append(budgets(title, make, options.rounds, where))
                gc.collect()
                found[-1]["overhead"] = overhead(title, make, options.rounds, where)
    finally:
        shutil.rmtree(where, ignore_errors=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(found, file)


if __name__ == "__main__":
    main()
