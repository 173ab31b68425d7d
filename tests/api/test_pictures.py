#!/usr/bin/env python3
"""Pictures from the service, end to end: a service, its workers, the model that comes with the program. Whatever happens on the way, the same request gives the
bytes that `strata engine image` writes: in a batch, after a worker that gave back or was killed, after a service that was killed."""
import base64
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time

from fake_worker import png
from service import PATIENCE_S, STRATA, Skip, arguments, equal, run

LONG = 200  # steps of a task in whose middle something happens


def strata(service, *words, code=0):
    env = {**os.environ, "STRATA_SOCKET": service.socket, "HOME": service.dir}
    done = subprocess.run([STRATA, *words], env=env, cwd=service.dir, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=PATIENCE_S)
    equal((done.returncode, done.stderr if done.returncode != code else ""), (code, ""))
    return done.stdout + done.stderr


def drawn_at_once(prompt, *words):
    """The file that the engine writes without a service."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "want.png")
        subprocess.run([STRATA, "engine", "image", "digits", prompt, "-o", path, "--experience", "none", *map(str, words)], check=True,
                       stderr=subprocess.DEVNULL, timeout=PATIENCE_S)
        with open(path, "rb") as file:
            return file.read()


def ask_for(service, prompt, **fields):
    return service.api("POST", "/generate", {"prompt": prompt, **fields}, 201)["id"]


def task(service, number):
    return service.api("GET", f"/tasks/{number}")


def wait_until(what, holds):
    deadline = time.time() + PATIENCE_S
    while not (found := holds()):
        assert time.time() < deadline, f"it is not so: {what}"
        time.sleep(0.01)
    return found


def ended(service, number, status="finished"):
    found = wait_until(f"task {number} has ended", lambda: (now := task(service, number))["status"] in ("finished", "failed", "cancelled") and now)
    equal((found["status"], found["error"]), (status, found["error"] if status == "failed" else None))
    return found


def picture(service, number, image=0):
    connection, answer = service.follow(f"/tasks/{number}/image/{image}")
    data = answer.read()
    connection.close()
    equal(answer.status, 200)
    return data


def is_under_way(service, number, steps=5):
    return wait_until(f"task {number} is under way", lambda: task(service, number)["steps_done"] >= steps)


def workers(service):
    """Their processes, by what they were started with."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as line, open(f"/proc/{pid}/environ", "rb") as variables:
                words = line.read().split(b"\0")
                if b"worker" in words and b"--model" in words and f"STRATA_SOCKET={service.socket}\0".encode() in variables.read():
                    found.append(int(pid))
        except OSError:
            pass  # it has ended
    return found


def end_workers(service, how):
    pids = wait_until("there is a worker", lambda: workers(service))
    for pid in pids:
        os.kill(pid, how)


def a_prompt_becomes_the_picture_that_the_engine_draws(service):
    said = strata(service, "generate", "a seven", "--steps", "12", "--seed", "5", "-o", "seven.png")
    assert "seven.png: 28x28, 12 steps, seed 5" in said, said
    with open(os.path.join(service.dir, "seven.png"), "rb") as file:
        equal(file.read() == drawn_at_once("a seven", "--steps", 12, "--seed", 5), True)
    found = task(service, 1)
    equal((found["status"], found["steps_done"], found["attempts"], found["model"], found["seed"]), ("finished", 12, 1, "digits", 5))
    assert found["cost_ns"] > 0 and found["started_at"] and found["ended_at"], found
    assert "T1 " in strata(service, "tasks"), "the list has it not"


UNLIKE = [
    ("a seven", {"steps": 30, "seed": 1}, ("--steps", 30, "--seed", 1)),
    ("a three", {"steps": 7, "seed": 2, "scheduler": "heun"}, ("--steps", 7, "--seed", 2, "--solver", "heun")),
    ("a five", {"steps": 19, "seed": 3, "guidance_scale": 3}, ("--steps", 19, "--seed", 3, "--guidance", 3)),
    ("an eight", {"steps": 1, "seed": 4}, ("--steps", 1, "--seed", 4)),
    ("a two", {"steps": 25, "seed": 5, "scheduler": "Euler a"}, ("--steps", 25, "--seed", 5, "--solver", "Euler a")),
    ("a nine", {"steps": 12, "seed": 6, "negative_prompt": "a four"}, ("--steps", 12, "--seed", 6, "--negative", "a four")),
]


def in_a_batch_at_unlike_steps_each_has_the_bytes_it_has_alone(service):
    numbers = [ask_for(service, prompt, **fields) for prompt, fields, _ in UNLIKE]
    for number, (prompt, _, words) in zip(numbers, UNLIKE):
        ended(service, number)
        assert picture(service, number) == drawn_at_once(prompt, *words), f"{prompt} is another picture"


def a_draft_has_the_bytes_of_a_draft_beside_one_that_is_exact(service):
    draft = ask_for(service, "a three", seed=4, steps=24, quality="draft")
    exact = ask_for(service, "a three", seed=4, steps=24, quality="exact")
    ended(service, draft), ended(service, exact)
    equal(picture(service, draft), drawn_at_once("a three", "--seed", 4, "--steps", 24, "--quality", "draft"))
    equal(picture(service, exact), drawn_at_once("a three", "--seed", 4, "--steps", 24))
    refused = service.api("POST", "/generate", {"prompt": "a three", "quality": "best"}, 400)["error"]
    assert "exact, normal or draft" in refused["message"], refused


def several_pictures_have_the_seeds_that_follow(service):
    said = strata(service, "generate", "a seven", "-n", "3", "--steps", "6", "--seed", "40", "-o", "many.png")
    assert "many-3.png: 28x28, 6 steps, seed 42" in said, said
    for i in range(3):
        with open(os.path.join(service.dir, f"many-{i + 1}.png"), "rb") as file:
            assert file.read() == drawn_at_once("a seven", "--steps", 6, "--seed", 40 + i), f"picture {i} is another"


def what_cannot_be_fails_alone_with_a_sentence(service):
    bad, good = ask_for(service, "a seven", width=30, height=30, steps=5), ask_for(service, "a seven", steps=5, seed=1)
    assert "is 30; expected 28" in ended(service, bad, "failed")["error"], task(service, bad)
    ended(service, good)
    said = strata(service, "generate", "a seven", "--size", "30x30", code=6)
    assert "is 30; expected 28" in said and "failed" in said, said


def a_worker_says_why_it_cannot_work(service):
    service.api("PUT", "/models/none", {"folder": os.path.join(service.dir, "nothing-here")}, 201)
    number = ask_for(service, "a seven", model="none")
    found = wait_until("it is told of", lambda: task(service, number)["error"])
    assert found.startswith("no worker: job ") and "nothing-here" in found, found
    assert found in strata(service, "why", f"T{number}")


def a_cancelled_task_leaves_its_batch_and_the_others_go_on(service):
    first, second = (ask_for(service, "a seven", steps=LONG, seed=seed) for seed in (1, 2))
    is_under_way(service, first)
    assert "is cancelled" in strata(service, "tasks", "cancel", f"T{first}")
    ended(service, first, "cancelled")
    ended(service, second)
    assert picture(service, second) == drawn_at_once("a seven", "--steps", LONG, "--seed", 2)


def saved(service):
    """The latents that are kept: "17.40" is task 17 after 40 steps."""
    return sorted(os.listdir(os.path.join(service.state, "latents")))


def a_worker_that_is_told_to_end_gives_back_and_another_goes_on(service):
    numbers = [ask_for(service, "a seven", steps=LONG, seed=seed) for seed in (1, 2)]
    is_under_way(service, numbers[0])
    end_workers(service, signal.SIGTERM)
    for seed, number in enumerate(numbers, 1):
        found = ended(service, number)
        assert found["attempts"] >= 2, found
        equal(found["steps_done"], LONG)
        assert picture(service, number) == drawn_at_once("a seven", "--steps", LONG, "--seed", seed)


@arguments("--pool-preempt", "--pool-policy", "priority")
def a_task_gives_way_and_goes_on(service):
    service.api("PUT", "/models/digits", {"batch": 1})
    solvers = ("dpmpp_2m", "heun", "Euler a")
    numbers = [ask_for(service, "a seven", steps=LONG, seed=seed, scheduler=solver, priority=1) for seed, solver in enumerate(solvers)]
    for turn in range(6):
        wait_until("something is under way", lambda: any(0 < task(service, number)["steps_done"] < LONG for number in numbers) or turn > 3)
        ended(service, ask_for(service, "an eight", steps=2, seed=turn, priority=9))
    for number, (seed, solver) in zip(numbers, enumerate(solvers)):
        ended(service, number)
        assert picture(service, number) == drawn_at_once("a seven", "--steps", LONG, "--seed", seed, "--solver", solver), solver
    wait_until("nothing is kept of it", lambda: not saved(service))


@arguments("--worker-save", "0")
def a_killed_worker_is_followed_from_the_last_saved_step(service):
    number = ask_for(service, "a seven", steps=LONG, seed=3, scheduler="dpmpp_2m")
    is_under_way(service, number)
    wait_until("something is saved", lambda: saved(service))
    end_workers(service, signal.SIGKILL)
    wait_until("it goes on", lambda: task(service, number)["attempts"] >= 2)
    ended(service, number)
    assert picture(service, number) == drawn_at_once("a seven", "--steps", LONG, "--seed", 3, "--solver", "dpmpp_2m")
    wait_until("nothing is kept of it", lambda: not saved(service))


@arguments("--worker-lease", "2s")
def a_stopped_worker_loses_its_tasks(service):
    service.api("PUT", "/models/digits", {"workers_min": 2, "workers_max": 2})
    number = ask_for(service, "a seven", steps=LONG, seed=3)
    is_under_way(service, number)
    wait_until("there are two workers", lambda: len(workers(service)) == 2)
    stopped = [pid for pid in workers(service)]
    os.kill(stopped[0], signal.SIGSTOP)  # the one that has it, or the other
    ended(service, number)
    os.kill(stopped[0], signal.SIGCONT)
    other = ask_for(service, "a seven", steps=LONG, seed=4)
    ended(service, other)
    for seed, one in ((3, number), (4, other)):
        assert picture(service, one) == drawn_at_once("a seven", "--steps", LONG, "--seed", seed)


def a_killed_worker_loses_nothing(service):
    number = ask_for(service, "a seven", steps=LONG, seed=3)
    is_under_way(service, number)
    end_workers(service, signal.SIGKILL)
    found = ended(service, number)
    assert found["attempts"] >= 2, found
    assert picture(service, number) == drawn_at_once("a seven", "--steps", LONG, "--seed", 3)


def a_worker_goes_on_when_the_service_was_killed(service):
    number, waiting = (ask_for(service, "a seven", steps=LONG, seed=seed) for seed in (4, 5))
    is_under_way(service, number)
    before = workers(service)
    service.kill()
    service.start()
    found = ended(service, number)
    equal(found["error"], None)
    ended(service, waiting)
    equal(workers(service), before)
    assert picture(service, number) == drawn_at_once("a seven", "--steps", LONG, "--seed", 4)
    assert picture(service, waiting) == drawn_at_once("a seven", "--steps", LONG, "--seed", 5)


def nothing_is_lost_when_both_are_killed(service):
    numbers = [ask_for(service, "a seven", steps=LONG, seed=seed) for seed in (6, 7, 8)]
    is_under_way(service, numbers[0])
    service.kill()
    end_workers(service, signal.SIGKILL)
    service.start()
    for seed, number in enumerate(numbers, 6):
        ended(service, number)
        assert picture(service, number) == drawn_at_once("a seven", "--steps", LONG, "--seed", seed)


def a_paused_model_lets_its_tasks_wait(service):
    strata(service, "models", "pause", "digits")
    number = ask_for(service, "a seven", steps=3, seed=1)
    time.sleep(0.5)
    equal(task(service, number)["status"], "pending")
    assert strata(service, "why", f"T{number}"), "it does not say why"
    strata(service, "models", "resume", "digits")
    ended(service, number)
    strata(service, "tasks", "image", f"T{number}", "-o", "late.png")
    with open(os.path.join(service.dir, "late.png"), "rb") as file:
        assert file.read() == drawn_at_once("a seven", "--steps", 3, "--seed", 1)


def it_may_start_from_a_picture(service):
    folder = os.path.join(os.environ.get("STRATA_DATA", "../shared"), "golden/pipelines/tiny-sd")
    if not os.path.isdir(folder):
        raise Skip(f"there is no {folder}")
    start, want = os.path.join(service.dir, "start.png"), os.path.join(service.dir, "want.png")
    with open(start, "wb") as file:
        file.write(png(90, 100, 70))
    shutil.copytree(folder, os.path.join(service.dir, "tiny"))
    tiny = os.path.join(service.dir, "tiny")
    service.api("PUT", "/models/" + os.path.basename(tiny), {"folder": tiny, "steps": 40}, 201)
    subprocess.run([STRATA, "engine", "image", "tiny", "a fox", "--init", start, "--strength", "0.6", "--seed", "3", "--steps", "40", "-o", want,
                    "--experience", "none"], check=True, stderr=subprocess.DEVNULL, timeout=PATIENCE_S, cwd=service.dir)
    strata(service, "generate", "a fox", "--model", "tiny", "--init", start, "--strength", "0.6", "--seed", "3", "-o", "got.png")
    with open(want, "rb") as one, open(os.path.join(service.dir, "got.png"), "rb") as two:
        wanted, got = one.read(), two.read()
    assert wanted == got, "it is another picture"
    for harm in (lambda: end_workers(service, signal.SIGKILL), lambda: (service.kill(), service.start())):
        with open(start, "rb") as file:
            number = ask_for(service, "a fox", model="tiny", init_image=base64.b64encode(file.read()).decode(), strength=0.6, seed=3)
        wait_until("it is under way", lambda number=number: task(service, number)["attempts"] or task(service, number)["ended_at"])
        harm()
        ended(service, number)
        assert picture(service, number) == wanted, "it is another picture after a kill"


def kills_at_random_lose_nothing_and_finish_nothing_twice(service):
    seed = int(os.environ.get("STRATA_SEED", "1"))
    chance, count = random.Random(seed), int(os.environ.get("STRATA_GENERATE_TASKS", "10"))
    wanted, cancelled, faults = {}, set(), 0

    def kill_service():
        service.kill()
        service.start()

    def kill_worker(how):
        for pid in workers(service):
            os.kill(pid, how)

    def cancel():
        number = chance.choice(list(wanted))
        if service.ask("DELETE", f"/api/v1/tasks/{number}")[0] < 300:
            cancelled.add(number)

    harm = [kill_service, lambda: kill_worker(signal.SIGKILL), lambda: kill_worker(signal.SIGTERM), cancel]
    for i in range(count):
        steps = chance.randint(1, 60)
        wanted[ask_for(service, "a four", steps=steps, seed=i)] = (steps, i)
        time.sleep(chance.random() / 4)
        if chance.random() < 0.5:
            chance.choice(harm)()
            faults += 1
    wait_until("all have ended", lambda: all(task(service, number)["status"] in ("finished", "cancelled") for number in wanted))
    for number, (steps, i) in wanted.items():
        found = task(service, number)
        equal(found["status"], "cancelled" if number in cancelled else "finished")
        if found["status"] == "finished":
            equal((found["steps_done"], len(found["images"])), (steps, 1))
            assert picture(service, number) == drawn_at_once("a four", "--steps", steps, "--seed", i), f"task {number} (seed {seed}) is another picture"
    print(f"# {len(wanted)} acknowledged tasks, {faults} faults, {len(cancelled)} cancelled, 0 lost (seed {seed})")


if __name__ == "__main__":
    run(a_prompt_becomes_the_picture_that_the_engine_draws, in_a_batch_at_unlike_steps_each_has_the_bytes_it_has_alone,
        a_draft_has_the_bytes_of_a_draft_beside_one_that_is_exact, several_pictures_have_the_seeds_that_follow, what_cannot_be_fails_alone_with_a_sentence,
        a_worker_says_why_it_cannot_work, a_cancelled_task_leaves_its_batch_and_the_others_go_on,
        a_worker_that_is_told_to_end_gives_back_and_another_goes_on, a_task_gives_way_and_goes_on, a_stopped_worker_loses_its_tasks,
        a_killed_worker_is_followed_from_the_last_saved_step,
        a_killed_worker_loses_nothing, a_worker_goes_on_when_the_service_was_killed, nothing_is_lost_when_both_are_killed,
        a_paused_model_lets_its_tasks_wait, it_may_start_from_a_picture, kills_at_random_lose_nothing_and_finish_nothing_twice)
