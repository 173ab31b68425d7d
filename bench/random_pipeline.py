#!/usr/bin/env python3
"""A Stable Diffusion pipeline of about 65 million parameters with random weights, as ONNX files, for benches: the UNet is made here (with the Python of
build/python-torch), all else comes from the golden tiny-sd.

    random_pipeline.py TINY_SD FOLDER
"""
import json
import os
import shutil
import sys

import diffusers
import torch

PARTS = ["scheduler", "text_encoder", "tokenizer", "vae_decoder"]
MODEL = dict(sample_size=16, in_channels=4, out_channels=4, layers_per_block=1, block_out_channels=(192, 352, 512), attention_head_dim=8, norm_num_groups=32,
             down_block_types=("CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "DownBlock2D"),
             up_block_types=("UpBlock2D", "CrossAttnUpBlock2D", "CrossAttnUpBlock2D"))


class Denoiser(torch.nn.Module):
    def __init__(self, unet):
        super().__init__()
        self.unet = unet

    def forward(self, sample, timestep, encoder_hidden_states):
        return self.unet(sample, timestep, encoder_hidden_states, return_dict=False)[0]


def export(unet, width, path):
    batch, side = torch.export.Dim("batch", max=63), torch.export.Dim.DYNAMIC
    example = torch.randn(2, 4, 16, 16), torch.tensor([5.0, 6.0]), torch.randn(2, 77, width)
    program = torch.onnx.export(Denoiser(unet).eval(), example, dynamo=True, opset_version=20, verbose=False,
                                input_names=["sample", "timestep", "encoder_hidden_states"], output_names=["out_sample"],
                                dynamic_shapes={"sample": {0: batch, 2: side, 3: side}, "timestep": {0: batch}, "encoder_hidden_states": {0: batch}})
    program.save(path, external_data=True)


def main():
    tiny, folder = sys.argv[1:]
    with open(os.path.join(tiny, "unet", "config.json")) as file:
        width = json.load(file)["cross_attention_dim"]
    torch.manual_seed(1)
    unet = diffusers.UNet2DConditionModel(cross_attention_dim=width, **MODEL)
    made = folder + ".part"
    shutil.rmtree(made, ignore_errors=True)
    os.makedirs(os.path.join(made, "unet"))
    for part in PARTS:
        shutil.copytree(os.path.join(tiny, part), os.path.join(made, part))
    shutil.copy(os.path.join(tiny, "model_index.json"), made)
    unet.save_config(os.path.join(made, "unet"))
    export(unet, width, os.path.join(made, "unet", "model.onnx"))
    shutil.rmtree(folder, ignore_errors=True)
    os.rename(made, folder)
    print(f"{sum(weight.numel() for weight in unet.parameters()) / 1e6:.0f} million parameters in {folder}")


main()
