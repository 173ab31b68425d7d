"""Models larger than memory: which layer's parameters are there when.

    strata.stage.minimal   a small scheduler to look at: a schedule by hand, the hooks of a training loop
"""
