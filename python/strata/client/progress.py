"""Progress that is drawn over itself: a line in a terminal, a bar in a notebook, and single lines where neither is possible (a file, a pipe)."""
from __future__ import annotations

import html
import shutil
import sys
import time
from typing import Any, TextIO

EVERY_S = 0.1
PLAIN_EVERY_S = 5.0


def _notebook() -> Any:
    """IPython's display, inside a notebook's kernel."""
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None else None
    if shell is None or type(shell).__name__ != "ZMQInteractiveShell":
        return None
    from IPython.display import display  # type: ignore[import-not-found]
    return display


class Progress:
    """Shows `done` of `total` and a few words. What did not change, or comes too fast, is not drawn again; the end always is.

    >>> with Progress("T17") as bar:  # doctest: +SKIP
    ...     bar.show(3, 20, "denoising")
    """

    def __init__(self, title: str, file: TextIO | None = None, show: bool = True) -> None:
        self.title, self.file, self.on = title, file or sys.stderr, show
        self._display = _notebook() if show and file is None else None
        self._handle: Any = None
        self._last: tuple[Any, ...] = ()
        self._drawn_at = float("-inf")
        self._width = 0

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_trouble: object) -> None:
        self.close()

    def show(self, done: float, total: float, words: str = "", final: bool = False) -> None:
        now = time.monotonic()
        terminal = self._display is None and self.file.isatty()
        every = EVERY_S if terminal or self._display is not None else PLAIN_EVERY_S
        if not self.on or (done, total, words) == self._last or (not final and now - self._drawn_at < every):
            return
        self._last, self._drawn_at = (done, total, words), now
        share = min(1.0, max(0.0, done / total)) if total else 0.0
        if self._display is not None:
            self._draw_html(self._display, share, done, total, words)
        elif terminal:
            self._draw_line(share, done, total, words)
        else:
            self.file.write(f"{self.title}: {done:g}/{total:g} {words}".rstrip() + "\n")
            self.file.flush()

    def _draw_html(self, display: Any, share: float, done: float, total: float, words: str) -> None:
        data = {"text/html": f"<div>{html.escape(self.title)} <progress value='{share:.4f}' max='1'></progress> "
                             f"{done:g}/{total:g} {html.escape(words)}</div>",
                "text/plain": f"{self.title}: {done:g}/{total:g} {words}"}
        if self._handle is None:
            self._handle = display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)

    def _draw_line(self, share: float, done: float, total: float, words: str) -> None:
        columns = shutil.get_terminal_size().columns
        filled = int(20 * share)
        line = f"{self.title} [{'#' * filled}{'.' * (20 - filled)}] {done:g}/{total:g} {words}"[:columns - 1]
        self.file.write("\r" + line.ljust(self._width))
        self.file.flush()
        self._width = len(line)

    def close(self) -> None:
        if self.on and self._display is None and self._width:
            self.file.write("\n")
            self.file.flush()
        self._width = 0
