"""A Stable Diffusion pipeline of a few thousand random weights that takes prompts, for the examples: it draws noise, at once and without a
download. Give an example the folder or name of a real pipeline to see pictures."""
import json
import os
import sys
import tempfile

import diffusers
import torch
import transformers


def tokenizer():
    """Byte by byte, with the words and the format of CLIP."""
    letters = [chr(code) for code in (*range(33, 127), *range(161, 173), *range(174, 256), *range(256, 324))]
    words = [*letters, *(letter + "</w>" for letter in letters), "<|startoftext|>", "<|endoftext|>"]
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "vocab.json"), "w", encoding="utf-8") as file:
            json.dump({word: number for number, word in enumerate(words)}, file)
        with open(os.path.join(folder, "merges.txt"), "w", encoding="utf-8") as file:
            file.write("#version: 0.2\n")
        return transformers.CLIPTokenizer.from_pretrained(folder, model_max_length=16), len(words)


def pipeline():
    """The pipeline that the command line names, or the tiny one."""
    if len(sys.argv) > 1:
        return diffusers.DiffusionPipeline.from_pretrained(sys.argv[1])
    torch.manual_seed(0)
    words, count = tokenizer()
    text = transformers.CLIPTextModel(transformers.CLIPTextConfig(
        vocab_size=count, hidden_size=32, intermediate_size=37, num_attention_heads=4, num_hidden_layers=2, max_position_embeddings=16,
        bos_token_id=count - 2, eos_token_id=count - 1, pad_token_id=count - 1)).eval()
    unet = diffusers.UNet2DConditionModel(
        block_out_channels=(8, 16), layers_per_block=1, sample_size=8, in_channels=4, out_channels=4, norm_num_groups=4,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"), up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"), cross_attention_dim=32,
        attention_head_dim=4).eval()
    vae = diffusers.AutoencoderKL(
        block_out_channels=(8, 8), in_channels=3, out_channels=3, down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2, latent_channels=4, norm_num_groups=4, sample_size=16).eval()
    scheduler = diffusers.DPMSolverMultistepScheduler(beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear", steps_offset=1)
    pipe = diffusers.StableDiffusionPipeline(vae=vae, text_encoder=text, tokenizer=words, unet=unet, scheduler=scheduler, safety_checker=None,
                                             feature_extractor=None, requires_safety_checker=False)
    pipe.set_progress_bar_config(disable=True)
    return pipe


SIZE = {"height": 16, "width": 16, "num_inference_steps": 4}
