"""Layers that say that they run, and a model of them."""
from strata.stage.minimal.model import FakeLayer, FakeModel

model = FakeModel([FakeLayer("L1"), FakeLayer("L2", latency=0.01)])
print("out:", model.forward("batch"))
