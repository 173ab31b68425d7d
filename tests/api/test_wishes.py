#!/usr/bin/env python3
"""What people ask of generation services most, and found in none together: one test for each wish, by its name. The numbers are issues of A1111's web
interface, ComfyUI, diffusers and vLLM-Omni, where it was asked for."""
import json

from fake_worker import FAKE, Worker, generate, png, raw
from service import Connection, Service, arguments, equal, run_with
from test_pictures import ask_for, drawn_at_once, ended, picture, workers
from webhook_listener import LOOPBACK, Listener, check_signature


def task(service, number):
    return service.api("GET", f"/tasks/{number}")


def an_id_at_once(service):
    """A1111 #3786: not blocked until the picture is there."""
    answer = generate(service, steps=1000)
    equal((answer["id"], answer["status"]), (1, "pending"))
    equal(task(service, answer["id"])["status"], "pending")


def progress_of_each_task(service):
    """A1111 #9529: of each, not of whatever is drawn just now."""
    generate(service, steps=10)
    generate(service, steps=10)
    worker = Worker(service)
    equal(sorted(one["id"] for one in worker.pick(1000)["tasks"]), [1, 2])
    rows = [{"id": 1, "kind": "steps", "steps": 7, "cost_ns": 1}, {"id": 2, "kind": "steps", "steps": 3, "cost_ns": 1}]
    equal(worker.ask("POST", "/done", {"rows": rows})[0], 200)
    equal([(task(service, number)["steps_done"], task(service, number)["steps"]) for number in (1, 2)], [(7, 10), (3, 10)])


def position_in_line(service):
    """A1111 #13413, #16409: how many are before it, and when it is expected to start."""
    service.api("PUT", "/models/digits", {"batch": 1})
    equal(generate(service, steps=10)["position"], 1)
    worker = Worker(service)
    worker.pick(1000)
    worker.report("steps", 1, cost_ns=1000000000)  # a second for each step
    equal([generate(service, steps=10)["position"] for _ in range(2)], [1, 2])
    equal([task(service, number)["position"] for number in (2, 3)], [1, 2])
    assert task(service, 3)["expected_start"] > task(service, 2)["expected_start"], task(service, 3)
    assert "1 task" in service.api("GET", "/tasks/3/why")["text"], service.api("GET", "/tasks/3/why")


def cancel_one(service):
    """A1111 #16132: one, and the others go on."""
    for _ in range(3):
        generate(service, steps=10)
    worker = Worker(service)
    worker.pick(1000)
    service.api("DELETE", "/tasks/2")
    equal(task(service, 2)["status"], "cancelled")
    worker.report("steps", 1)
    answer = worker.pick()
    equal((sorted(one["id"] for one in answer["tasks"]), answer["drop"]), ([1, 3], [2]))


@arguments(*LOOPBACK)
def a_call_when_it_is_done(service):
    """A1111 #12576: nobody has to ask again and again; the message is signed, and comes although the service was killed in between."""
    listener = Listener()
    ask_for(service, "a seven", seed=3, webhook=listener.url("/my-pictures"))
    service.kill()
    service.start()
    message, = listener.wait()
    path, headers, body = listener.messages[0]
    equal((path, message["event"], message["task"]["id"], message["task"]["status"]), ("/my-pictures", "task.ended", 1, "finished"))
    equal(picture(service, message["task"]["id"]), drawn_at_once("a seven", "--seed", 3, "--steps", message["task"]["steps"]))
    check_signature(service.api("GET", "/webhooks")["secret"], headers, body)
    listener.close()


def the_queue_survives_a_restart(service):
    """ComfyUI #1032, #2844: nothing that was acknowledged is lost, and each keeps its place."""
    service.api("PUT", "/models/digits", {"batch": 1})
    for number in range(5):
        generate(service, f"picture {number}", steps=10 + number)
    service.kill()
    service.start()
    found = [task(service, number) for number in range(1, 6)]
    equal([(one["parameters"]["prompt"], one["steps"], one["position"]) for one in found],
          [(f"picture {number}", 10 + number, number + 1) for number in range(5)])


def pause_and_go_on(service):
    """ComfyUI #2844: what is asked for waits until the queue is let go."""
    service.api("POST", "/models/digits/pause")
    generate(service)
    service.api("PUT", "/models/digits", {"workers_min": 1})
    worker = Worker(service)
    equal(worker.pick(300)["tasks"], [])
    assert "paused" in service.api("GET", "/tasks/1/why")["text"], service.api("GET", "/tasks/1/why")
    service.api("POST", "/models/digits/resume")
    equal(worker.work(), [1])


@arguments("--task-queue-max", "3")
def a_bounded_queue_says_when_to_come_back(service):
    """ComfyUI #2401: 429 and Retry-After in place of a queue without an end."""
    for _ in range(3):
        generate(service)
    connection = Connection(service.socket)
    connection.request("POST", "/api/v1/generate", json.dumps({"prompt": "one more"}))
    answer = connection.getresponse()
    equal((answer.status, int(answer.getheader("Retry-After")) > 0), (429, True))
    answer.read()
    connection.close()
    equal(len(service.api("GET", "/tasks")["tasks"]), 3)


def two_users_at_once_take_turns(service):
    """ComfyUI #3154: who asks for one picture does not wait for the other's hundred."""
    service.api("PUT", "/models/digits", {"batch": 1})
    tokens = {user: service.api("POST", "/tokens", {"user": user, "role": "user"}, 201)["token"] for user in ("daemon", "games")}
    many = [service.api("POST", "/generate", {"prompt": "x", "steps": 1}, 201, token=tokens["daemon"])["id"] for _ in range(20)]
    few = [service.api("POST", "/generate", {"prompt": "x", "steps": 1}, 201, token=tokens["games"])["id"] for _ in range(3)]
    order = Worker(service).work(len(many) + len(few))
    assert max(order.index(number) for number in few) <= 7, order
    equal(sorted(order), sorted(many + few))


def several_workers_share_the_queue(service):
    """ComfyUI #8335: more than one device, and no picture twice."""
    service.api("PUT", "/models/digits", {"workers_min": 2, "workers_max": 2, "batch": 1})
    first = Worker(service)
    second = Worker(service, but=[first.job])
    for _ in range(6):
        generate(service, steps=1)
    done = []
    for worker in (first, second, first, second, second, first):
        done += [one["id"] for one in worker.pick(1000)["tasks"]]
        worker.finish(png(len(done)))
    equal(sorted(done), [1, 2, 3, 4, 5, 6])
    equal({raw(service, f"/tasks/{number}/image")[2] for number in done}, {png(shade) for shade in range(1, 7)})


def solvers_are_safe_to_share(service):
    """diffusers #9848, #12328: tasks of one solver at the same time, in one batch and in two workers, do not disturb each other."""
    service.api("PUT", "/models/digits", {"workers_min": 2, "workers_max": 2, "batch": 2})
    wishes = [(solver, 8 + 3 * turn, 10 * turn) for solver in ("dpmpp_2m", "lms") for turn in range(3)]
    numbers = [ask_for(service, "a seven", scheduler=solver, steps=steps, seed=seed) for solver, steps, seed in wishes]
    for number, (solver, steps, seed) in zip(numbers, wishes):
        ended(service, number)
        assert picture(service, number) == drawn_at_once("a seven", "--solver", solver, "--steps", steps, "--seed", seed), (solver, steps)
    equal(len(workers(service)), 2)


def unlike_tasks_share_a_batch_step_by_step(service):
    """vLLM-Omni #874, #1511, #3831: a task joins at the next step of those that are under way, and leaves when it is done."""
    generate(service, steps=50, scheduler="euler")
    worker = Worker(service)
    worker.pick(1000)
    worker.report("steps", 20)
    generate(service, steps=5, scheduler="dpmpp_2m", guidance_scale=3)
    equal(sorted((one["id"], one["steps_done"]) for one in worker.pick()["tasks"]), [(1, 20), (2, 0)])
    rows = [{"id": 1, "kind": "steps", "steps": 5, "cost_ns": 1},
            {"id": 2, "kind": "finished", "steps": 5, "cost_ns": 1, "images": [worker.send(png(2))], "width": 2, "height": 2}]
    equal(worker.ask("POST", "/done", {"rows": rows})[0], 200)
    equal((task(service, 2)["status"], task(service, 1)["steps_done"]), ("finished", 25))
    equal([one["id"] for one in worker.pick(holding=[1])["tasks"]], [1])


def make(test):
    words = getattr(test, "arguments", [])
    return Service(*words) if test in (solvers_are_safe_to_share, a_call_when_it_is_done) else Service(*FAKE, *words)


run_with(make, an_id_at_once, progress_of_each_task, position_in_line, cancel_one, a_call_when_it_is_done, the_queue_survives_a_restart, pause_and_go_on,
         a_bounded_queue_says_when_to_come_back, two_users_at_once_take_turns, several_workers_share_the_queue, solvers_are_safe_to_share,
         unlike_tasks_share_a_batch_step_by_step)
