"""The loop of a worker: pick, forward, hand over, done; as src/worker/worker_loop.c has it. A round holds the lease that the pick gave and ends with one
`done` for all of its tasks. When the service goes away in the middle, the worker keeps what it has drawn and says what it holds when it comes back; a lease
that is lost for any other reason makes it forget everything. What draws is a Drawer: strata.worker.pipeline, or a test's."""
from __future__ import annotations

import time
from typing import Any, Callable, Mapping, Protocol, TypeVar

from ..errors import Error, InvalidError, NotFoundError
from .api import LATENTS_BYTES_MAX, PREVIEW_BYTES_MAX, Api, is_away, is_lost, is_shut_out
from .beat import Beat

T = TypeVar("T")
WAIT_MS = 2000  # that an idle worker lets the service wait; so long it may take to end
REFUSALS_MAX = 16  # of done, one after the other
ROUND_S = 10.0  # a third of the usual lease
ASK_NS_MAX = 1_000_000_000
BACK_OFF_S, BACK_OFF_S_MAX = 0.2, 5.0
IDLE_S = 0.01
ERROR_BYTES_MAX = 4000


class Run(Protocol):
    """One task that is being drawn. `state` is new, running, drawn (its pictures are there) or broken (then `why` says why)."""

    state: str
    why: str
    steps: int  # that are done, in the service's count
    cost_ns: int  # since it was reset
    cap: int  # more like it at once do not pay or do not fit; 0: not known
    width: int
    height: int

    def pictures(self) -> list[bytes]:
        """PNG files, when it is drawn."""
        ...

    def preview(self) -> bytes | None:
        """A PNG of how it looks, when one is due."""
        ...

    def save(self) -> bytes | None:
        """Where it stands, for another worker; None when that cannot be told."""
        ...

    def close(self) -> None: ...


class Drawer(Protocol):
    def begin(self, task: Mapping[str, Any], init_image: bytes | None, saved: bytes | None) -> Run:
        """A run for a task of a pick; what is wrong with the task is the run's `why`."""
        ...

    def advance(self, runs: list[Run], steps: int, on: Callable[[], bool]) -> None:
        """Brings each forward by so many steps, together where they fit; ends early when on() is false."""
        ...


class _Held:
    """A run and what the service was told of it."""

    def __init__(self, task: Mapping[str, Any], run: Run, now: float) -> None:
        self.id: int = task["id"]
        self.run = run
        self.told: int = task.get("steps_done", 0)
        self.hashes: list[str] | None = None
        self.saved_at, self.saved_steps = now, run.steps

    def row(self, limit: int, ending: bool) -> dict[str, Any]:
        run = self.run
        row: dict[str, Any] = {"id": self.id, "kind": "steps", "cost_ns": int(run.cost_ns), "status": "denoising",
                               "steps": max(0, min(run.steps - self.told, limit))}
        if run.cap:
            row["cap"] = run.cap
        if run.state == "broken":
            row.update(kind="failed", steps=0, error=run.why.encode()[:ERROR_BYTES_MAX].decode("utf-8", "ignore"))
        elif self.hashes is not None:
            row.update(kind="finished", images=self.hashes, width=run.width, height=run.height)
        else:
            row["status"] = {"new": "encoding", "drawn": "decoding"}.get(run.state, "denoising")
            if ending:  # who gets it next begins where it was saved
                row.update(kind="back", steps=row["steps"] if self.saved_steps else 0)
        return row


class Loop:
    def __init__(self, api: Api, drawer: Drawer, beat: Beat, ending: Callable[[], bool], say: Callable[[str], None], away_s: float = 600,
                 pause: Callable[[float], None] = time.sleep, now: Callable[[], float] = time.monotonic) -> None:
        self.api, self.drawer, self.beat, self.say, self.away_s, self.pause, self.now = api, drawer, beat, say, away_s, pause, now
        self._told_to_end, self._stop = ending, False
        self.held: list[_Held] = []
        self._away_since: float | None = None
        self._refusals = 0
        self._ask_ns, self._pick_ns = 0, -1
        self._save_s = -1.0

    def ending(self) -> bool:
        return self._stop or self._told_to_end()

    def run(self) -> None:
        try:
            while not (self.ending() and not self.held):
                self._round(self._pick())
        except Error as wrong:
            if not (is_away(wrong) or is_lost(wrong)) or not (self.ending() or self._away_since is not None):
                raise  # else there is nobody to tell
        finally:
            self._forget()

    # ---- a service that is away ----

    def _while_away(self, what: Callable[[], T], lost_too: bool = False) -> T:
        """Asks again while the service is away, a little later each time; not when the worker is to end."""
        back_off = BACK_OFF_S
        while True:
            try:
                found = what()
                return found
            except Error as wrong:
                lost = lost_too and is_lost(wrong) and self._refusals < REFUSALS_MAX
                self._refusals += lost
                if not (is_away(wrong) or lost) or self.ending():
                    raise
                if is_away(wrong) and self._away_since is None:
                    self.say(f"{wrong}; waiting for it")
                    self._away_since = self.now()
                if self._away_since is not None and self.now() - self._away_since > self.away_s:
                    self.say("the service does not come back")
                    raise
            self.beat.sign()  # it waits, it does not hang
            self.pause(back_off)
            back_off = min(BACK_OFF_S_MAX, back_off * 2)

    # ---- pick ----

    def _pick(self) -> dict[str, Any]:
        held, steps = [one.id for one in self.held], [one.run.steps for one in self.held]
        self.beat.hold(held, steps)

        def ask() -> dict[str, Any]:
            wait = not self.held and not self.ending()
            start = time.monotonic_ns()
            answer = self.api.pick(held, steps, WAIT_MS if wait else 0, self._ask_ns)
            self._pick_ns = -1 if wait else time.monotonic_ns() - start
            return answer

        answer = self._while_away(ask, lost_too=True)
        if self._away_since is not None:
            self.say("the service is back")
        self._away_since = None
        self._stop = self._stop or bool(answer.get("stop"))
        return answer

    def _take(self, picked: Mapping[str, Any]) -> None:
        """What it holds and is not picked is dropped, saved before; what is new begins."""
        tasks = {task["id"]: task for task in picked["tasks"]}
        for one in [one for one in self.held if one.id not in tasks]:
            self._save(one)
            self._drop(one)
        if picked.get("save_ms") is not None:
            self._save_s = picked["save_ms"] / 1000
        known = {one.id: one for one in self.held}
        for number, task in tasks.items():
            if number in known:
                known[number].told = task["steps_done"]
            else:
                self.held.append(self._begin(task))
        self.beat.hold(list(tasks), [one.run.steps for one in self.held], (picked.get("lease_ms") or 0) / 1000)

    def _begin(self, task: Mapping[str, Any]) -> _Held:
        init = saved = None
        if task["parameters"].get("init_image"):
            init = self._while_away(lambda: self.api.init_image(task["id"]))
        if task.get("latents"):
            try:
                saved = self.api.saved(task["id"])
            except Error as wrong:
                self.say(f"task {task['id']} begins anew: {wrong}")
        return _Held(task, self.drawer.begin(task, init, saved), self.now())

    def _drop(self, one: _Held) -> None:
        one.run.close()
        self.held.remove(one)

    def _forget(self) -> None:
        for one in list(self.held):
            self._drop(one)

    # ---- what is sent beside ----

    def _save(self, one: _Held) -> None:
        """So that whoever gets it next goes on there. Without it the task only begins anew, so nothing is raised."""
        if self._save_s < 0 or one.run.state != "running" or one.run.steps <= one.saved_steps:
            return
        one.saved_at = self.now()
        latents = one.run.save()
        if latents is None or len(latents) > LATENTS_BYTES_MAX:
            return
        try:
            self.api.save(one.id, one.run.steps, latents)
            one.saved_steps = one.run.steps
        except Error:
            pass

    def _show(self, one: _Held) -> None:
        png = one.run.preview() if one.run.state == "running" else None
        if png is None or len(png) > PREVIEW_BYTES_MAX:
            return
        try:
            self.api.preview(one.id, png)
        except Error:
            pass

    def _hand_over(self, one: _Held) -> None:
        """Pictures are on the service's disk before `done` names them."""
        hashes = []
        try:
            for png in one.run.pictures():
                hashes.append(self._while_away(lambda png=png: self.api.image(png)))
            one.hashes = hashes
        except Error as wrong:
            if is_shut_out(wrong) or is_away(wrong):
                raise
            one.run.state, one.run.why = "broken", str(wrong)

    # ---- a round ----

    def _round(self, picked: Mapping[str, Any]) -> None:
        try:
            self._take(picked)
        except Error as wrong:
            return self._refused(wrong)
        if not picked["tasks"]:
            if not self.ending():  # who is told at once that there is nothing need not ask at once again
                self.pause(IDLE_S)
            return
        until = self.now() + ROUND_S

        def on() -> bool:
            self.beat.sign()
            return self.now() < until and not self.ending()

        if not self.ending():
            self.drawer.advance([one.run for one in self.held], picked["steps"], on)
        for one in self.held:
            if one.run.state == "drawn" and one.hashes is None:
                self._hand_over(one)
            elif self.ending() or (self._save_s >= 0 and self.now() - one.saved_at >= self._save_s):
                self._save(one)
            self._show(one)
        rows = [one.row(picked["steps"], self.ending()) for one in self.held]
        try:
            self._tell(rows)
        except Error as wrong:
            self._refused(wrong)

    def _tell(self, rows: list[dict[str, Any]]) -> None:
        def ask() -> int:
            start = time.monotonic_ns()
            self.api.done(rows)
            return time.monotonic_ns() - start

        took = self._while_away(ask)
        if self._pick_ns >= 0:  # a pick that waited says nothing of what asking costs
            both = min(ASK_NS_MAX, took + self._pick_ns)
            self._ask_ns += (both - self._ask_ns) // 8 if self._ask_ns else both
        self._refusals = 0
        kinds = {row["id"]: row for row in rows}
        for one in list(self.held):
            one.run.cost_ns = 0
            row = kinds[one.id]
            if row["kind"] == "failed":
                self.say(f"task {one.id} failed: {row['error']}")
            if row["kind"] != "steps":
                self._drop(one)

    def _refused(self, wrong: Error) -> None:
        """The service did not take what it was told. After it was away it may know of nothing: what is held is said with the next pick."""
        if not (is_lost(wrong) or isinstance(wrong, (InvalidError, NotFoundError))):
            raise wrong
        self._refusals += 1
        if self._refusals > REFUSALS_MAX:
            raise wrong
        if self._away_since is not None and is_lost(wrong):
            return
        self.say(f"the lease is lost: {wrong}")
        self._forget()
