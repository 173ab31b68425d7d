"""The client: one object, any number of threads."""
from __future__ import annotations

import errno
import json
import os
import time
from typing import Any, Iterator, Mapping, Sequence, TypeVar

from ..errors import Error
from . import answers, calls
from .answers import Call
from .find import Place, find
from .picture import Picture
from .rows import Checkpoint, Event, Job, Model, Node, Rows, Task
from .sse import Message, Reader
from .transport import Transport

T = TypeVar("T")
SILENCE_S = 60.0  # of an event stream, which says something every 15 s
BACK_OFF_S_MAX = 5.0


class Client:
    """The service. Without arguments it is the one that the command `strata` finds.

        client = strata.Client()
        job = client.submit(["python", "train.py"], gpus=2, time_limit="4h")
        for line in client.logs(job):
            print(line, end="")
        client.wait(job).exit_code
    """

    def __init__(self, socket: str | os.PathLike[str] | None = None, server: str | None = None, token: str | None = None,
                 place: Place | None = None) -> None:
        self.place = place or find(os.fspath(socket) if socket else None, server, token)
        self._transport = Transport(self.place)

    def __repr__(self) -> str:
        return f"Client({self.place.name!r})"

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_trouble: object) -> None:
        self.close()

    def close(self) -> None:
        """Nothing stays open between calls."""

    def send(self, call: Call[T]) -> T:
        return self._transport.send(call)

    def ask(self, method: str, path: str, body: Any = None, query: Mapping[str, Any] | None = None, key: str | None = None) -> Any:
        """Any route of docs/api.md, below /api/v1: the answer's document."""
        return self.send(calls.ask(method, path, body, query, key))

    # ---- jobs ----

    def submit(self, command: str | Sequence[str] | None = None, *, key: str | None = None, **fields: Any) -> int:
        """Submits a job and gives its number; durable when it returns. A text is for the shell, a list is a program with its arguments.
        Fields are those of POST /jobs (gpus, time_limit, array …); directory and environment are the caller's."""
        return self.submit_array(command, key=key, **fields)[0]

    def submit_array(self, command: str | Sequence[str] | None = None, *, key: str | None = None, **fields: Any) -> list[int]:
        """The same, with the numbers of all elements of an array."""
        return self.send(calls.submit(calls.job_fields(command, fields), key))

    def submit_many(self, jobs: Sequence[Mapping[str, Any]], *, key: str | None = None) -> list[int]:
        """Many jobs, as a whole or not at all."""
        return self.send(calls.submit({"jobs": [calls.job_fields(None, job) for job in jobs]}, key))

    def job(self, job: int | str) -> Job:
        return self.send(calls.get_job(job))

    def jobs(self, **query: Any) -> Rows[Job]:
        """The history, newest first: state, user, account, since, limit, after."""
        return self.send(calls.list_jobs(query))

    def cancel(self, job: int | str, elements: str | None = None) -> None:
        self.send(calls.cancel_job(job, elements))

    def change(self, job: int | str, elements: str | None = None, **fields: Any) -> Job:
        """hold, requeue, suspend, signal, priority, nice, time_limit, begin."""
        return self.send(calls.change_job(job, fields, elements))

    def why(self, job: int | str) -> list[str]:
        """Sentences about why a job waits."""
        return self.send(calls.why_job(job))

    def wait(self, job: int | str, timeout: float | None = None) -> Job:
        """Until the job has ended; TimeoutError when it has not in time."""
        end = None if timeout is None else time.monotonic() + timeout
        pause = 0.02
        while not (found := self.job(job)).ended:
            if end is not None and time.monotonic() >= end:
                raise TimeoutError(f"job {job} is {found.state} after {timeout:g} s")
            time.sleep(pause if end is None else max(0.0, min(pause, end - time.monotonic())))
            pause = min(1.0, pause * 1.5)
        return found

    def output(self, job: int | str, error: bool = False) -> str:
        """What it has written so far."""
        return self.send(calls.output(job, error)).decode("utf-8", "replace")

    def logs(self, job: int | str, follow: bool = True, error: bool = False) -> Iterator[str]:
        """Lines as the job writes them, until it ends; goes on behind what was read when the connection breaks."""
        read, rest, back_off = 0, b"", 0.2
        while True:
            try:
                path = f"/jobs/{answers.segment(job)}/output?from={read}" + ("&follow=1" if follow else "") + ("&error=1" if error else "")
                for chunk in self._transport.stream(path):
                    read, back_off = read + len(chunk), 0.2
                    *lines, rest = (rest + chunk).split(b"\n")
                    for line in lines:
                        yield line.decode("utf-8", "replace") + "\n"
                break
            except Error as error_:
                if not follow or not answers.may_repeat(error_):
                    raise
                time.sleep(back_off)
                back_off = min(BACK_OFF_S_MAX, back_off * 2)
        if rest:
            yield rest.decode("utf-8", "replace")

    def checkpoints(self, job: int | str) -> Rows[Checkpoint]:
        return self.send(calls.checkpoints(job))

    def report_checkpoint(self, job: int | str, path: str, step: int | None = None) -> None:
        self.send(calls.report_checkpoint(job, path, step))

    # ---- queue, nodes, events ----

    def queue(self, **query: Any) -> Rows[Job]:
        """Live jobs, running first: user, state, limit, ended."""
        return self.send(calls.queue(query))

    def nodes(self) -> Rows[Node]:
        return self.send(calls.nodes())

    def events(self, after: int | None = None, last: int | None = None) -> Iterator[Event]:
        """What happens, as it happens, without an end. A connection that breaks is made anew behind the last event, also over a restart of the
        service. `last`: begins with so many that were."""
        if last is not None:
            for event in self.send(calls.event_page({"last": last})):
                after = event.sequence
                yield event
        path = "/events" + (f"?after={after}" if after is not None else "")
        for message in self._messages(path):
            yield Event.of(json.loads(message.data))

    def _messages(self, path: str, last_id: str = "") -> Iterator[Message]:
        back_off = 0.2
        while True:
            try:
                reader = Reader()
                for chunk in self._transport.stream(path, {"Last-Event-ID": last_id} if last_id else {}, SILENCE_S):
                    for message in reader.feed(chunk):
                        last_id, back_off = message.id or last_id, 0.2
                        yield message
                if not path.startswith("/events"):
                    return
            except Error as error:
                if not answers.may_repeat(error) and error.code not in (errno.ETIMEDOUT, errno.ECONNREFUSED):  # late, or away for a moment
                    raise
            time.sleep(back_off)
            back_off = min(BACK_OFF_S_MAX, back_off * 2)

    # ---- pictures ----

    def generate(self, prompt: str, *, wait: float = 0, key: str | None = None, **fields: Any) -> Picture:
        """Asks for a picture; the answer is there at once, the picture when `image()` returns. Fields are those of POST /generate."""
        return Picture(self, self.send(calls.generate(calls.picture_fields(prompt, fields), wait, key)))

    def generate_many(self, requests: Sequence[Mapping[str, Any]], *, key: str | None = None) -> list[Picture]:
        """Several, taken in as a whole or not at all."""
        bodies = [calls.picture_fields(**{"prompt": request["prompt"], "fields": {k: v for k, v in request.items() if k != "prompt"}})
                  for request in requests]
        return [Picture(self, task) for task in self.send(calls.generate_many(bodies, key))]

    def picture(self, task: int | str) -> Picture:
        """One that was asked for before."""
        return Picture(self, self.task(task))

    def task(self, task: int | str) -> Task:
        return self.send(calls.get_task(task))

    def tasks(self, **query: Any) -> Rows[Task]:
        """Newest first: status, user, model, limit, after."""
        return self.send(calls.list_tasks(query))

    def task_events(self, task: int | str) -> Iterator[tuple[str, dict[str, Any]]]:
        """("progress" | "preview" | "end", what) until the task has ended."""
        for message in self._messages(f"/tasks/{answers.segment(task)}/events"):
            yield message.kind, json.loads(message.data)
            if message.kind == "end":
                return

    def cancel_task(self, task: int | str) -> None:
        self.send(calls.cancel_task(task))

    def change_task(self, task: int | str, priority: int) -> Task:
        return self.send(calls.change_task(task, priority))

    def why_task(self, task: int | str) -> dict[str, Any]:
        return self.send(calls.why_task(task))

    def models(self) -> Rows[Model]:
        return self.send(calls.models())

    def model(self, name: str) -> Model:
        return self.send(calls.get_model(name))

    def add_model(self, name: str, folder: str | None = None, **fields: Any) -> Model:
        """Makes or changes a model (operators)."""
        return self.send(calls.put_model(name, {**({"folder": os.path.abspath(folder)} if folder else {}), **fields}))

    def remove_model(self, name: str) -> None:
        self.send(calls.delete_model(name))

    def samplers(self) -> list[dict[str, Any]]:
        return self.send(calls.samplers())
