"""A language model served: prefill and decode are told apart, and each is placed by what it is."""
import strata.place as djinn
import torch
import transformers
from strata.place.scheduler import create_scheduler_for_workload

torch.manual_seed(0)
transformers.utils.logging.set_verbosity_error()
config = transformers.GPT2Config(vocab_size=64, n_positions=64, n_embd=32, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=1)
model = transformers.GPT2LMHeadModel(config).eval()
input_tensor = torch.arange(2, 10).reshape(1, 8)

scheduler = create_scheduler_for_workload('llm_serving')
with torch.no_grad():
    result = djinn.execute_model(model, input_tensor, scheduler=scheduler)
print(f"{scheduler.last.findings.workload}, {scheduler.last.phase}: logits {tuple(result.logits.shape)}")

with scheduler.placed(model):
    tokens = model.generate(input_tensor, max_new_tokens=8, do_sample=False, attention_mask=torch.ones_like(input_tensor), pad_token_id=0)
print("tokens:", tokens.shape[1], "as without:", torch.equal(tokens, model.generate(
    input_tensor, max_new_tokens=8, do_sample=False, attention_mask=torch.ones_like(input_tensor), pad_token_id=0)))
print("calls:", ", ".join(f"{count} {phase}" for phase, count in sorted(scheduler.phases.items())))
