"""Small models of transformers and diffusers with random weights, and inputs for them: what strata.place is tried on."""
import torch


def gpt2(layers=2, width=64):
    from transformers import GPT2Config, GPT2LMHeadModel
    model = GPT2LMHeadModel(GPT2Config(vocab_size=128, n_positions=64, n_embd=width, n_layer=layers, n_head=4, bos_token_id=0, eos_token_id=1))
    return model, {"input_ids": torch.arange(2, 18).reshape(2, 8)}


def bert():
    from transformers import BertConfig, BertModel
    model = BertModel(BertConfig(vocab_size=128, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128))
    mask = torch.ones(2, 8, dtype=torch.long)
    mask[1, 6:] = 0
    return model, {"input_ids": torch.arange(2, 18).reshape(2, 8), "attention_mask": mask}


def llama(layers=2, width=64):
    from transformers import LlamaConfig, LlamaForCausalLM
    model = LlamaForCausalLM(LlamaConfig(vocab_size=128, hidden_size=width, intermediate_size=2 * width, num_hidden_layers=layers,
                                         num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64, bos_token_id=0, eos_token_id=1))
    return model, {"input_ids": torch.arange(2, 18).reshape(2, 8)}


def t5(layers=2, width=64):
    from transformers import T5Config, T5ForConditionalGeneration
    model = T5ForConditionalGeneration(T5Config(vocab_size=128, d_model=width, d_kv=16, d_ff=2 * width, num_layers=layers, num_heads=4,
                                                decoder_start_token_id=0, eos_token_id=1, pad_token_id=0))
    ids = torch.arange(2, 18).reshape(2, 8)
    return model, {"input_ids": ids, "decoder_input_ids": ids[:, :5].clone()}


def vit():
    from transformers import ViTConfig, ViTModel
    model = ViTModel(ViTConfig(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, image_size=32, patch_size=8))
    return model, {"pixel_values": torch.linspace(-1, 1, 2 * 3 * 32 * 32).reshape(2, 3, 32, 32)}


def clip(layers=2, width=64):
    from transformers import CLIPConfig, CLIPModel
    model = CLIPModel(CLIPConfig(
        text_config={"vocab_size": 128, "hidden_size": width, "intermediate_size": 2 * width, "num_hidden_layers": layers,
                     "num_attention_heads": 4, "max_position_embeddings": 16, "eos_token_id": 1, "bos_token_id": 0},
        vision_config={"hidden_size": width, "intermediate_size": 2 * width, "num_hidden_layers": layers, "num_attention_heads": 4,
                       "image_size": 32, "patch_size": 8}, projection_dim=32))
    ids = torch.arange(2, 18).reshape(2, 8)
    ids[:, -1] = 1
    return model, {"input_ids": ids, "pixel_values": torch.linspace(-1, 1, 2 * 3 * 32 * 32).reshape(2, 3, 32, 32)}


def unet():
    from diffusers import UNet2DConditionModel
    model = UNet2DConditionModel(sample_size=16, in_channels=4, out_channels=4, layers_per_block=1, block_out_channels=(32, 64),
                                 down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"), up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
                                 cross_attention_dim=32, attention_head_dim=8, norm_num_groups=8)
    return model, {"sample": torch.linspace(-1, 1, 4 * 16 * 16).reshape(1, 4, 16, 16), "timestep": torch.tensor([10.0]),
                   "encoder_hidden_states": torch.linspace(-1, 1, 8 * 32).reshape(1, 8, 32)}


MODELS = {"GPT-2": gpt2, "BERT": bert, "Llama": llama, "T5": t5, "ViT": vit, "CLIP": clip, "UNet2DCondition": unet}


def make(name, **words):
    torch.manual_seed(0)
    model, inputs = MODELS[name](**words)
    return model.eval(), inputs
