"""The client for asyncio, on its streams alone: the same calls, with `await`. An HTTP/1.1 answer is read here: a length, pieces, or up to the end."""
from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import os
import ssl
from typing import Any, AsyncIterator, Mapping, Sequence, TypeVar
from urllib.parse import urlsplit

from ..errors import Error, MalformedError
from . import answers, calls
from .answers import Answer, Call
from .find import Place, find
from .picture import AsyncPicture
from .rows import Checkpoint, Event, Job, Model, Node, Rows, Task
from .sse import Message, Reader
from .sync import BACK_OFF_S_MAX, SILENCE_S
from .transport import Transport, error_of

T = TypeVar("T")
LINE_BYTES_MAX = 1 << 16
HEADERS_MAX = 200
CHUNK = 1 << 16


class _Connection:
    """One request and its answer."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.status = 0
        self.headers: dict[str, str] = {}

    async def ask(self, method: str, path: str, host: str, body: bytes | None, headers: Mapping[str, str]) -> None:
        head = {"Host": host, **headers}
        if body is not None:
            head["Content-Length"] = str(len(body))
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in head.items())]
        if any("\r" in line or "\n" in line for line in lines):
            raise ValueError("a header or path has a line break in it")
        self.writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + (body or b""))
        with contextlib.suppress(ConnectionResetError, BrokenPipeError):  # it may have answered before the end of the body
            await self.writer.drain()
        words = (await self._line()).split(" ", 2)
        if len(words) < 2 or not words[0].startswith("HTTP/1.") or not words[1].isdigit():
            raise MalformedError("the server's answer is not HTTP; is it strata?", errno.EBADMSG)
        self.status = int(words[1])
        while line := await self._line():
            name, _, value = line.partition(":")
            self.headers[name.strip().lower()] = value.strip()
            if len(self.headers) > HEADERS_MAX:
                raise MalformedError(f"the server's answer has more than {HEADERS_MAX} headers", errno.EBADMSG)

    async def _line(self) -> str:
        line = await self.reader.readline()
        if not line.endswith(b"\n"):
            raise ConnectionResetError("the answer ends early")
        return line.decode("latin-1").rstrip("\r\n")

    async def pieces(self) -> AsyncIterator[bytes]:
        if self.status == 204 or self.status == 304:
            return
        if "chunked" in self.headers.get("transfer-encoding", "").lower():
            async for piece in self._chunks():
                yield piece
            return
        left = int(self.headers["content-length"]) if self.headers.get("content-length", "").isdigit() else None
        while left is None or left > 0:
            piece = await self.reader.read(CHUNK if left is None else min(CHUNK, left))
            if not piece and left:
                raise ConnectionResetError("the answer ends early")
            if not piece:
                return
            left = None if left is None else left - len(piece)
            yield piece

    async def _chunks(self) -> AsyncIterator[bytes]:
        while True:
            text = (await self._line()).partition(";")[0].strip()
            try:
                left = int(text, 16)
            except ValueError:
                raise MalformedError("the server's answer is not HTTP: a piece has no length", errno.EBADMSG) from None
            if left == 0:
                return
            while left > 0:
                piece = await self.reader.read(min(CHUNK, left))
                if not piece:
                    raise ConnectionResetError("the answer ends early")
                left -= len(piece)
                yield piece
            await self._line()


class AsyncClient:
    """The service, for asyncio. The methods are those of Client.

        async with strata.AsyncClient() as client:
            picture = await client.generate("a fox")
            async for kind, about in picture.events():
                print(picture.progress)
            png = await picture.image()
    """

    def __init__(self, socket: str | os.PathLike[str] | None = None, server: str | None = None, token: str | None = None,
                 place: Place | None = None) -> None:
        self.place = place or find(os.fspath(socket) if socket else None, server, token)
        self._transport = Transport(self.place)  # its headers and paths

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_trouble: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Nothing stays open between calls."""

    @contextlib.asynccontextmanager
    async def _open(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> AsyncIterator[_Connection]:
        if self.place.socket:
            host = "localhost"
            reader, writer = await asyncio.open_unix_connection(self.place.socket, limit=LINE_BYTES_MAX)
        else:
            parts = urlsplit(self.place.url or "")
            host = parts.netloc.rpartition("@")[2]
            secure = ssl.create_default_context() if parts.scheme == "https" else None
            reader, writer = await asyncio.open_connection(parts.hostname, parts.port or (443 if secure else 80), ssl=secure, limit=LINE_BYTES_MAX)
        try:
            connection = _Connection(reader, writer)
            await connection.ask(method, self._transport.path(path), host, body, self._transport.headers(headers))
            yield connection
        finally:
            writer.close()
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _send_once(self, call: Call[T]) -> Answer:
        body = bytearray()
        async with self._open(call.method, call.path, call.body, call.headers) as connection:
            async for piece in connection.pieces():
                body += piece
                if len(body) > answers.ANSWER_BYTES_MAX:
                    raise answers.too_large()
            return Answer(connection.status, connection.headers, bytes(body))

    async def send(self, call: Call[T]) -> T:
        for tried in range(answers.TRIES):
            if tried:
                await asyncio.sleep(answers.RETRY_S * 2 ** (tried - 1))
            try:
                try:
                    answer = await asyncio.wait_for(self._send_once(call), call.timeout_s)
                except Error:
                    raise
                except (OSError, ValueError, asyncio.TimeoutError, asyncio.IncompleteReadError) as trouble:
                    raise error_of(trouble, self.place.name, call.timeout_s) from trouble
                if answer.status >= 400:
                    raise answers.error_of(answer)
                return call.read(answer)
            except Error as error:
                if not call.repeatable or not answers.may_repeat(error) or tried == answers.TRIES - 1:
                    raise
        raise AssertionError("not reached")

    async def _stream(self, path: str, headers: Mapping[str, str] | None = None, silence_s: float | None = None) -> AsyncIterator[bytes]:
        try:
            async with self._open("GET", "/api/v1" + path, None, headers or {}) as connection:
                if connection.status >= 400:
                    body = b"".join([piece async for piece in connection.pieces()])
                    raise answers.error_of(Answer(connection.status, connection.headers, body))
                pieces = connection.pieces().__aiter__()
                while True:
                    try:
                        yield await asyncio.wait_for(pieces.__anext__(), silence_s)
                    except StopAsyncIteration:
                        return
        except Error:
            raise
        except (OSError, ValueError, asyncio.TimeoutError, asyncio.IncompleteReadError) as trouble:
            raise error_of(trouble, self.place.name, silence_s or 0) from trouble

    async def ask(self, method: str, path: str, body: Any = None, query: Mapping[str, Any] | None = None, key: str | None = None) -> Any:
        return await self.send(calls.ask(method, path, body, query, key))

    # ---- jobs ----

    async def submit(self, command: str | Sequence[str] | None = None, *, key: str | None = None, **fields: Any) -> int:
        return (await self.submit_array(command, key=key, **fields))[0]

    async def submit_array(self, command: str | Sequence[str] | None = None, *, key: str | None = None, **fields: Any) -> list[int]:
        return await self.send(calls.submit(calls.job_fields(command, fields), key))

    async def submit_many(self, jobs: Sequence[Mapping[str, Any]], *, key: str | None = None) -> list[int]:
        return await self.send(calls.submit({"jobs": [calls.job_fields(None, job) for job in jobs]}, key))

    async def job(self, job: int | str) -> Job:
        return await self.send(calls.get_job(job))

    async def jobs(self, **query: Any) -> Rows[Job]:
        return await self.send(calls.list_jobs(query))

    async def cancel(self, job: int | str, elements: str | None = None) -> None:
        await self.send(calls.cancel_job(job, elements))

    async def change(self, job: int | str, elements: str | None = None, **fields: Any) -> Job:
        return await self.send(calls.change_job(job, fields, elements))

    async def why(self, job: int | str) -> list[str]:
        return await self.send(calls.why_job(job))

    async def wait(self, job: int | str, timeout: float | None = None) -> Job:
        async def until() -> Job:
            pause = 0.02
            while not (found := await self.job(job)).ended:
                await asyncio.sleep(pause)
                pause = min(1.0, pause * 1.5)
            return found
        try:
            return await asyncio.wait_for(until(), timeout)
        except asyncio.TimeoutError:
            raise TimeoutError(f"job {job} has not ended after {timeout:g} s") from None

    async def output(self, job: int | str, error: bool = False) -> str:
        return (await self.send(calls.output(job, error))).decode("utf-8", "replace")

    async def logs(self, job: int | str, follow: bool = True, error: bool = False) -> AsyncIterator[str]:
        read, rest, back_off = 0, b"", 0.2
        while True:
            try:
                path = f"/jobs/{answers.segment(job)}/output?from={read}" + ("&follow=1" if follow else "") + ("&error=1" if error else "")
                async for chunk in self._stream(path):
                    read, back_off = read + len(chunk), 0.2
                    *lines, rest = (rest + chunk).split(b"\n")
                    for line in lines:
                        yield line.decode("utf-8", "replace") + "\n"
                break
            except Error as error_:
                if not follow or not answers.may_repeat(error_):
                    raise
                await asyncio.sleep(back_off)
                back_off = min(BACK_OFF_S_MAX, back_off * 2)
        if rest:
            yield rest.decode("utf-8", "replace")

    async def checkpoints(self, job: int | str) -> Rows[Checkpoint]:
        return await self.send(calls.checkpoints(job))

    # ---- queue, nodes, events ----

    async def queue(self, **query: Any) -> Rows[Job]:
        return await self.send(calls.queue(query))

    async def nodes(self) -> Rows[Node]:
        return await self.send(calls.nodes())

    async def events(self, after: int | None = None, last: int | None = None) -> AsyncIterator[Event]:
        if last is not None:
            for event in await self.send(calls.event_page({"last": last})):
                after = event.sequence
                yield event
        async for message in self._messages("/events" + (f"?after={after}" if after is not None else "")):
            yield Event.of(json.loads(message.data))

    async def _messages(self, path: str, last_id: str = "") -> AsyncIterator[Message]:
        back_off = 0.2
        while True:
            try:
                reader = Reader()
                async for chunk in self._stream(path, {"Last-Event-ID": last_id} if last_id else {}, SILENCE_S):
                    for message in reader.feed(chunk):
                        last_id, back_off = message.id or last_id, 0.2
                        yield message
                if not path.startswith("/events"):
                    return
            except Error as error:
                if not answers.may_repeat(error) and error.code not in (errno.ETIMEDOUT, errno.ECONNREFUSED):  # late, or away for a moment
                    raise
            await asyncio.sleep(back_off)
            back_off = min(BACK_OFF_S_MAX, back_off * 2)

    # ---- pictures ----

    async def generate(self, prompt: str, *, wait: float = 0, key: str | None = None, **fields: Any) -> AsyncPicture:
        return AsyncPicture(self, await self.send(calls.generate(calls.picture_fields(prompt, fields), wait, key)))

    async def picture(self, task: int | str) -> AsyncPicture:
        return AsyncPicture(self, await self.task(task))

    async def task(self, task: int | str) -> Task:
        return await self.send(calls.get_task(task))

    async def tasks(self, **query: Any) -> Rows[Task]:
        return await self.send(calls.list_tasks(query))

    async def task_events(self, task: int | str) -> AsyncIterator[tuple[str, dict[str, Any]]]:
        async for message in self._messages(f"/tasks/{answers.segment(task)}/events"):
            yield message.kind, json.loads(message.data)
            if message.kind == "end":
                return

    async def cancel_task(self, task: int | str) -> None:
        await self.send(calls.cancel_task(task))

    async def change_task(self, task: int | str, priority: int) -> Task:
        return await self.send(calls.change_task(task, priority))

    async def why_task(self, task: int | str) -> dict[str, Any]:
        return await self.send(calls.why_task(task))

    async def models(self) -> Rows[Model]:
        return await self.send(calls.models())

    async def model(self, name: str) -> Model:
        return await self.send(calls.get_model(name))

    async def samplers(self) -> list[dict[str, Any]]:
        return await self.send(calls.samplers())
