#!/usr/bin/env python3
"""Text encoders of sd3 and flux: small models with weights at random, exported as optimum does it, in a folder; what our pipeline makes of prompts is compared
with diffusers' own encode_prompt, and whole pictures with its pipelines."""
import json
import os
import tempfile

import torch_env

torch_env.enter()

import warnings  # noqa: E402

import numpy as np  # noqa: E402
import torch  # noqa: E402
from diffusers import (AutoencoderKL, FlowMatchEulerDiscreteScheduler, FluxPipeline, FluxTransformer2DModel, SD3Transformer2DModel,  # noqa: E402
                       StableDiffusion3Pipeline)
from PIL import Image  # noqa: E402
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTextModelWithProjection, CLIPTokenizer, T5Config, T5EncoderModel  # noqa: E402

import unigram_data  # noqa: E402

warnings.simplefilter("ignore")  # of the exporter, about what is not traced
CLIP_FILES = os.path.join(torch_env.SOURCE, "tests", "data", "pipelines", "tokenizer")
WIDTH = 48  # of T5 and of the transformers' text
PROMPTS = ["a red bicycle on the street", "Ünusual ﬁne café, 猫 </s> 42!"]


class Named(torch.nn.Module):
    """A model whose outputs are the named ones, as optimum's exports have them."""

    def __init__(self, model, call):
        super().__init__()
        self.model, self.call = model, call

    def forward(self, *inputs):
        return self.call(self.model, *inputs)


class Rms(torch.nn.Module):
    """torch.nn.RMSNorm, for which the exporter has no operator."""

    def __init__(self, norm):
        super().__init__()
        self.weight, self.eps = norm.weight, norm.eps

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


def export(model, call, inputs, names, outputs, dynamic, where):
    os.makedirs(where, exist_ok=True)
    with torch.no_grad():
        torch.onnx.export(Named(model, call).eval(), inputs, os.path.join(where, "model.onnx"), input_names=names, output_names=outputs,
                          dynamic_axes=dynamic, opset_version=18, dynamo=False)
    config = getattr(model, "config", None)
    with open(os.path.join(where, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config.to_dict() if hasattr(config, "to_dict") else dict(config), file, default=str)


def clip(width, layers, projected, seed):
    torch.manual_seed(seed)
    tokenizer = CLIPTokenizer.from_pretrained(CLIP_FILES)
    config = CLIPTextConfig(vocab_size=len(tokenizer), hidden_size=width, intermediate_size=2 * width, num_hidden_layers=layers, num_attention_heads=2,
                            projection_dim=width, hidden_act="quick_gelu" if projected else "gelu", bos_token_id=tokenizer.bos_token_id,
                            eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id)
    return tokenizer, (CLIPTextModelWithProjection if projected else CLIPTextModel)(config).eval()


def export_clip(model, projected, where):
    layers = model.config.num_hidden_layers
    hidden = [f"hidden_states.{i}" for i in range(layers)]

    def call(it, ids):
        out = it(ids, output_hidden_states=True)
        return (out.text_embeds if projected else out.pooler_output, out.last_hidden_state + 0, *out.hidden_states[:layers])

    first = "text_embeds" if projected else "pooler_output"
    export(model, call, (torch.ones(2, 77, dtype=torch.long),), ["input_ids"], [first, "last_hidden_state", *hidden],
           {name: {0: "batch"} for name in ["input_ids", first, "last_hidden_state", *hidden]}, where)


def t5(where, seed):
    torch.manual_seed(seed)
    os.makedirs(where, exist_ok=True)
    tokenizer = unigram_data.train(where)
    config = T5Config(vocab_size=len(tokenizer), d_model=WIDTH, d_kv=12, d_ff=64, num_layers=2, num_heads=4, feed_forward_proj="gated-gelu")
    return tokenizer, T5EncoderModel(config).eval()


def export_t5(model, where):
    export(model, lambda it, ids: it(ids).last_hidden_state, (torch.ones(2, 16, dtype=torch.long),), ["input_ids"], ["last_hidden_state"],
           {"input_ids": {0: "batch", 1: "tokens"}, "last_hidden_state": {0: "batch", 1: "tokens"}}, where)


def vae(latent_channels, where):
    torch.manual_seed(9)
    model = AutoencoderKL(block_out_channels=(8, 16), down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2, layers_per_block=1,
                          latent_channels=latent_channels, norm_num_groups=4, scaling_factor=1.5, shift_factor=0.06, use_quant_conv=False,
                          use_post_quant_conv=False).eval()
    export(model, lambda it, z: it.decode(z).sample, (torch.zeros(2, latent_channels, 8, 8),), ["latent_sample"], ["sample"],
           {"latent_sample": {0: "batch", 2: "h", 3: "w"}, "sample": {0: "batch", 2: "H", 3: "W"}}, where)
    return model


def write_index(where, class_name, scheduler):
    with open(os.path.join(where, "model_index.json"), "w", encoding="utf-8") as file:
        json.dump({"_class_name": class_name}, file)
    scheduler.save_pretrained(os.path.join(where, "scheduler"))


def make_sd3(where, with_t5):
    parts = [clip(16, 2, True, 1), clip(24, 3, True, 2)]
    for number, (tokenizer, model) in enumerate(parts, 1):
        suffix = "" if number == 1 else "_2"
        tokenizer.save_pretrained(os.path.join(where, "tokenizer" + suffix))
        save_bpe(os.path.join(where, "tokenizer" + suffix))
        export_clip(model, True, os.path.join(where, "text_encoder" + suffix))
    last = (None, None)
    if with_t5:
        last = t5(os.path.join(where, "tokenizer_3"), 3)
        export_t5(last[1], os.path.join(where, "text_encoder_3"))
    torch.manual_seed(4)
    transformer = SD3Transformer2DModel(sample_size=8, patch_size=2, in_channels=4, num_layers=2, attention_head_dim=8, num_attention_heads=4,
                                        joint_attention_dim=WIDTH, caption_projection_dim=32, pooled_projection_dim=40, out_channels=4,
                                        pos_embed_max_size=16).eval()
    names = ["hidden_states", "encoder_hidden_states", "pooled_projections", "timestep"]
    export(transformer, lambda it, x, text, pooled, t: it(hidden_states=x, encoder_hidden_states=text, pooled_projections=pooled, timestep=t).sample,
           (torch.zeros(2, 4, 8, 8), torch.zeros(2, 90, WIDTH), torch.zeros(2, 40), torch.ones(2)), names, ["out_hidden_states"],
           {**{name: {0: "batch"} for name in names}, "encoder_hidden_states": {0: "batch", 1: "tokens"}}, os.path.join(where, "transformer"))
    scheduler = FlowMatchEulerDiscreteScheduler(shift=3.0)
    decoder = vae(4, os.path.join(where, "vae_decoder"))
    write_index(where, "StableDiffusion3Pipeline", scheduler)
    return StableDiffusion3Pipeline(transformer=transformer, scheduler=scheduler, vae=decoder, text_encoder=parts[0][1], tokenizer=parts[0][0],
                                    text_encoder_2=parts[1][1], tokenizer_2=parts[1][0], text_encoder_3=last[1], tokenizer_3=last[0])


def make_flux(where):
    tokenizer, model = clip(16, 2, False, 5)
    tokenizer.save_pretrained(os.path.join(where, "tokenizer"))
    save_bpe(os.path.join(where, "tokenizer"))
    export_clip(model, False, os.path.join(where, "text_encoder"))
    second = t5(os.path.join(where, "tokenizer_2"), 6)
    export_t5(second[1], os.path.join(where, "text_encoder_2"))
    torch.manual_seed(7)
    transformer = FluxTransformer2DModel(patch_size=1, in_channels=16, num_layers=1, num_single_layers=1, attention_head_dim=16, num_attention_heads=2,
                                         joint_attention_dim=WIDTH, pooled_projection_dim=16, guidance_embeds=True, axes_dims_rope=(4, 6, 6)).eval()
    for module in list(transformer.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, torch.nn.RMSNorm):
                setattr(module, name, Rms(child))
    names = ["hidden_states", "encoder_hidden_states", "pooled_projections", "timestep", "img_ids", "txt_ids", "guidance"]

    def call(it, x, text, pooled, t, img_ids, txt_ids, guidance):
        return it(hidden_states=x, encoder_hidden_states=text, pooled_projections=pooled, timestep=t, img_ids=img_ids, txt_ids=txt_ids, guidance=guidance).sample

    export(transformer, call, (torch.zeros(1, 16, 16), torch.zeros(1, 512, WIDTH), torch.zeros(1, 16), torch.ones(1), torch.zeros(16, 3, dtype=torch.long),
                               torch.zeros(512, 3, dtype=torch.long), torch.ones(1)), names, ["out_hidden_states"],
           {**{name: {0: "batch"} for name in names}, "hidden_states": {0: "batch", 1: "places"}, "encoder_hidden_states": {0: "batch", 1: "tokens"},
            "img_ids": {0: "places"}, "txt_ids": {0: "tokens"}}, os.path.join(where, "transformer"))
    with open(os.path.join(where, "transformer", "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    config["sample_size"] = 8
    with open(os.path.join(where, "transformer", "config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file)
    scheduler = FlowMatchEulerDiscreteScheduler(use_dynamic_shifting=True)
    decoder = vae(4, os.path.join(where, "vae_decoder"))
    write_index(where, "FluxPipeline", scheduler)
    return FluxPipeline(transformer=transformer, scheduler=scheduler, vae=decoder, text_encoder=model, tokenizer=tokenizer, text_encoder_2=second[1],
                        tokenizer_2=second[0])


def save_bpe(where):
    """The two files that folders of diffusers have; newer transformers write one other file."""
    for name in ("vocab.json", "merges.txt", "tokenizer_config.json", "special_tokens_map.json"):
        with open(os.path.join(CLIP_FILES, name), "rb") as source, open(os.path.join(where, name), "wb") as file:
            file.write(source.read())


def draw(where, prompt, negative=None):
    path = os.path.join(where, "x.png")
    words = ["--negative", negative] if negative else []
    torch_env.strata("engine", "image", where, prompt, *words, "--seed", 11, "--steps", 4, "-o", path, "--size", "16x16")
    return np.asarray(Image.open(path)).astype(int)


def same_picture(got, want, what):
    off = np.abs(got - np.asarray(want).astype(int))
    assert off.max() <= 1 and (off > 0).mean() <= 0.005, f"{what}: {off.max()} levels off, {(off > 0).mean():.4f} of all bytes"


def check_sd3(with_t5):
    with tempfile.TemporaryDirectory() as where:
        pipeline = make_sd3(where, with_t5)
        pipeline.set_progress_bar_config(disable=True)
        seen = []
        for prompt, negative in zip(PROMPTS, (None, "blurry ﬁlm")):
            picture = pipeline(prompt, negative_prompt=negative, num_inference_steps=4, width=16, height=16, generator=torch.Generator().manual_seed(11)).images[0]
            same_picture(draw(where, prompt, negative), picture, prompt)
            seen.append(np.asarray(picture))
        assert (seen[0] != seen[1]).mean() > 0.1, "the prompt makes no difference: nothing was compared"


def sd3_with_t5():
    check_sd3(True)


def sd3_without_t5():
    check_sd3(False)


def flux():
    with tempfile.TemporaryDirectory() as where:
        pipeline = make_flux(where)
        pipeline.set_progress_bar_config(disable=True)
        seen = []
        for prompt in PROMPTS:
            picture = pipeline(prompt, num_inference_steps=4, width=16, height=16, generator=torch.Generator().manual_seed(11)).images[0]
            same_picture(draw(where, prompt), picture, prompt)
            seen.append(np.asarray(picture))
        assert (seen[0] != seen[1]).mean() > 0.1, "the prompt makes no difference: nothing was compared"


torch_env.run(sd3_with_t5, sd3_without_t5, flux)
