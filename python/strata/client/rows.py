"""What the service tells of jobs, nodes, tasks, models and events, as dataclasses. Each keeps the whole answer in `raw`: a newer service may say more."""
from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Generic, Iterator, Mapping, Sequence, TypeVar, get_type_hints

from . import table

R = TypeVar("R", bound="Row")

JOB_ENDS = frozenset({"completed", "failed", "cancelled"})
TASK_ENDS = frozenset({"finished", "failed", "cancelled"})


def when(text: str | None) -> datetime | None:
    """A time of the API; nanoseconds are cut to what datetime has."""
    if not text:
        return None
    head, dot, fraction = text.rstrip("Z").partition(".")
    return datetime.fromisoformat(f"{head}.{(fraction + '000000')[:6]}+00:00" if dot else head + "+00:00")


_TIMES: dict[type, frozenset[str]] = {}


@dataclass
class Row:
    """Base of all; fields that the answer does not have keep their defaults."""

    raw: Mapping[str, Any] = field(repr=False, compare=False, default_factory=dict, kw_only=True)

    @classmethod
    def of(cls: type[R], document: Mapping[str, Any]) -> R:
        if cls not in _TIMES:
            hints = get_type_hints(cls)
            _TIMES[cls] = frozenset(name for name, kind in hints.items() if "datetime" in str(kind))
        known = {one.name for one in dataclasses.fields(cls)} - {"raw"}
        values = {name: value for name, value in document.items() if name in known and value is not None}
        for name in _TIMES[cls] & set(values):
            values[name] = when(values[name])
        return cls(**values, raw=document)

    _columns: ClassVar[tuple[tuple[str, Any], ...]] = ()  # title, attribute's name or function

    def _repr_html_(self) -> str:
        return table.html(type(self)._columns, [self])


@dataclass
class Job(Row):
    id: int = 0
    uuid: str = ""
    name: str = ""
    user: str = ""
    state: str = ""
    reason: str | None = None
    reason_text: str | None = None
    account: str | None = None
    partition: str | None = None
    priority: str = "normal"
    nodes: int = 0
    tasks: int = 1
    cpus: float = 0
    gpus: float = 0
    memory_bytes: int = 0
    command: list[str] = field(default_factory=list)
    working_dir: str | None = None
    output: str | None = None
    error: str | None = None
    submitted_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    expected_start_at: datetime | None = None
    expected_end_at: datetime | None = None
    time_limit_s: float | None = None
    attempt: int = 0
    preempted: int = 0
    exit_code: int | None = None
    exit_signal: int | None = None
    memory_peak_bytes: int | None = None
    array_id: int | None = None
    array_index: int | None = None
    node_names: list[str] = field(default_factory=list)
    gpu_ids: dict[str, list[int]] = field(default_factory=dict)
    position: int | None = None
    comment: str | None = None

    @property
    def ended(self) -> bool:
        return self.ended_at is not None or self.state in JOB_ENDS

    _columns: ClassVar[tuple[tuple[str, Any], ...]] = (("ID", "id"), ("NAME", "name"), ("USER", "user"), ("STATE", "state"), ("GPUS", "gpus"),
                ("NODES", lambda job: ",".join(job.node_names)), ("SINCE", lambda job: table.ago(job.ended_at or job.started_at or job.submitted_at)),
                ("REASON", lambda job: job.reason_text or job.reason or ""))


@dataclass
class Node(Row):
    name: str = ""
    state: str = ""
    reason: str | None = None
    cpus: float = 0
    cpus_free: float = 0
    memory_bytes: int = 0
    memory_free_bytes: int = 0
    gpus: int = 0
    gpus_free: float = 0
    gpu_type: str | None = None
    features: list[str] = field(default_factory=list)
    partitions: list[str] = field(default_factory=list)
    jobs: list[int] = field(default_factory=list)

    _columns: ClassVar[tuple[tuple[str, Any], ...]] = (("NODE", "name"), ("STATE", "state"), ("CPUS FREE", lambda node: f"{node.cpus_free:g}/{node.cpus:g}"),
                ("MEMORY FREE", lambda node: f"{table.size(node.memory_free_bytes)}/{table.size(node.memory_bytes)}"),
                ("GPUS FREE", lambda node: f"{node.gpus_free:g}/{node.gpus:g}"), ("TYPE", lambda node: node.gpu_type or ""),
                ("JOBS", lambda node: len(node.jobs)))


@dataclass
class Task(Row):
    id: int = 0
    user: str = ""
    model: str = ""
    status: str = ""
    priority: int = 5
    steps: int = 0
    steps_done: int = 0
    attempts: int = 0
    created_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    expected_start: datetime | None = None
    deadline: datetime | None = None
    position: int | None = None
    seed: int | None = None
    error: str | None = None
    cost_ns: int = 0
    parameters: dict[str, Any] = field(default_factory=dict)
    images: list[dict[str, Any]] = field(default_factory=list)

    @property
    def ended(self) -> bool:
        return self.status in TASK_ENDS

    _columns: ClassVar[tuple[tuple[str, Any], ...]] = (("TASK", lambda task: f"T{task.id}"), ("MODEL", "model"), ("USER", "user"), ("STATUS", "status"),
                ("STEPS", lambda task: f"{task.steps_done}/{task.steps}"), ("PROMPT", lambda task: task.parameters.get("prompt", "")),
                ("SINCE", lambda task: table.ago(task.ended_at or task.started_at or task.created_at)))


@dataclass
class Model(Row):
    name: str = ""
    folder: str | None = None
    family: str | None = None
    worker: str = "strata"
    backend: str | None = None
    gpus: int = 0
    cpus: float = 0
    batch: int = 0
    workers: int = 0
    workers_min: int = 0
    workers_max: int = 0
    pending: int = 0
    running: int = 0
    default: bool = False
    paused: bool = False
    trouble: str | None = None

    _columns: ClassVar[tuple[tuple[str, Any], ...]] = (("MODEL", "name"), ("WORKER", "worker"), ("WORKERS", lambda model: f"{model.workers} of {model.workers_max}"),
                ("PENDING", "pending"), ("RUNNING", "running"), ("TROUBLE", lambda model: model.trouble or ""))


@dataclass
class Event(Row):
    sequence: int = 0
    kind: str = ""
    at: datetime | None = None
    job: int = 0
    about: dict[str, Any] = field(default_factory=dict)

    _columns: ClassVar[tuple[tuple[str, Any], ...]] = (("#", "sequence"), ("AT", lambda event: event.at.isoformat(" ", "seconds") if event.at else ""), ("KIND", "kind"),
                ("JOB", lambda event: event.job or ""), ("ABOUT", lambda event: ", ".join(f"{k} {v}" for k, v in event.about.items())))


@dataclass
class Checkpoint(Row):
    path: str = ""
    size_bytes: int = 0
    time: datetime | None = None
    step: int | None = None


class Rows(Sequence[R], Generic[R]):
    """A list that shows itself as a table, in a notebook and in a terminal. `next` is where the next page begins, None at the end."""

    def __init__(self, kind: type[R], rows: Sequence[R], next: int | None = None) -> None:
        self.kind, self.rows, self.next = kind, list(rows), next

    @classmethod
    def of(cls, kind: type[R], documents: Sequence[Mapping[str, Any]], next: int | None = None) -> Rows[R]:
        return cls(kind, [kind.of(one) for one in documents], next)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        found = self.rows[index]
        return Rows(self.kind, found) if isinstance(index, slice) else found

    def __iter__(self) -> Iterator[R]:
        return iter(self.rows)

    def __repr__(self) -> str:
        return table.plain(self.kind._columns, self.rows)

    def _repr_html_(self) -> str:
        return table.html(self.kind._columns, self.rows)
