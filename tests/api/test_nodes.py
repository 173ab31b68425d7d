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


@arguments("--node", "wide:cpus=16:memory=64G:features='ib,nvme':partitions='main,debug'", "--node", "other:cpus=16:memory=64G:features=nvme:partitions=main")
def a_node_has_several_features_and_partitions(service):
    nodes = {node["name"]: node for node in service.api("GET", "/nodes")["nodes"]}
    equal((nodes["wide"]["features"], nodes["wide"]["partitions"]), (["ib", "nvme"], ["main", "debug"]))
    equal((nodes["other"]["features"], nodes["other"]["partitions"], nodes["n1"]["features"]), (["nvme"], ["main"], []))
    for wish in ({"features": "ib"}, {"features": "nvme", "partition": "debug"}, {"features": "ib,nvme"}, {"features": "ib", "partition": "main"}):
        job = service.submit("sleep", "100", **wish)["id"]
        equal([piece["node"] for piece in service.wait(job, "running")["place"]], ["wide"])


run(what_is_declared_is_there, a_node_has_several_features_and_partitions)
