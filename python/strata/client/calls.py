"""The calls of the API (docs/api.md), each made in one place for both clients: what is asked for, and what the answer is."""
from __future__ import annotations

import base64
import os
from typing import Any, Mapping, Sequence

from .answers import Answer, Call, TIMEOUT_S, call, new_key, segment
from .rows import Checkpoint, Event, Job, Model, Node, Row, Rows, Task

WAIT_S_MAX = 600.0  # of one request that waits for a picture


def _document(answer: Answer) -> Any:
    return answer.json()


def _bytes(answer: Answer) -> bytes:
    return answer.body


def _none(_answer: Answer) -> None:
    return None


def _one(kind: type[Row]) -> Any:
    return lambda answer: kind.of(answer.json())


def _list(kind: type[Row], name: str) -> Any:
    def read(answer: Answer) -> Rows[Any]:
        document = answer.json()
        return Rows.of(kind, document[name], document.get("next"))
    return read


def ask(method: str, path: str, body: Any = None, query: Mapping[str, Any] | None = None, key: str | None = None) -> Call[Any]:
    """Any other route, below /api/v1; the answer's document."""
    return call(method, path, _document, body, query=query, key=key)


# ---- jobs ----

def job_fields(command: str | Sequence[str] | None, fields: Mapping[str, Any]) -> dict[str, Any]:
    """A job as the CLI would submit it from here: this directory and this environment where nothing is said."""
    body = {name: value for name, value in fields.items() if value is not None}
    if command is not None:
        body["command"] = ["/bin/sh", "-c", command] if isinstance(command, str) else [os.fspath(word) for word in command]
    body.setdefault("working_dir", os.getcwd())
    if "environment" not in body:
        body["environment"] = {name: value for name, value in os.environ.items() if _is_text(value)}
    return body


def _is_text(value: str) -> bool:
    try:
        value.encode()
        return True
    except UnicodeEncodeError:
        return False


def submit(body: Mapping[str, Any], key: str | None) -> Call[list[int]]:
    return call("POST", "/jobs", lambda answer: list(answer.json()["ids"]), body, key=key or new_key())


def get_job(job: int | str) -> Call[Job]:
    return call("GET", f"/jobs/{segment(job)}", _one(Job))


def list_jobs(query: Mapping[str, Any]) -> Call[Rows[Job]]:
    return call("GET", "/jobs", _list(Job, "jobs"), query=query)


def cancel_job(job: int | str, elements: str | None) -> Call[Any]:
    return call("DELETE", f"/jobs/{segment(job)}", _document, query={"elements": elements})


def change_job(job: int | str, body: Mapping[str, Any], elements: str | None) -> Call[Job]:
    return call("PATCH", f"/jobs/{segment(job)}", _one(Job), body, query={"elements": elements})


def why_job(job: int | str) -> Call[list[str]]:
    return call("GET", f"/jobs/{segment(job)}/why", lambda answer: list(answer.json()["sentences"]))


def output(job: int | str, error: bool) -> Call[bytes]:
    return call("GET", f"/jobs/{segment(job)}/output", _bytes, query={"error": 1 if error else None})


def checkpoints(job: int | str) -> Call[Rows[Checkpoint]]:
    return call("GET", f"/jobs/{segment(job)}/checkpoints", _list(Checkpoint, "checkpoints"))


def report_checkpoint(job: int | str, path: str, step: int | None) -> Call[Any]:
    body = {"path": os.path.abspath(path), **({} if step is None else {"step": step})}
    return call("POST", f"/jobs/{segment(job)}/checkpoints", _document, body)


# ---- queue, nodes, events ----

def queue(query: Mapping[str, Any]) -> Call[Rows[Job]]:
    return call("GET", "/queue", _list(Job, "jobs"), query=query)


def nodes() -> Call[Rows[Node]]:
    return call("GET", "/nodes", _list(Node, "nodes"))


def event_page(query: Mapping[str, Any]) -> Call[Rows[Event]]:
    return call("GET", "/events", _list(Event, "events"), query={"format": "json", **query})


# ---- pictures ----

def picture_fields(prompt: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """`init_image` may be a path, the bytes of a PNG, or a picture of PIL's."""
    body = {"prompt": prompt, **{name: value for name, value in fields.items() if value is not None}}
    if "init_image" in body:
        body["init_image"] = base64.b64encode(_png(body["init_image"])).decode()
    return body


def _png(picture: Any) -> bytes:
    if isinstance(picture, (bytes, bytearray, memoryview)):
        return bytes(picture)
    if isinstance(picture, (str, os.PathLike)):
        with open(picture, "rb") as file:
            return file.read()
    if hasattr(picture, "save"):
        import io
        file = io.BytesIO()
        picture.save(file, format="PNG")
        return file.getvalue()
    raise TypeError(f"init_image is {type(picture).__name__}; expected a path, bytes of a PNG or a picture of PIL's")


def generate(body: Mapping[str, Any], wait_s: float, key: str | None) -> Call[Task]:
    wait_s = min(wait_s, WAIT_S_MAX)
    return call("POST", "/generate", _one(Task), body, key=key or new_key(), query={"wait": f"{wait_s:g}s" if wait_s > 0 else None},
                timeout_s=TIMEOUT_S + wait_s)


def generate_many(bodies: Sequence[Mapping[str, Any]], key: str | None) -> Call[Rows[Task]]:
    return call("POST", "/generate", _list(Task, "tasks"), {"requests": list(bodies)}, key=key or new_key())


def get_task(task: int | str) -> Call[Task]:
    return call("GET", f"/tasks/{segment(task)}", _one(Task))


def list_tasks(query: Mapping[str, Any]) -> Call[Rows[Task]]:
    return call("GET", "/tasks", _list(Task, "tasks"), query=query)


def change_task(task: int | str, priority: int) -> Call[Task]:
    return call("PATCH", f"/tasks/{segment(task)}", _one(Task), {"priority": priority})


def cancel_task(task: int | str) -> Call[Any]:
    return call("DELETE", f"/tasks/{segment(task)}", _document)


def why_task(task: int | str) -> Call[Any]:
    return call("GET", f"/tasks/{segment(task)}/why", _document)


def image(task: int | str, number: int) -> Call[bytes]:
    return call("GET", f"/tasks/{segment(task)}/image/{int(number)}", _bytes)


def preview(task: int | str) -> Call[bytes]:
    return call("GET", f"/tasks/{segment(task)}/preview", _bytes)


def models() -> Call[Rows[Model]]:
    return call("GET", "/models", _list(Model, "models"))


def get_model(name: str) -> Call[Model]:
    return call("GET", f"/models/{segment(name)}", _one(Model))


def put_model(name: str, body: Mapping[str, Any]) -> Call[Model]:
    return call("PUT", f"/models/{segment(name)}", _one(Model), dict(body))


def delete_model(name: str) -> Call[Any]:
    return call("DELETE", f"/models/{segment(name)}", _document)


def samplers() -> Call[list[dict[str, Any]]]:
    return call("GET", "/samplers", lambda answer: list(answer.json()["samplers"]))
