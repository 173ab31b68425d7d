"""A model runs where it runs best, without a setting."""
import strata.place as djinn
import torch

model = torch.nn.Linear(784, 10)
input_tensor = torch.ones(4, 784)
result = djinn.execute_model(model, input_tensor)

print("result:", tuple(result.shape))
print("as without:", torch.equal(result, model(input_tensor)))
