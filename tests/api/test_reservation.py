#!/usr/bin/env python3
"""What others reserve is theirs: no job of ours is put there until it is given back."""
from service import equal, run


def what_is_reserved_is_not_given_to_jobs(service):
    made = service.api("POST", "/reservations", {"job_id": "a", "gpus": 4, "node": "n2"}, 201)
    equal([(piece["node"], piece["gpu_ids"]) for piece in made["pieces"]], [("n2", [0, 1, 2, 3])])
    jobs = [service.submit("sleep", "60", gpus=4)["id"] for _ in range(3)]
    nodes = [service.wait(job, "running")["node_names"] for job in jobs[:2]]
    equal(sorted(nodes), [["n1"], ["n3"]])
    equal(service.job(jobs[2])["state"], "queued")
    service.api("DELETE", "/reservations/a")
    equal(service.wait(jobs[2], "running")["node_names"], ["n2"])
    service.api("DELETE", "/reservations/a", status=404)


def asking_again_gives_the_same_answer(service):
    wish = {"job_id": "a", "gpus": 2}
    made = service.api("POST", "/reservations", wish, 201)
    equal(service.api("POST", "/reservations", wish, 200), made)
    equal(service.api("GET", "/reservations")["reservations"], [made])


def they_are_kept_over_a_restart(service):
    made = service.api("POST", "/reservations", {"job_id": "a", "pieces": [
        {"node": "n1", "gpu_ids": [1, 3], "cpus": 2}, {"node": "n3", "gpu_ids": [0]}]}, 201)
    service.kill()
    service.start()
    equal(service.api("GET", "/reservations")["reservations"], [made])
    held = [(gpu["node"], gpu["index"]) for gpu in service.api("GET", "/gpus")["gpus"] if gpu["reservations"]]
    equal(held, [("n1", 1), ("n1", 3), ("n3", 0)])
    equal(next(node["cpus_free"] for node in service.api("GET", "/nodes")["nodes"] if node["name"] == "n1"), 6)


def they_end_by_themselves(service):
    service.api("POST", "/reservations", {"job_id": "a", "pieces": [{"node": f"n{i}", "gpu_ids": [0, 1, 2, 3]} for i in (1, 2, 3)],
                                          "expires_in": 1}, 201)
    job = service.submit("true", gpus=4)["id"]
    service.wait(job, "completed")
    equal(service.api("GET", "/reservations")["reservations"], [])


def what_is_not_there_cannot_be_had(service):
    service.api("POST", "/reservations", {"job_id": "a", "gpus": 3, "node": "n1"}, 201)
    equal(service.api("POST", "/reservations", {"job_id": "b", "gpus": 2, "node": "n1"}, 409)["error"]["code"], "conflict")
    equal(service.api("POST", "/reservations", {"job_id": "b", "pieces": [{"node": "n1", "gpu_ids": [0]}]}, 409)["error"]["code"], "conflict")
    equal(service.api("POST", "/reservations", {"job_id": "b", "pieces": [{"node": "n9"}]}, 404)["error"]["field"], "pieces[0].node")
    equal(service.api("POST", "/reservations", {"job_id": "b", "pieces": [{"node": "n1", "gpu_ids": [4]}]}, 404)["error"]["field"],
          "pieces[0].gpu_ids")
    equal(service.api("POST", "/reservations", {"gpus": 1}, 400)["error"]["field"], "job_id")
    equal(service.api("POST", "/reservations", {"job_id": "b", "gpus": 1, "gpu_type": "h100"}, 409)["error"]["code"], "conflict")
    equal(len(service.api("GET", "/reservations")["reservations"]), 1)


run(what_is_reserved_is_not_given_to_jobs, asking_again_gives_the_same_answer, they_are_kept_over_a_restart,
    they_end_by_themselves, what_is_not_there_cannot_be_had)
