"""Small pipelines with random weights, as diffusers saves them."""
import os

import torch
from client_env import SOURCE
from diffusers import AutoencoderKL, DDPMPipeline, DDPMScheduler, EulerDiscreteScheduler, StableDiffusionPipeline, UNet2DConditionModel, UNet2DModel
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTokenizer

TOKENIZER = os.path.join(SOURCE, "tests", "data", "pipelines", "tokenizer")


def stable_diffusion(width=16):
    torch.manual_seed(3)
    tokenizer = CLIPTokenizer.from_pretrained(TOKENIZER)
    text = CLIPTextModel(CLIPTextConfig(vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
                                        bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id)).eval()
    vae = AutoencoderKL(block_out_channels=(8, 16), down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
                        layers_per_block=1, latent_channels=4, norm_num_groups=4).eval()
    unet = UNet2DConditionModel(sample_size=16, block_out_channels=(width, 2 * width), layers_per_block=1, norm_num_groups=8, cross_attention_dim=32,
                                attention_head_dim=8, down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
                                up_block_types=("UpBlock2D", "CrossAttnUpBlock2D")).eval()
    scheduler = EulerDiscreteScheduler(beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear", steps_offset=1)
    return StableDiffusionPipeline(vae=vae, text_encoder=text, tokenizer=tokenizer, unet=unet, scheduler=scheduler, safety_checker=None,
                                   feature_extractor=None, requires_safety_checker=False)


def unconditional():
    torch.manual_seed(4)
    unet = UNet2DModel(sample_size=16, in_channels=3, out_channels=3, block_out_channels=(8, 16), layers_per_block=1, norm_num_groups=4,
                       down_block_types=("DownBlock2D", "DownBlock2D"), up_block_types=("UpBlock2D", "UpBlock2D")).eval()
    return DDPMPipeline(unet, DDPMScheduler())
