"""A picture that was asked for: how far it is, how it looks so far, and the picture itself."""
from __future__ import annotations

import errno
import io
import time
from typing import TYPE_CHECKING, Any, AsyncIterator, Iterator, TextIO

from ..errors import Error, of_code
from . import calls
from .progress import Progress
from .rows import Task

if TYPE_CHECKING:
    from .aio import AsyncClient
    from .sync import Client


def failure(task: Task) -> Error:
    """Of a task that ended without pictures."""
    if task.status == "cancelled":
        by = task.raw.get("cancelled_by")
        return of_code(errno.ECANCELED, f"task T{task.id} was cancelled" + (f" by {by}" if by else ""))
    return of_code(0, f"task T{task.id} failed: {task.error or 'its worker did not say why'}")


def as_pil(png: bytes) -> Any:
    """A picture of PIL's, which has to be installed (pip install pillow)."""
    from PIL import Image
    picture = Image.open(io.BytesIO(png))
    picture.load()
    return picture


class PictureBase:
    task: Task

    @property
    def id(self) -> int:
        return self.task.id

    @property
    def status(self) -> str:
        return self.task.status

    @property
    def progress(self) -> float:
        """0 to 1, as it was told last."""
        return 1.0 if self.task.status == "finished" else self.task.steps_done / self.task.steps if self.task.steps else 0.0

    @property
    def done(self) -> bool:
        return self.task.ended

    def __repr__(self) -> str:
        return f"<picture T{self.task.id} {self.task.status} {self.task.steps_done}/{self.task.steps}>"


class Picture(PictureBase):
    """What Client.generate gives.

        picture = client.generate("a fox in the snow", steps=20)
        picture.show_progress()
        picture.save("fox.png")
    """

    def __init__(self, client: Client, task: Task) -> None:
        self.client, self.task = client, task

    def refresh(self) -> Picture:
        if not self.task.ended:
            self.task = self.client.task(self.task.id)
        return self

    def events(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """("progress" | "preview" | "end", what); keeps `task` up to date."""
        for kind, about in self.client.task_events(self.task.id):
            if kind in ("progress", "end"):
                self.task = Task.of(about)
            yield kind, about

    def wait(self, timeout: float | None = None) -> Picture:
        """Until it has ended, in whatever way."""
        end = None if timeout is None else time.monotonic() + timeout
        pause = 0.02
        while not self.refresh().task.ended:
            if end is not None and time.monotonic() >= end:
                raise TimeoutError(f"task T{self.id} is {self.status} after {timeout:g} s")
            time.sleep(pause)
            pause = min(0.5, pause * 1.5)
        return self

    def show_progress(self, file: TextIO | None = None) -> Picture:
        """Waits, and shows how far it is: in a terminal or a notebook."""
        with Progress(f"T{self.id}", file) as bar:
            for kind, _about in self.events():
                words = f"{self.task.status} (position {self.task.position})" if self.task.position else self.task.status
                bar.show(self.task.steps_done, self.task.steps, words, kind == "end")
        return self

    def preview(self) -> bytes:
        """The PNG of how it looks so far; NotFoundError when its worker has sent none."""
        return self.client.send(calls.preview(self.id))

    def image(self, number: int = 0, timeout: float | None = None) -> bytes:
        """The PNG, when it is there. Raises what the task failed with."""
        if self.wait(timeout).task.status != "finished":
            raise failure(self.task)
        return self.client.send(calls.image(self.id, number))

    def images(self, timeout: float | None = None) -> list[bytes]:
        self.wait(timeout)
        return [self.image(number) for number in range(max(1, len(self.task.images)))]

    def pil(self, number: int = 0, timeout: float | None = None) -> Any:
        return as_pil(self.image(number, timeout))

    def save(self, path: str, number: int = 0, timeout: float | None = None) -> None:
        png = self.image(number, timeout)
        with open(path, "wb") as file:
            file.write(png)

    def cancel(self) -> None:
        self.client.cancel_task(self.id)

    def why(self) -> dict[str, Any]:
        return self.client.why_task(self.id)

    def _repr_png_(self) -> bytes | None:
        """A notebook shows the picture when it is there, else how it looks so far."""
        try:
            return self.image() if self.refresh().task.status == "finished" else self.preview()
        except Error:
            return None


class AsyncPicture(PictureBase):
    """What AsyncClient.generate gives."""

    def __init__(self, client: AsyncClient, task: Task) -> None:
        self.client, self.task = client, task

    async def refresh(self) -> AsyncPicture:
        if not self.task.ended:
            self.task = await self.client.task(self.task.id)
        return self

    async def events(self) -> AsyncIterator[tuple[str, dict[str, Any]]]:
        async for kind, about in self.client.task_events(self.task.id):
            if kind in ("progress", "end"):
                self.task = Task.of(about)
            yield kind, about

    async def wait(self) -> AsyncPicture:
        async for _event in self.events():
            pass
        return await self.refresh()

    async def preview(self) -> bytes:
        return await self.client.send(calls.preview(self.id))

    async def image(self, number: int = 0) -> bytes:
        if (await self.wait()).task.status != "finished":
            raise failure(self.task)
        return await self.client.send(calls.image(self.id, number))

    async def images(self) -> list[bytes]:
        await self.wait()
        return [await self.image(number) for number in range(max(1, len(self.task.images)))]

    async def pil(self, number: int = 0) -> Any:
        return as_pil(await self.image(number))

    async def cancel(self) -> None:
        await self.client.cancel_task(self.id)
