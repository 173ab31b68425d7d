#!/usr/bin/env python3
"""Nodes as they are declared."""
from service import arguments, equal, run


@arguments("--node", "big:cpus=16:memory=1T:gpus=8:gpu_type=h100:features=ib:partitions=main")
def what_is_declared_is_there(service):
    nodes = {node["name"]: node for node in service.api("GET", "/nodes")["nodes"]}
    equal(sorted(nodes), ["big", "n1", "n2", "n3"])
    equal((nodes["big"]["gpus"], nodes["big"]["gpu_type"], nodes["big"]["features"]), (8, "h100", ["ib"]))
    job = service.submit("true", gpus=1, gpu_type="h100", features="ib", partition="main")["id"]
    service.wait(job, "completed")


run(what_is_declared_is_there)
