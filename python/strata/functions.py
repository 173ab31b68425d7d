"""Functions as jobs.

    future = strata.submit(train, config, gpus=2, time_limit="4h")
    for line in future.logs():
        print(line, end="")
    model = future.result()

    scores = [f.result() for f in strata.map(evaluate, folds, gpus=1, parallel=4)]

The call is written to a directory that job and caller both see (`directory`, default ~/.cache/strata/calls: a home that nodes share), the job
leaves its result there, and the future reads it when the service says that the job has ended. An exception comes back as itself, with the traceback of
the job behind it. With cloudpickle installed lambdas, closures and functions of notebooks can be sent; without it those of modules only. A job that is
preempted runs the function again from its beginning.
"""
from __future__ import annotations

import concurrent.futures
import json
import os
import pickle
import shutil
import sys
import tempfile
import threading
import weakref
from typing import Any, Callable, Generic, Iterable, Iterator, Sequence, TextIO, TypeVar

from . import _run_function
from .client import Client, Job, Progress
from .errors import Error

__all__ = ["Future", "JobFailed", "map", "submit"]

T = TypeVar("T")
ITEMS_MAX = 100000  # of one map
LOG_LINES = 20  # of a job that failed, in the exception


class JobFailed(Error):
    """The job ended without a result: cancelled by another, out of memory, killed, over its time."""

    def __init__(self, job: Job, log: str) -> None:
        why = job.reason_text or job.reason or (f"exit status {job.exit_code}" if job.exit_code is not None else "")
        super().__init__(f"job {job.id} is {job.state}" + (f": {why}" if why else "") + (f"\nthe end of its output:\n{log}" if log else ""))
        self.job = job


class RemoteTraceback(Exception):
    """Where in the job it happened."""

    def __str__(self) -> str:
        return "\n" + self.args[0]


class Future(concurrent.futures.Future, Generic[T]):
    """A function that runs as a job. Works with concurrent.futures.wait and as_completed, and with asyncio.wrap_future."""

    def __init__(self, client: Client, job: int, result: str) -> None:
        super().__init__()
        self.client, self.job_id, self._path = client, job, result

    def __repr__(self) -> str:
        return f"<strata.Future of job {self.job_id}, {'done' if self.done() else 'not done'}>"

    @property
    def job(self) -> Job:
        return self.client.job(self.job_id)

    def logs(self, follow: bool = True) -> Iterator[str]:
        """What the function prints, line by line, until it ends."""
        return self.client.logs(self.job_id, follow)

    def cancel(self) -> bool:
        """Cancels the job, also one that runs; False when it has ended."""
        if self.done():
            return self.cancelled()
        try:
            self.client.cancel(self.job_id)
        except Error:
            if self.job.ended:
                return False
            raise
        with self._condition:
            if self._state == concurrent.futures._base.RUNNING:
                self._state = concurrent.futures._base.PENDING
        return super().cancel()

    def result(self, timeout: float | None = None) -> T:
        """What the function returned, or the exception that it raised; TimeoutError when it has not ended in time."""
        try:
            return super().result(timeout)
        except TimeoutError:
            if self.done():
                raise  # the function's own
        raise TimeoutError(f"job {self.job_id} is {self.job.state} after {timeout:g} s")

    def wait(self, timeout: float | None = None, file: TextIO | None = None) -> Future[T]:
        """Shows in a terminal or notebook how the job stands, until it has ended."""
        with Progress(f"job {self.job_id}", file) as bar:
            stages = {"queued": 0, "scheduled": 1, "running": 2}
            while True:
                job = self.job
                bar.show(stages.get(job.state, 3), 3, job.reason_text if job.state == "queued" and job.reason_text else job.state, job.ended)
                if job.ended:
                    break
                if timeout is not None and timeout <= 0:
                    raise TimeoutError(f"job {self.job_id} is {job.state}")
                pause = 0.2 if timeout is None else min(0.2, timeout)
                concurrent.futures.wait([self], pause)
                timeout = None if timeout is None else timeout - pause
        return self

    def _repr_html_(self) -> str:
        return self.job._repr_html_()

    # What the watcher calls once the job has ended.
    def _settle(self, job: Job) -> None:
        try:
            with open(self._path, "rb") as file:
                kind, *rest = pickle.load(file)
        except FileNotFoundError:
            return self._fail(JobFailed(job, _end_of_log(self.client, job)))
        except Exception as wrong:
            wrong.__cause__ = None
            return self._fail(wrong)
        if kind == "value":
            self._finish(rest[0])
        elif kind == "exit":
            self._fail(JobFailed(job, f"the function called exit({rest[0]!r})"))
        else:
            rest[0].__cause__ = RemoteTraceback(rest[1])
            self._fail(rest[0])

    def _finish(self, value: Any) -> None:
        try:
            self.set_result(value)
        except concurrent.futures.InvalidStateError:
            pass  # cancelled meanwhile

    def _fail(self, wrong: BaseException) -> None:
        try:
            self.set_exception(wrong)
        except concurrent.futures.InvalidStateError:
            pass


def _end_of_log(client: Client, job: Job) -> str:
    try:
        return "\n".join(client.output(job.id).splitlines()[-LOG_LINES:])
    except Error:
        return ""


class _Watcher:
    """A thread that asks which jobs have ended and settles their futures. One for each client, while it has futures that are not done."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.lock = threading.Lock()
        self.futures: dict[int, Future[Any]] = {}
        self.wake = threading.Event()
        self.thread: threading.Thread | None = None

    def add(self, futures: Sequence[Future[Any]]) -> None:
        with self.lock:
            self.futures.update({one.job_id: one for one in futures})
            if self.thread is None:
                self.thread = threading.Thread(target=self._run, name="strata-futures", daemon=True)
                self.thread.start()
        self.wake.set()

    def _run(self) -> None:
        pause = 0.02
        while True:
            try:
                changed = self._look()
            except Error:
                changed = False  # the service is away: asked again
            with self.lock:
                self.futures = {job: one for job, one in self.futures.items() if not one.done()}
                if not self.futures:
                    self.thread = None
                    return
            pause = 0.02 if changed else min(1.0, pause * 1.5)
            if self.wake.wait(pause):
                pause = 0.02
                self.wake.clear()

    def _look(self) -> bool:
        """One request for all, however many: those that are in the queue have not ended."""
        with self.lock:
            mine = dict(self.futures)
        if len(mine) <= 4:
            found = {job: self.client.job(job) for job in mine}
        else:
            rows = self.client.queue(limit=ITEMS_MAX, fields="id,state")
            live = {row.id: row.state for row in rows}
            found = {job: self.client.job(job) for job in mine if job not in live or live[job] in ("completed", "failed", "cancelled")}
            for job, state in live.items():
                if state == "running" and job in mine and not mine[job].running():
                    mine[job].set_running_or_notify_cancel()
        changed = False
        for number, job in found.items():
            future = mine[number]
            if job.ended and not future.done():
                changed = True
                future._settle(job)
            elif job.state == "running" and not future.running() and not future.done():
                changed = True
                future.set_running_or_notify_cancel()
        return changed


_default: list[Client] = []


def _client(client: Client | None) -> Client:
    if client is not None:
        return client
    if not _default:
        _default.append(Client())
    return _default[0]


def _watch(client: Client, futures: Sequence[Future[Any]]) -> None:
    watcher = vars(client).setdefault("_watcher", _Watcher(client))
    watcher.add(futures)


def _pickler() -> Any:
    try:
        import cloudpickle
        return cloudpickle
    except ImportError:
        return pickle


def _dump(value: Any, what: str) -> bytes:
    pickler = _pickler()
    try:
        data = pickler.dumps(value)
    except Exception as wrong:
        more = "" if pickler is not pickle else "; with cloudpickle installed more can be (pip install cloudpickle)"
        raise TypeError(f"{what} cannot be sent to a job: {wrong}{more}") from wrong
    if pickler is pickle and b"__main__" in data:
        raise TypeError(f"{what} belongs to the program itself (__main__), which a job cannot import; install cloudpickle, or put it into a module")
    return data


def _directory(directory: str | None) -> str:
    base = directory or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "strata", "calls")
    os.makedirs(base, mode=0o700, exist_ok=True)
    return tempfile.mkdtemp(prefix="call-", dir=os.path.abspath(base))  # 0700: what is pickled runs when it is read


def _prepare(call: Any, items: Sequence[Any] | None, directory: str | None) -> str:
    if not callable(call[0]):
        raise TypeError(f"{call[0]!r} is no function; expected one, and its arguments after it")
    data = _dump(call, f"the function {getattr(call[0], '__name__', call[0])!s}")
    rows = None if items is None else [_dump(item, f"item {index}") for index, item in enumerate(items)]
    where = _directory(directory)
    pickler = "cloudpickle" if _pickler() is not pickle else "pickle"
    path = [os.path.abspath(entry) if entry else os.getcwd() for entry in sys.path]
    about = {"python": list(sys.version_info[:2]), "path": path, "pickler": pickler, "items": None if rows is None else len(rows)}
    for name, content in [("call", data), ("about.json", json.dumps(about).encode()), *((f"item.{i}", row) for i, row in enumerate(rows or []))]:
        with open(os.path.join(where, name), "wb") as file:
            file.write(content)
    return where


def _fields(function: Callable[..., Any], where: str, fields: dict[str, Any]) -> dict[str, Any]:
    name = getattr(function, "__name__", type(function).__name__)
    fields.setdefault("name", "".join(one if one.isalnum() or one in "._-" else "_" for one in name)[:100] or "function")
    if "output" not in fields:
        fields["output"] = os.path.join(where, "output.%a" if "array" in fields else "output")
    return fields


def _remove(where: str) -> None:
    shutil.rmtree(where, ignore_errors=True)


def submit(function: Callable[..., T], /, *args: Any, gpus: float | None = None, client: Client | None = None, directory: str | None = None,
           python: str | None = None, keep: bool = False, job: dict[str, Any] | None = None, time_limit: Any = None, memory: Any = None,
           cpus_per_task: float | None = None, **kwargs: Any) -> Future[T]:
    """Runs function(*args, **kwargs) as a job. `gpus`, `time_limit`, `memory` and `cpus_per_task` are the job's, others go into `job` by the names of
    POST /jobs; every other keyword is the function's. `keep` leaves the call's directory when the future is gone."""
    client = _client(client)
    where = _prepare((function, args, kwargs), None, directory)
    fields = _fields(function, where, {**_resources(gpus, time_limit, memory, cpus_per_task), **(job or {})})
    try:
        number = client.submit([python or sys.executable, os.path.abspath(_run_function.__file__), where], **fields)
    except BaseException:
        _remove(where)
        raise
    future: Future[T] = Future(client, number, os.path.join(where, "result"))
    if not keep:
        weakref.finalize(future, _remove, where).atexit = False
    _watch(client, [future])
    return future


def _resources(gpus: float | None, time_limit: Any, memory: Any, cpus_per_task: float | None) -> dict[str, Any]:
    share = {"gpu_share": gpus} if gpus is not None and 0 < gpus < 1 else {"gpus": int(gpus)} if gpus else {}
    rest = {"time_limit": time_limit, "memory": memory, "cpus_per_task": cpus_per_task}
    return {**share, **{name: value for name, value in rest.items() if value is not None}}


def map(function: Callable[..., T], *iterables: Iterable[Any], gpus: float | None = None, parallel: int | None = None, client: Client | None = None,
        directory: str | None = None, python: str | None = None, keep: bool = False, job: dict[str, Any] | None = None, time_limit: Any = None,
        memory: Any = None, cpus_per_task: float | None = None, **kwargs: Any) -> list[Future[T]]:
    """function(x, y, …) for the items of the iterables, as one array job; a future for each, in their order. At most `parallel` run at a time."""
    client = _client(client)
    items = list(zip(*iterables))
    if not items:
        return []
    if len(items) > ITEMS_MAX:
        raise ValueError(f"map has {len(items)} items; expected at most {ITEMS_MAX}")
    where = _prepare((function, kwargs), items, directory)
    array = f"0-{len(items) - 1}" + (f"%{parallel}" if parallel else "")
    fields = _fields(function, where, {**_resources(gpus, time_limit, memory, cpus_per_task), **(job or {}), "array": array})
    try:
        numbers = client.submit_array([python or sys.executable, os.path.abspath(_run_function.__file__), where], **fields)
    except BaseException:
        _remove(where)
        raise
    futures: list[Future[T]] = [Future(client, number, os.path.join(where, f"result.{index}")) for index, number in enumerate(numbers)]
    if not keep:
        left = [len(futures)]
        lock = threading.Lock()

        def gone() -> None:
            with lock:
                left[0] -= 1
            if left[0] == 0:
                _remove(where)

        for future in futures:
            weakref.finalize(future, gone).atexit = False
    _watch(client, futures)
    return futures
