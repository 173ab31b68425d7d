#!/usr/bin/env python3
"""Why a job waits, in sentences: each reason with its own."""
from service import equal, run


def why(service, job, *words):
    answer = service.api("GET", f"/jobs/{job}/why")
    for word in words:
        assert any(word in sentence for sentence in answer["sentences"]), (word, answer["sentences"])
    return answer


def what_is_not_free_is_said(service):
    first = service.submit("sleep", "60", exclusive=True, nodes=3, time_limit=100)["id"]
    service.wait(first, "running")
    second = service.submit("true", gpus=4)["id"]
    third = service.submit("true", gpus=1)["id"]
    answer = why(service, second, f"Job {second} is queued", "asks for 4 GPUs, 1 core;", "first in the queue", "whole GPUs on n1")
    equal((answer["expected_node"], answer["promised"], answer["position"]), ("n1", True, 1))
    why(service, third, f"number 2 in the queue; before it: {second}.")
    why(service, first, f"Job {first} is running.")


def what_it_waits_for_is_named(service):
    first = service.submit("sleep", "60", name="prepare")["id"]
    service.wait(first, "running")
    then = service.submit("true", dependencies=f"afterok:{first}")["id"]
    why(service, then, f"waits until job {first} (prepare) has completed; that one is running")
    service.api("DELETE", f"/jobs/{first}", status=202)
    service.wait(first, "cancelled")
    why(service, then, "can never happen", f"`strata cancel {then}`")
    again = service.submit("true", name="one", dependencies="singleton", hold=True)["id"]
    later = service.submit("true", name="one", dependencies="singleton")["id"]
    why(service, later, "earlier jobs of", "called one")
    why(service, again, f"`strata release {again}` lets it start")
    why(service, service.submit("true", begin="2040-01-01T00:00:00Z")["id"], "from 2040-01-01T00:00:00Z on")


def limits_are_told_with_their_numbers(service):
    me = service.job(service.submit("true")["id"])["user"]
    service.api("PATCH", f"/users/{me}", {"limits": {"jobs": 1, "gpus": 4}})
    service.wait(service.submit("sleep", "60", gpus=2)["id"], "running")
    why(service, service.submit("true")["id"], f"The user {me} has limits", "1 job in use; the limit is 1", "2 GPUs in use; the limit is 4")
    service.api("PATCH", f"/users/{me}", {"limits": {"jobs": 0, "gpus": 0}})
    service.api("PUT", "/accounts/lab", {"limits": {"jobs": 1}})
    service.api("PUT", "/accounts/team", {"parent": "lab"})
    service.wait(service.submit("sleep", "60", account="team")["id"], "running")
    why(service, service.submit("true", account="team")["id"], "The account lab has limits", "1 job in use; the limit is 1")
    service.api("PUT", "/qos/slow", {"limits": {"jobs": 1}})
    service.wait(service.submit("sleep", "60", qos="slow")["id"], "running")
    why(service, service.submit("true", qos="slow")["id"], "The qos slow has limits", "jobs: 1")


def what_is_impossible_is_named(service):
    """Each part by itself: the nodes have 8 cores, 32 GiB and 4 GPUs of one type."""
    kind = service.api("GET", "/nodes")["nodes"][0]["gpu_type"]
    for fields, words in (({"gpus": 1, "gpu_type": "z9"}, f"with GPUs of the type z9; there are: {kind}."),
                          ({"gpus": 1, "gpu_type": kind.upper()}, f"did you mean {kind}?"),
                          ({"features": "warp"}, "has the features warp; there are: none."),
                          ({"node_list": "n9"}, "The nodes that it names (n9) cannot take it; there are: n1, n2, n3."),
                          ({"node_exclude": "n1,n2,n3"}, "Only nodes that it excludes (n1,n2,n3) could take it."),
                          ({"nodes": 1, "gpus_per_node": 5}, "It asks for more GPUs than such nodes have."),
                          ({"cpus_per_task": 9}, "It asks for more cores than such nodes have."),
                          ({"memory": "40G"}, "It asks for more memory than such nodes have."),
                          ({"nodes": 4, "tasks": 4}, "It asks for 4 nodes; there are 3."),
                          ({"gpus": 13}, "It asks for 13 GPUs; all nodes together have 12.")):
        job = service.submit("true", **fields)["id"]
        equal((fields, service.job(job)["reason"]), (fields, "impossible"))
        why(service, job, words)
        service.ask("DELETE", f"/api/v1/jobs/{job}")
    why(service, service.submit("true", features="warp", cpus_per_task=9)["id"], "No single part of what it asks for is to blame")


def nodes_and_groups_have_their_words(service):
    why(service, service.submit("true", gpus=400)["id"], "The largest nodes have 4 GPUs, 8 cores, 32 GiB")
    array = service.submit("sleep", "60", array="1-3%1")["ids"]
    service.wait(array[0], "running")
    why(service, array[1], "1 of its array run now")
    gang = service.submit("true", gang="g", gang_size=2)["id"]
    why(service, gang, "1 jobs of its gang are submitted")
    for node in ("n1", "n2", "n3"):
        service.api("PATCH", f"/nodes/{node}", {"state": "drained", "reason": "new disk"})
    why(service, service.submit("true")["id"], "Node n1 is drained: new disk; `strata nodes resume n1`")


run(what_is_impossible_is_named, what_is_not_free_is_said, what_it_waits_for_is_named, limits_are_told_with_their_numbers, nodes_and_groups_have_their_words)
