#!/usr/bin/env python3
"""The Python worker's loop against a real service, with a drawer that the test plays: what is picked, told, saved, given back and lost."""
import threading
import time

import client_env  # noqa: F401
import strata
from fake_worker import FAKE, Worker, generate, png
from service import Service, equal, run_with
from strata.client import Place
from strata.worker import loop
from strata.worker.api import Api
from strata.worker.beat import Beat
from strata.worker.loop import Loop
from strata.worker.turn import Turn


loop.WAIT_MS = 100  # so long the end of an idle one takes


class FakeRun:
    def __init__(self, drawer, task, init, saved):
        self.drawer, self.task, self.init = drawer, task, init
        self.state, self.why, self.cost_ns, self.cap, self.width, self.height = "new", "", 0, 0, 2, 2
        self.steps = int(saved) if saved else 0
        self.began_at = self.steps
        self.closed = False

    def pictures(self):
        return [png(self.task["seed"] % 256)]

    def preview(self):
        return png(1)

    def save(self):
        return str(self.steps).encode()

    def close(self):
        self.closed = True


class FakeDrawer:
    """Draws a task's steps one by one, slowly if told to; a prompt of "bad" is broken."""

    def __init__(self, step_s=0.0):
        self.step_s, self.runs, self.batches, self.gate = step_s, [], [], None

    def begin(self, task, init, saved):
        self.runs.append(FakeRun(self, task, init, saved))
        return self.runs[-1]

    def advance(self, runs, steps, on):
        self.batches.append(len(runs))
        for _ in range(steps):
            if not on():
                return
            time.sleep(self.step_s)
            for run in runs:
                if run.task["parameters"]["prompt"] == "bad":
                    run.state, run.why = "broken", "it is bad"
                elif run.state in ("new", "running"):
                    run.steps, run.state, run.cost_ns = run.steps + 1, "running", run.cost_ns + 1000000
                    if run.steps >= run.task["parameters"]["steps"]:
                        run.state = "drawn"


class Started:
    """A loop in a thread, as the worker that the service has started."""

    def __init__(self, service, step_s=0.0, worker=None):
        self.worker = worker or Worker(service)
        self.drawer, self.said, self.end = FakeDrawer(step_s), [], threading.Event()
        api = Api(strata.Client(place=Place(socket=service.socket, token=self.worker.token)))
        self.beat = Beat(api, 60, self.said.append).start()
        self.loop = Loop(api, self.drawer, self.beat, self.end.is_set, self.said.append)
        self.wrong = None
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        try:
            self.loop.run()
        except Exception as wrong:
            self.wrong = wrong

    def stop(self):
        self.end.set()
        self.thread.join(30)
        self.beat.stop()
        equal((self.thread.is_alive(), self.wrong), (False, None))


def until(what, holds):
    deadline = time.time() + 30
    while not (found := holds()):
        assert time.time() < deadline, f"it is not so: {what}"
        time.sleep(0.01)
    return found


def tasks_are_drawn_together_and_handed_over(service):
    it = strata.Client(service.socket)
    asked = [it.generate(f"a {word}", steps=5, seed=number) for number, word in enumerate(("one", "two", "three"))]
    bad = it.generate("bad", steps=5)
    started = Started(service)
    equal([one.image(timeout=30) for one in asked], [png(number) for number in range(3)])
    equal((bad.wait(30).status, bad.task.error), ("failed", "it is bad"))
    assert max(started.drawer.batches) >= 2, started.drawer.batches
    equal([one.task.steps_done for one in asked], [5, 5, 5])
    started.stop()
    assert all(run.closed for run in started.drawer.runs)


def what_is_given_back_goes_on_where_it_was(service):
    it = strata.Client(service.socket)
    picture = it.generate("a seven", steps=400, seed=9)
    started = Started(service, 0.005)
    until("it is under way", lambda: picture.refresh().task.steps_done > 5)
    until("there is a preview", lambda: picture._repr_png_() == png(1))
    started.stop()
    told = picture.refresh().task
    equal((told.status, told.steps_done > 5), ("pending", True))
    again = Started(service, worker=started.worker)
    equal(picture.image(timeout=30), png(9))
    equal(again.drawer.runs[0].began_at, told.steps_done)
    again.stop()


def a_cancelled_task_is_dropped(service):
    it = strata.Client(service.socket)
    picture = it.generate("a seven", steps=1000)
    started = Started(service, 0.005)
    until("it is under way", lambda: picture.refresh().task.steps_done > 2)
    picture.cancel()
    until("it is dropped", lambda: started.drawer.runs[0].closed)
    second = it.generate("a one", steps=2, seed=4)
    equal(second.image(timeout=30), png(4))
    started.stop()


def a_restart_of_the_service_is_waited_for(service):
    it = strata.Client(service.socket)
    picture = it.generate("a seven", steps=300, seed=8)
    started = Started(service, 0.005)
    until("it is under way", lambda: picture.refresh().task.steps_done > 2)
    service.kill()
    time.sleep(0.3)
    service.start()
    equal(picture.image(timeout=60), png(8))
    equal(len(started.drawer.runs), 1)  # it was kept
    assert not any("lost" in text for text in started.said), started.said
    started.stop()


def a_worker_that_is_not_known_ends(service):
    generate(service)
    worker = Worker(service)
    worker.token = service.api("POST", "/tokens", {}, 201)["token"]
    started = Started(service, worker=worker)
    started.thread.join(30)
    started.beat.stop()
    equal((type(started.wrong).__name__, started.wrong.status), ("RefusedError", 403))


def a_picture_to_begin_from_is_fetched(service):
    picture = strata.Client(service.socket).generate("from", steps=2, init_image=png(3, 64, 64), strength=0.5)
    started = Started(service)
    picture.wait(30)
    equal((picture.status, started.drawer.runs[0].init), ("finished", png(3, 64, 64)))
    started.stop()


def a_heart_that_beats_for_nobody_is_silent(_service):
    beats, clock = [], [0.0]

    class Line:
        def beat(self, tasks, steps):
            beats.append((tasks, steps))
    beat = Beat(Line(), 10, lambda text: None, lambda: clock[0])
    beat.hold([17], [3])
    equal((beat.once(), beats), (True, [([17], [3])]))
    clock[0] = 11
    equal((beat.once(), len(beats)), (False, 1))
    beat.sign()
    equal((beat.once(), len(beats)), (True, 2))


def turns_are_taken(_service):
    turn = Turn(lambda turn: [turn.park("a"), turn.park("b")])
    equal([turn.resume(), turn.resume(1), turn.resume(2), turn.ended, turn.value], ["a", "b", None, True, [1, 2]])
    turn = Turn(lambda turn: [turn.park(1), 1 / 0])
    turn.resume()
    equal((turn.resume(), type(turn.error)), (None, ZeroDivisionError))
    left = []

    def tidy(turn):
        try:
            turn.park("x")
        finally:
            left.append("gone")
    turn = Turn(tidy)
    turn.resume()
    turn.close()
    equal(left, ["gone"])


run_with(lambda test: Service(*FAKE), tasks_are_drawn_together_and_handed_over, what_is_given_back_goes_on_where_it_was, a_cancelled_task_is_dropped,
         a_restart_of_the_service_is_waited_for, a_worker_that_is_not_known_ends, a_picture_to_begin_from_is_fetched,
         a_heart_that_beats_for_nobody_is_silent, turns_are_taken)
