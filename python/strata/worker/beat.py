"""The heartbeat: a thread that says that the loop goes on, and what it holds. It beats for a loop that goes on, not for a process that is there: when a
call of the model takes longer than the limit it is silent, and another worker gets the tasks."""
from __future__ import annotations

import threading
import time
from typing import Callable, Sequence

from ..errors import Error
from .api import Api

EVERY_S = 5.0  # until a lease is known
BEATS_IN_A_LEASE = 6


class Beat:
    def __init__(self, api: Api, limit_s: float, say: Callable[[str], None], now: Callable[[], float] = time.monotonic) -> None:
        self._api, self._limit_s, self._say, self._now = api, limit_s, say, now
        self._lock = threading.Lock()
        self._end = threading.Event()
        self._every_s, self._signed_at = EVERY_S, now()
        self._held: tuple[list[int], list[int]] = ([], [])
        self._thread: threading.Thread | None = None

    def start(self) -> Beat:
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)
        self._thread.start()
        return self

    def sign(self) -> None:
        """The loop goes on."""
        with self._lock:
            self._signed_at = self._now()

    def hold(self, tasks: Sequence[int], steps: Sequence[int], lease_s: float = 0) -> None:
        self.sign()
        with self._lock:
            self._held = (list(tasks), list(steps))
            if lease_s > 0:
                self._every_s = lease_s / BEATS_IN_A_LEASE

    def once(self) -> bool:
        """False: the loop hangs, and nothing was said."""
        with self._lock:
            hangs, held = self._now() - self._signed_at > self._limit_s, self._held
        if not hangs:
            self._api.beat(*held)
        return not hangs

    def _run(self) -> None:
        hung = False
        while not self._end.wait(self._every_s):
            try:
                alive = self.once()
            except Error:
                continue  # a service that is away, or refuses, is the loop's to deal with
            if not alive and not hung:
                self._say("a call of the model takes too long; the lease is let go")
            hung = not alive

    def stop(self) -> None:
        self._end.set()
        if self._thread:
            self._thread.join()
