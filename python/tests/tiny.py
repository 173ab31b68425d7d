"""Pipelines of diffusers with models of a few thousand random weights, for tests: real code, no downloads, a picture in a fraction of a
second. Prompts are given as embeddings, so that no tokenizer is needed."""
import diffusers
import numpy as np
import torch
from PIL import Image


def unet(cross=32, **more):
    torch.manual_seed(0)
    return diffusers.UNet2DConditionModel(
        block_out_channels=(8, 16), layers_per_block=1, sample_size=8, in_channels=4, out_channels=4, norm_num_groups=4,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"), up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        cross_attention_dim=cross, attention_head_dim=4, **more).eval()


def vae():
    torch.manual_seed(1)
    return diffusers.AutoencoderKL(
        block_out_channels=(8, 8), in_channels=3, out_channels=3, down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2, latent_channels=4, norm_num_groups=4, sample_size=16).eval()


def picture():
    return Image.fromarray((np.random.RandomState(3).rand(16, 16, 3) * 255).astype("uint8"))


def mask():
    return Image.fromarray(np.tri(16, dtype="uint8") * 255)


def embeddings(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(2))


def stable_diffusion(scheduler, kind="StableDiffusionPipeline"):
    pipe = getattr(diffusers, kind)(vae=vae(), text_encoder=None, tokenizer=None, unet=unet(), scheduler=scheduler, safety_checker=None,
                                    feature_extractor=None, requires_safety_checker=False)
    words = {"prompt_embeds": embeddings(1, 7, 32), "negative_prompt_embeds": embeddings(1, 7, 32) * 0.5}
    if kind == "StableDiffusionPipeline":
        words.update(height=16, width=16)
    elif kind == "StableDiffusionImg2ImgPipeline":
        words.update(image=picture(), strength=0.6)
    else:
        words.update(image=picture(), mask_image=mask(), height=16, width=16, strength=0.7)
    return pipe, words


def sdxl(scheduler, kind="StableDiffusionXLPipeline"):
    net = unet(cross=32, addition_embed_type="text_time", addition_time_embed_dim=8, projection_class_embeddings_input_dim=80,
               transformer_layers_per_block=(1, 1), use_linear_projection=True)
    pipe = getattr(diffusers, kind)(vae=vae(), text_encoder=None, text_encoder_2=None, tokenizer=None, tokenizer_2=None, unet=net,
                                    scheduler=scheduler)
    words = {"prompt_embeds": embeddings(1, 7, 32), "negative_prompt_embeds": embeddings(1, 7, 32) * 0.5,
             "pooled_prompt_embeds": embeddings(1, 32), "negative_pooled_prompt_embeds": embeddings(1, 32) * 0.5}
    words.update({"height": 16, "width": 16} if kind == "StableDiffusionXLPipeline" else {"image": picture(), "strength": 0.5})
    if kind == "StableDiffusionXLInpaintPipeline":
        words.update(mask_image=mask(), height=16, width=16)
    return pipe, words


def control(scheduler, kind="StableDiffusionControlNetPipeline"):
    net = unet()
    torch.manual_seed(5)
    steering = diffusers.ControlNetModel.from_unet(net, conditioning_embedding_out_channels=(8, 16)).eval()
    for parameter in steering.controlnet_down_blocks.parameters():
        torch.nn.init.normal_(parameter, std=0.1)  # else it begins with no say
    pipe = getattr(diffusers, kind)(vae=vae(), text_encoder=None, tokenizer=None, unet=net, controlnet=steering, scheduler=scheduler,
                                    safety_checker=None, feature_extractor=None, requires_safety_checker=False)
    words = {"prompt_embeds": embeddings(1, 7, 32), "negative_prompt_embeds": embeddings(1, 7, 32) * 0.5, "image": picture()}
    if kind != "StableDiffusionControlNetPipeline":
        words.update(control_image=picture(), strength=0.6)
    return pipe, words


def pix2pix(scheduler):
    torch.manual_seed(0)
    net = diffusers.UNet2DConditionModel(
        block_out_channels=(8, 16), layers_per_block=1, sample_size=8, in_channels=8, out_channels=4, norm_num_groups=4,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"), up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        cross_attention_dim=32, attention_head_dim=4).eval()
    pipe = diffusers.StableDiffusionInstructPix2PixPipeline(vae=vae(), text_encoder=None, tokenizer=None, unet=net, scheduler=scheduler,
                                                            safety_checker=None, feature_extractor=None, requires_safety_checker=False)
    return pipe, {"prompt_embeds": embeddings(1, 7, 32), "negative_prompt_embeds": embeddings(1, 7, 32) * 0.5, "image": picture()}


def pixart(scheduler):
    torch.manual_seed(0)
    net = diffusers.PixArtTransformer2DModel(
        sample_size=8, num_layers=2, patch_size=2, attention_head_dim=8, num_attention_heads=2, in_channels=4, cross_attention_dim=16,
        caption_channels=32, out_channels=8, norm_type="ada_norm_single", use_additional_conditions=False).eval()
    pipe = diffusers.PixArtSigmaPipeline(tokenizer=None, text_encoder=None, vae=vae(), transformer=net, scheduler=scheduler)
    return pipe, {"prompt": None, "negative_prompt": None, "prompt_embeds": embeddings(1, 7, 32), "negative_prompt_embeds": embeddings(1, 7, 32) * 0.5,
                  "prompt_attention_mask": torch.ones(1, 7), "negative_prompt_attention_mask": torch.ones(1, 7), "height": 16, "width": 16,
                  "use_resolution_binning": False}


def dit(scheduler):
    torch.manual_seed(0)
    net = diffusers.DiTTransformer2DModel(sample_size=8, num_layers=2, patch_size=4, attention_head_dim=8, num_attention_heads=2, in_channels=4,
                                          out_channels=8, num_embeds_ada_norm=1000).eval()
    return diffusers.DiTPipeline(transformer=net, vae=vae(), scheduler=scheduler), {"class_labels": [1, 2]}


def unconditional(scheduler, kind="DDPMPipeline"):
    torch.manual_seed(0)
    net = diffusers.UNet2DModel(block_out_channels=(8, 16), layers_per_block=1, sample_size=8, in_channels=3, out_channels=3, norm_num_groups=4,
                                down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D")).eval()
    return getattr(diffusers, kind)(net, scheduler), {"batch_size": 2}


def flux(scheduler, kind="FluxPipeline"):
    torch.manual_seed(0)
    net = diffusers.FluxTransformer2DModel(patch_size=1, in_channels=16, num_layers=1, num_single_layers=1, attention_head_dim=16,
                                           num_attention_heads=2, joint_attention_dim=32, pooled_projection_dim=32, axes_dims_rope=(4, 4, 8)).eval()
    coder = vae()
    coder.register_to_config(shift_factor=0.1, scaling_factor=0.9)
    pipe = getattr(diffusers, kind)(scheduler=scheduler, text_encoder=None, tokenizer=None, text_encoder_2=None, tokenizer_2=None,
                                    transformer=net, vae=coder)
    words = {"prompt_embeds": embeddings(1, 7, 32), "pooled_prompt_embeds": embeddings(1, 32), "height": 16, "width": 16}
    if kind != "FluxPipeline":
        words.update(image=picture(), strength=0.6)
    if kind == "FluxInpaintPipeline":
        words.update(mask_image=mask())
    return pipe, words


def sd3(scheduler, kind="StableDiffusion3Pipeline"):
    torch.manual_seed(0)
    net = diffusers.SD3Transformer2DModel(sample_size=8, patch_size=1, in_channels=4, num_layers=1, attention_head_dim=8, num_attention_heads=4,
                                          caption_projection_dim=32, joint_attention_dim=32, pooled_projection_dim=64, out_channels=4).eval()
    coder = vae()
    coder.register_to_config(shift_factor=0.1, scaling_factor=0.9)
    pipe = getattr(diffusers, kind)(scheduler=scheduler, text_encoder=None, tokenizer=None, text_encoder_2=None, tokenizer_2=None,
                                    text_encoder_3=None, tokenizer_3=None, transformer=net, vae=coder)
    words = {"prompt_embeds": embeddings(1, 7, 32), "negative_prompt_embeds": embeddings(1, 7, 32) * 0.5,
             "pooled_prompt_embeds": embeddings(1, 64), "negative_pooled_prompt_embeds": embeddings(1, 64) * 0.5, "height": 16, "width": 16}
    if kind != "StableDiffusion3Pipeline":
        words.update(image=picture(), strength=0.6)
    return pipe, words


def lcm(scheduler, kind="LatentConsistencyModelPipeline"):
    net = unet(time_cond_proj_dim=8)
    pipe = getattr(diffusers, kind)(vae=vae(), text_encoder=None, tokenizer=None, unet=net, scheduler=scheduler, safety_checker=None,
                                    feature_extractor=None, requires_safety_checker=False)
    words = {"prompt_embeds": embeddings(1, 7, 32), "original_inference_steps": 50}
    words.update({"height": 16, "width": 16} if kind == "LatentConsistencyModelPipeline" else {"image": picture(), "strength": 0.6})
    return pipe, words


KARRAS = ("DDIMScheduler", "DDPMScheduler", "PNDMScheduler", "EulerDiscreteScheduler", "EulerAncestralDiscreteScheduler", "HeunDiscreteScheduler",
          "KDPM2DiscreteScheduler", "KDPM2AncestralDiscreteScheduler", "DPMSolverMultistepScheduler", "DPMSolverSinglestepScheduler",
          "DEISMultistepScheduler", "UniPCMultistepScheduler", "LCMScheduler", "TCDScheduler", "SASolverScheduler", "IPNDMScheduler")
FLOWS = ("FlowMatchEulerDiscreteScheduler", "FlowMatchHeunDiscreteScheduler")

# name: how it is made, and the schedulers that diffusers lets it have
PIPELINES = {
    "StableDiffusion": (stable_diffusion, KARRAS),
    "StableDiffusionImg2Img": (lambda s: stable_diffusion(s, "StableDiffusionImg2ImgPipeline"), KARRAS),
    "StableDiffusionInpaint": (lambda s: stable_diffusion(s, "StableDiffusionInpaintPipeline"), KARRAS),
    "StableDiffusionXL": (sdxl, KARRAS),
    "StableDiffusionXLImg2Img": (lambda s: sdxl(s, "StableDiffusionXLImg2ImgPipeline"), KARRAS),
    "StableDiffusionXLInpaint": (lambda s: sdxl(s, "StableDiffusionXLInpaintPipeline"), KARRAS[3:5] + KARRAS[8:12]),
    "StableDiffusionControlNet": (control, KARRAS[3:5] + KARRAS[8:12]),
    "StableDiffusionControlNetImg2Img": (lambda s: control(s, "StableDiffusionControlNetImg2ImgPipeline"), KARRAS[3:5] + KARRAS[8:12]),
    "StableDiffusionInstructPix2Pix": (pix2pix, KARRAS[3:5] + KARRAS[8:12]),
    "PixArtSigma": (pixart, KARRAS[8:9] + KARRAS[11:12]),
    "DiT": (dit, ("DDIMScheduler", "DPMSolverMultistepScheduler", "EulerDiscreteScheduler")),
    "DDPM": (unconditional, ("DDPMScheduler",)),
    "DDIM": (lambda s: unconditional(s, "DDIMPipeline"), ("DDIMScheduler",)),
    "Flux": (flux, FLOWS[:1]),
    "FluxImg2Img": (lambda s: flux(s, "FluxImg2ImgPipeline"), FLOWS[:1]),
    "FluxInpaint": (lambda s: flux(s, "FluxInpaintPipeline"), FLOWS[:1]),
    "StableDiffusion3": (sd3, FLOWS),
    "StableDiffusion3Img2Img": (lambda s: sd3(s, "StableDiffusion3Img2ImgPipeline"), FLOWS[:1]),
    "LatentConsistency": (lcm, ("LCMScheduler",)),
    "LatentConsistencyImg2Img": (lambda s: lcm(s, "LatentConsistencyModelImg2ImgPipeline"), ("LCMScheduler",)),
}
