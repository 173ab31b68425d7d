#!/usr/bin/env python3
"""A service that asks an inventory service before it starts anything: here another strata is that service."""
import os
import signal
import time

from service import PATIENCE_S, Service, equal, run


class Pair:
    """An inventory, and a scheduler that uses it, by TCP with a token."""

    def __init__(self, inventory):
        self.inventory = inventory
        token = inventory.api("POST", "/tokens", {"role": "operator"}, 201)["token"]
        path = os.path.join(inventory.dir, "token")
        with open(path, "w") as file:
            file.write(token + "\n")
        os.chmod(path, 0o600)
        self.inventory_url = f"http://127.0.0.1:{inventory.port()}"
        self.scheduler = Service("--inventory-url", self.inventory_url, "--inventory-token-file", path, nodes=None)

    def __enter__(self):
        return self.scheduler

    def __exit__(self, *_):
        self.scheduler.close()

    def held(self):
        return {held["job_id"]: [(piece["node"], piece["gpu_ids"]) for piece in held["pieces"]]
                for held in self.inventory.api("GET", "/reservations")["reservations"]}

    def wait_held(self, want):
        deadline = time.time() + PATIENCE_S
        while self.held() != want:
            assert time.time() < deadline, (self.held(), want)
            time.sleep(0.05)


def places_are_reserved_there_and_given_back(inventory):
    pair = Pair(inventory)
    with pair as service:
        equal([node["name"] for node in service.api("GET", "/nodes")["nodes"]], ["n1", "n2", "n3"])
        job = service.submit("sh", "-c", "echo $CUDA_VISIBLE_DEVICES; sleep 60", gpus=2, output="out")["id"]
        place = service.wait(job, "running")
        equal(pair.held(), {f"strata.{job}": [(place["node_names"][0], place["gpu_ids"][place["node_names"][0]])]})
        service.api("DELETE", f"/jobs/{job}", status=202)
        pair.wait_held({})


def what_it_refuses_does_not_start(inventory):
    pair = Pair(inventory)
    with pair as service:
        inventory.api("POST", "/reservations", {"job_id": "theirs", "pieces": [{"node": f"n{i}", "gpu_ids": [0, 1, 2, 3]} for i in (1, 2, 3)]}, 201)
        job = service.submit("true", gpus=1)["id"]
        deadline = time.time() + PATIENCE_S
        while not (no := [event for event in service.api("GET", "/events?format=json")["events"] if event["kind"] == "job.not_reserved"]):
            assert time.time() < deadline
            time.sleep(0.05)
        assert no[0]["job"] == job and no[0]["about"]["error"], no
        equal((service.job(job)["state"], service.job(job)["reason"]), ("queued", "begin_time"))
        said = service.api("GET", f"/jobs/{job}/why")["sentences"]
        assert f"Job {job} is queued: could not start: the inventory at {pair.inventory_url} did not give it its place: " in said[0], said
        equal(said[1], "It is tried again in a few seconds; nothing has to be done for that.")
        other = service.submit("true")["id"]  # one that needs no GPU goes its way
        service.wait(other, "completed")


def a_restart_asks_again_and_tidies_up(inventory):
    pair = Pair(inventory)
    with pair as service:
        runs = service.submit("sleep", "60", gpus=1)["id"]
        ends = service.submit("sleep", "1", gpus=1)["id"]
        service.wait(runs, "running")
        service.wait(ends, "running")
        service.kill()
        inventory.api("POST", "/reservations", {"job_id": "strata.77", "gpus": 1}, 201)  # as if it had died before giving it back
        inventory.api("POST", "/reservations", {"job_id": "other.77", "gpus": 1}, 201)
        time.sleep(1.2)
        service.start()
        service.wait(ends, "completed")
        deadline = time.time() + PATIENCE_S
        while set(pair.held()) != {f"strata.{runs}", "other.77"}:
            assert time.time() < deadline, pair.held()
            time.sleep(0.05)


def one_that_is_cancelled_meanwhile_does_not_start(inventory):
    pair = Pair(inventory)
    with pair as service:
        inventory.process.send_signal(signal.SIGSTOP)  # it is there and does not answer
        job = service.submit("touch", os.path.join(service.dir, "ran"), gpus=1)["id"]
        service.wait(job, "scheduled")
        service.api("DELETE", f"/jobs/{job}", status=202)
        service.wait(job, "cancelled")
        inventory.process.send_signal(signal.SIGCONT)
        pair.wait_held({})
        assert not os.path.exists(os.path.join(service.dir, "ran"))


def one_that_does_not_answer_is_a_problem(inventory):
    pair = Pair(inventory)
    with pair as service:
        equal(service.api("GET", "/problems")["problems"], [])
        inventory.kill()
        service.submit("true", gpus=1)
        deadline = time.time() + PATIENCE_S
        while not (found := service.api("GET", "/problems")["problems"]):
            assert time.time() < deadline
            time.sleep(0.05)
        equal((found[0]["kind"], found[0]["grave"], found[0]["title"]), ("inventory_away", True, "The inventory does not answer"))
        assert "No job starts until it does" in found[0]["text"] and found[0]["since"], found


for test in (places_are_reserved_there_and_given_back, what_it_refuses_does_not_start, a_restart_asks_again_and_tidies_up,
             one_that_is_cancelled_meanwhile_does_not_start, one_that_does_not_answer_is_a_problem):
    test.arguments = ("--listen", "127.0.0.1:0")

run(places_are_reserved_there_and_given_back, what_it_refuses_does_not_start, a_restart_asks_again_and_tidies_up,
    one_that_is_cancelled_meanwhile_does_not_start, one_that_does_not_answer_is_a_problem)
