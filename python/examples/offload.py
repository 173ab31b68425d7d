"""A model within a third of its memory: called, looked at, trained. Any torch module will do."""
import torch
from torch import nn

import strata

torch.manual_seed(0)
model = nn.Sequential(*(layer for _ in range(12) for layer in (nn.Linear(512, 512), nn.GELU())))
x, y = torch.randn(8, 512), torch.randn(8, 512)
weights = sum(parameter.numel() * parameter.element_size() for parameter in model.parameters())

with torch.no_grad():
    expected = model(x)
    with strata.offload(model, budget=weights // 3) as h:
        print("same result:", all(torch.equal(model(x), expected) for _ in range(3)))
        stats = h.stats()
        print(f"memory: {stats.memory_bytes / weights:.2f} of the weights; read a call: {stats.bytes_read / stats.steps / weights:.2f}")
        print("the plan begins:", *(f"{entry.kind} {entry.layer}" for entry in h.plan().entries[:3]), sep="\n  ")

opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
with strata.offload(model, budget=weights, optimizer=opt) as h:  # AdamW's state is twice as large as the weights
    for step in range(5):
        loss = (model(x) - y).pow(2).mean()
        loss.backward()
        opt.step()
        opt.zero_grad()
        print(f"step {step}: loss {loss.item():.4f}")
    print(f"memory: {h.stats().memory_bytes / weights:.2f} of the weights, the largest gradient {h.stats().gradient_bytes / weights:.2f}")
