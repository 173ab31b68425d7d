#!/usr/bin/env python3
"""The model of models/digits: what torch computes with its weights, what ONNX Runtime makes of its file, and our engine, on the same latents."""
import glob
import json
import os
import sys
import tempfile

import torch_env

torch_env.enter()

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
import torch  # noqa: E402
from diffusers import FlowMatchEulerDiscreteScheduler  # noqa: E402
from onnx import numpy_helper  # noqa: E402
from PIL import Image  # noqa: E402

sys.path.insert(0, os.path.join(torch_env.SOURCE, "models"))
import train_digits  # noqa: E402

FOLDER = os.path.join(torch_env.SOURCE, "models", "digits")
MODEL = os.path.join(FOLDER, "unet", "model.onnx")
LIMIT = 2e-5  # of the largest output; the golden pipelines' limit for one call
SIDE = train_digits.SIDE


def session():
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(MODEL, options, providers=["CPUExecutionProvider"])


def network():
    """The training script's network with the weights of the file. Most keep their names there; those of norms are stored as they are used, [channels, 1, 1],
    scale and shift in the order of the norms."""
    model = train_digits.DigitsUNet().eval()
    tensors = [tensor for tensor in onnx.load(MODEL).graph.initializer if tensor.data_type in (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16)]
    weights = {tensor.name.removesuffix(".f16"): torch.from_numpy(numpy_helper.to_array(tensor).astype(np.float32)) for tensor in tensors}
    blocks = ["down.0", "down.1", "middle.0", "attention", "middle.1", "middle.2", "up.0", "up.1"]
    norms = [name for block in blocks for name in ([f"{block}.norm"] if block == "attention" else [f"{block}.norm1", f"{block}.norm2"])] + ["norm"]
    stored = [value for name, value in weights.items() if name.startswith("val_") and value.shape[1:] == (1, 1)]
    assert len(stored) == 2 * len(norms)
    weights.update({f"{name}.{part}": stored[2 * i + k] for i, name in enumerate(norms) for k, part in enumerate(("weight", "bias"))})
    wanted = model.state_dict()
    weights["frequencies"] = wanted["frequencies"]
    model.load_state_dict({name: weights[name].reshape(value.shape) for name, value in wanted.items()})
    return model


def calls():
    random = np.random.default_rng(7)
    for batch in (1, 2, 7):
        yield {"sample": random.standard_normal((batch, 1, SIDE, SIDE)).astype(np.float32),
               "timestep": random.uniform(1, 1000, batch).astype(np.float32), "class_labels": random.integers(0, 11, batch)}


def one_call_is_the_same_everywhere():
    ort, net = session(), network()
    for inputs in calls():
        with torch.no_grad():
            want = net(*(torch.from_numpy(value) for value in inputs.values())).numpy()
        others = {"onnxruntime": ort.run(None, inputs)[0]}
        with tempfile.TemporaryDirectory() as where:
            words = []
            for name, value in inputs.items():
                np.save(os.path.join(where, f"{name}.npy"), value)
                words += ["--input", f"{name}={where}/{name}.npy"]
            torch_env.strata("engine", "run", MODEL, *words, "--repeat", 1, "--output", os.path.join(where, "out"))
            others["native"] = np.load(os.path.join(where, "out", "out_sample.npy"))
        for name, got in others.items():
            worst = np.abs(got - want).max() / np.abs(want).max()
            assert got.shape == want.shape and worst < LIMIT, f"{name}, batch {len(want)}: {worst:.2e} of the largest"


def reference(net, digit, seed, steps, guidance):
    """The picture as diffusers' scheduler draws it with torch."""
    with open(os.path.join(FOLDER, "scheduler", "scheduler_config.json"), encoding="utf-8") as file:
        scheduler = FlowMatchEulerDiscreteScheduler.from_config(json.load(file))
    scheduler.set_timesteps(steps)
    x = torch.randn(1, 1, SIDE, SIDE, generator=torch.Generator().manual_seed(seed)) * getattr(scheduler, "init_noise_sigma", 1.0)
    for t in scheduler.timesteps:
        with torch.no_grad():
            without, told = net(torch.cat([x, x]), t.expand(2), torch.tensor([0, digit + 1])).chunk(2)
        x = scheduler.step(without + guidance * (told - without), t, x).prev_sample
    return (x[0, 0] / 2 + 0.5).clamp(0, 1).mul(255).round().byte().numpy()


def pictures_are_those_of_diffusers():
    net = network()
    (library,) = glob.glob(os.path.join(torch_env.ENVIRONMENT, "lib", "python3*", "site-packages", "onnxruntime", "capi", "libonnxruntime.so.*"))
    with tempfile.TemporaryDirectory() as where:
        path = os.path.join(where, "x.png")
        for digit, name in ((7, "a seven"), (0, "0"), (3, "the digit three")):
            for backend in ("native", "onnxruntime"):
                done = json.loads(torch_env.strata("engine", "image", "digits", name, "--seed", 40 + digit, "-o", path, "--backend", backend,
                                                   "--guidance", 2, "--steps", 9, "--json", STRATA_ONNXRUNTIME=library, STRATA_MODELS=""))
                assert done["width"] == SIDE and done["steps"] == 9
                got = np.asarray(Image.open(path))
                want = reference(net, digit, 40 + digit, 9, 2.0)[:, :, None]
                off = np.abs(got.astype(int) - want.astype(int))
                assert off.max() <= 1 and (off > 0).mean() <= 0.005, f"{name}, {backend}: {off.max()} levels off, {(off > 0).mean():.4f} of all bytes"


torch_env.run(one_call_is_the_same_everywhere, pictures_are_those_of_diffusers)
