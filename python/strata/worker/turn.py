"""A function that is brought forward piece by piece: it runs in a thread of its own, but only between resume() and the next park(). One baton, so nothing in
it happens beside its owner, and any pipeline's own code can be stopped where it calls its model, without being rewritten."""
from __future__ import annotations

import threading
from typing import Any, Callable


class Dropped(BaseException):
    """Unwinds a function whose owner does not want it any more."""


class Turn:
    """
    >>> turn = Turn(lambda turn: [turn.park("a"), turn.park("b")])
    >>> turn.resume(), turn.resume(1), turn.resume(2), turn.ended, turn.value
    ('a', 'b', None, True, [1, 2])
    """

    def __init__(self, function: Callable[[Turn], Any]) -> None:
        self._function = function
        self._go, self._parked = threading.Semaphore(0), threading.Semaphore(0)
        self._sent: Any = None
        self._thrown: BaseException | None = None
        self._what: Any = None
        self._thread: threading.Thread | None = None
        self.ended = False
        self.value: Any = None
        self.error: BaseException | None = None

    def resume(self, value: Any = None, error: BaseException | None = None) -> Any:
        """Lets it go on, with what its park() returns or raises; what it parks with next, None when it has ended."""
        assert not self.ended
        self._sent, self._thrown, self._what = value, error, None
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="turn", daemon=True)
            self._thread.start()
        else:
            self._go.release()
        self._parked.acquire()
        return self._what

    def park(self, what: Any) -> Any:
        """In the function: hands `what` to the owner and waits."""
        self._what = what
        self._parked.release()
        self._go.acquire()
        if self._thrown is not None:
            raise self._thrown
        return self._sent

    def _run(self) -> None:
        try:
            if self._thrown is not None:
                raise self._thrown
            self.value = self._function(self)
        except Dropped:
            pass
        except BaseException as wrong:  # the owner's to look at
            self.error = wrong
        self.ended = True
        self._parked.release()

    def close(self) -> None:
        """Unwinds it, wherever it is."""
        for _ in range(100):  # a function that catches everything is not argued with for ever
            if self.ended or self._thread is None:
                break
            self.resume(error=Dropped())
        self.ended = True
