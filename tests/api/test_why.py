#!/usr/bin/env python3
"""Why a job waits, in sentences: each reason with its own."""
import datetime
import subprocess

from service import STRATA, equal, run


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
    answer = why(service, second, f"Job {second} is queued", "asks for 4 GPUs, 1 core;", "first in the queue", "No node has a whole GPU free.")
    equal((answer["expected_node"], answer["promised"], answer["position"]), ("n1", True, 1))
    why(service, third, f"number 2 in the queue; before it: {second}.")
    why(service, first, f"Job {first} is running.")


def a_frozen_job_is_called_suspended_and_how_it_goes_on_is_said(service):
    job = service.submit("sleep", "600", gpus=4, node_list="n1", time_limit=3000)["id"]
    service.wait(job, "running")
    service.api("PATCH", f"/jobs/{job}", {"suspend": True})
    service.wait(job, "preempted")
    equal(why(service, job)["sentences"], [f"Job {job} is suspended: it is frozen where it is.",
                                           f"`strata resume {job}` lets it go on; only an operator may."])
    service.wait(service.submit("sleep", "600", gpus=4, node_list="n1", time_limit=1000)["id"], "running")
    answer = service.api("PATCH", f"/jobs/{job}", {"suspend": False})
    equal(answer["reason_text"], "it is frozen until what it had is free again")
    why(service, job, f"Job {job} is suspended: it is frozen until", "It goes on where it is, once what it had is free again.")


def one_that_a_signal_ended_is_not_told_of_an_exit_status(service):
    job = service.submit("sh", "-c", "kill -9 $$")["id"]
    equal(service.wait(job, "failed")["reason_text"], "a signal ended it")
    why(service, job, f"Job {job} failed: a signal ended it.")


def whole_nodes_are_counted_as_such(service):
    service.wait(service.submit("sleep", "60", node_list="n1")["id"], "running")
    service.wait(service.submit("sleep", "60", node_list="n2")["id"], "running")
    whole = service.submit("true", exclusive=True, nodes=2)["id"]
    why(service, whole, "It asks for 2 whole nodes (--exclusive); 1 of 3 has nothing running on it now.")
    service.api("DELETE", f"/jobs/{whole}")
    service.wait(service.submit("sleep", "60", exclusive=True, nodes=1)["id"], "running")
    named = service.submit("true", node_list="n3")["id"]
    why(service, named, "It may run only on n3 (--node-list).")


def who_is_not_interrupted_is_named(service):
    kept = service.submit("sleep", "600", name="kept", gpus=4, node_list="n1", priority="low", time_limit=3000)["id"]
    young = service.submit("sleep", "600", name="young", gpus=8, preemptible=True, priority="low", time_limit=3000)["id"]
    service.wait(kept, "running")
    service.wait(young, "running")
    urgent = service.submit("true", gpus=4, priority="high")["id"]
    why(service, urgent, f"Job {kept} (kept) is less urgent but may not be interrupted (no --preemptible); it ends by 20",
        f"Job {young} (young) is less urgent but protected until 20")
    equal([s for s in why(service, service.submit("true", gpus=4, priority="low")["id"])["sentences"] if "less urgent" in s], [])


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


def seconds_between(a, b):
    return (datetime.datetime.fromisoformat(b[:-1]) - datetime.datetime.fromisoformat(a[:-1])).total_seconds()


def who_waits_apart_has_an_expected_start(service):
    """In `why`, in the queue and in the job: after a time, after others, or why it is not known."""
    begin = service.submit("true", begin="2040-01-01T00:00:00Z")["id"]
    first = service.submit("sleep", "60", time_limit=1000)["id"]
    service.wait(first, "running")
    after = service.submit("true", dependencies=f"afterok:{first}", time_limit=500)["id"]
    later = service.submit("true", dependencies=f"afterany:{after}")["id"]
    bad = service.submit("true", dependencies=f"afternotok:{first}")["id"]
    held = service.submit("true", hold=True)["id"]
    behind = service.submit("true", dependencies=f"afterok:{held}")["id"]
    queue = {job["id"]: job.get("expected_start_at") for job in service.api("GET", "/queue")["jobs"]}
    equal(queue[begin], "2040-01-01T00:00:00Z")
    started = service.job(first)["started_at"]
    assert 998 <= seconds_between(started, queue[after]) <= 1002, (started, queue)
    assert 1498 <= seconds_between(started, queue[later]) <= 1502, (started, queue)
    equal((queue[bad], queue[held], queue[behind]), (None, None, None))
    for job in (begin, after, later):
        answer = why(service, job)
        equal((answer["expected_start_at"], service.job(job)["expected_start_at"]), (queue[job], queue[job]))
        equal((answer["promised"], answer.get("position")), (False, None))
        assert not any("not known" in line or "in the queue" in line for line in answer["sentences"]), answer
    why(service, bad, f"When it starts is not known: nobody can say whether job {first} will fail.")
    why(service, behind, f"When it starts is not known, because when job {held} starts is not; `strata why {held}` says why.")
    why(service, held, f"`strata release {held}` lets it start")
    shown = subprocess.run([STRATA, "--socket", service.socket, "why", str(begin)], capture_output=True, text=True)
    assert "It starts ≈ " in shown.stdout, shown


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


def impossible_parts(service):
    """What to ask for, and what is said of it. The nodes have 8 cores, 32 GiB and 4 GPUs of one type."""
    kind = service.api("GET", "/nodes")["nodes"][0]["gpu_type"]
    return (({"gpus": 1, "gpu_type": "z9"}, f"has GPUs of the type z9; there are: {kind}."),
            ({"gpus": 1, "gpu_type": kind.upper()}, f"has GPUs of the type {kind.upper()}; did you mean {kind}?"),
            ({"features": "warp"}, "has the features warp; there are: none."),
            ({"node_list": "n9"}, "There is no such node: n9; there are: n1, n2, n3."),
            ({"node_list": "N1"}, "There is no such node: N1; did you mean n1?"),
            ({"node_exclude": "n1,n2,n3"}, "Only nodes that are excluded for it (n1,n2,n3) could take it"),
            ({"nodes": 1, "gpus_per_node": 5}, "It asks for 5 GPUs on one node; at most 4 would be possible."),
            ({"gpus_per_task": 5}, "It asks for 5 GPUs for one task; at most 4 would be possible."),
            ({"cpus_per_task": 9}, "It asks for 9 cores for one task; at most 8 would be possible."),
            ({"memory": "40G"}, "It asks for 40 GiB of memory for one task; at most 32 GiB would be possible."),
            ({"nodes": 4, "tasks": 4}, "It asks for 4 nodes; at most 3 would be possible."),
            ({"tasks": 25}, "It asks for 25 tasks; at most 24 would be possible."),
            ({"gpus": 13}, "It asks for 13 GPUs; all nodes together have 12."),
            ({"gpus": 11}, "Its 11 GPUs can be spread evenly over 11 nodes only; at most 3 would be possible."))


def what_is_impossible_is_refused(service):
    for fields, words in impossible_parts(service):
        for held in ({}, {"hold": True}, {"begin": "2040-01-01T00:00:00Z"}, {"array": "1-3"}):
            said = service.submit("true", status=422, **fields, **held)["error"]
            equal((fields, held, said["code"]), (fields, held, "impossible"))
            assert words.rstrip(".") in said["message"] and "`--queue-anyway`" in said["message"], (words, said)
    equal(service.api("GET", "/jobs")["jobs"], [])
    equal(service.submit("true")["id"], 1)  # those that were refused have used up no numbers
    service.wait(1, "completed")
    several = service.ask("POST", "/api/v1/jobs", {"jobs": [{"command": ["true"]}, {"command": ["true"], "gpus": 13}]})
    equal((several[0], several[1]["error"]["message"][:16]), (422, "no node could ta"))
    equal([job["id"] for job in service.api("GET", "/jobs")["jobs"]], [1])
    gang = service.submit("true", gang="g", gang_size=2, gpus=13, status=422)
    equal(gang["error"]["code"], "impossible")
    assert service.submit("true", gang="h", gang_size=2, hold=True)["id"] > 2  # a gang's number is not another's


def what_is_impossible_is_named(service):
    for fields, words in impossible_parts(service):
        answer = service.submit("true", queue_anyway=True, **fields)
        equal((fields, service.job(answer["id"])["reason"]), (fields, "impossible"))
        assert words in answer["warnings"][0], answer
        why(service, answer["id"], words, f"`strata cancel {answer['id']}`")
        service.ask("DELETE", f"/api/v1/jobs/{answer['id']}")
    both = service.submit("true", features="warp", cpus_per_task=9, queue_anyway=True)["id"]
    why(service, both, "These must all change:", "has the features warp", "It asks for 9 cores for one task; at most 8")
    many = service.submit("true", tasks=100, cpus_per_task=1, queue_anyway=True)["id"]
    equal(why(service, many)["sentences"][1:2], ["It asks for 100 tasks; at most 24 would be possible."])  # not: 0 cores
    crowded = service.submit("true", tasks=100, nodes=2, queue_anyway=True)["id"]
    why(service, crowded, "It asks for 100 tasks on 2 nodes, where there is no room for so many; ask for fewer tasks, or for more nodes.")
    either = service.submit("true", gpus_per_task=4, tasks=9, cpus_per_task=2, queue_anyway=True)["id"]
    why(service, either, "To change one of these is enough:", "at most 1 would be", "It asks for 9 tasks; at most 3")


def nodes_and_groups_have_their_words(service):
    array = service.submit("sleep", "60", array="1-3%1")["ids"]
    service.wait(array[0], "running")
    why(service, array[1], "1 of its array runs now, as many as were asked for at a time; `strata update 1 --throttle N` changes that.")
    gang = service.submit("true", gang="g", gang_size=2)["id"]
    why(service, gang, "1 of the 2 jobs of its gang is submitted; all of them start together.")
    for node in ("n1", "n2", "n3"):
        service.api("PATCH", f"/nodes/{node}", {"state": "drained", "reason": "new disk"})
    why(service, service.submit("true")["id"], "Node n1 is drained: new disk; `strata nodes resume n1`")


run(a_frozen_job_is_called_suspended_and_how_it_goes_on_is_said, one_that_a_signal_ended_is_not_told_of_an_exit_status, who_is_not_interrupted_is_named, what_is_impossible_is_refused, what_is_impossible_is_named, what_is_not_free_is_said, whole_nodes_are_counted_as_such, what_it_waits_for_is_named, who_waits_apart_has_an_expected_start, limits_are_told_with_their_numbers, nodes_and_groups_have_their_words)
