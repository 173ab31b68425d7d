"""Requests and answers without a way to send them: what a call asks for, when it may be repeated, and which exception an answer is."""
from __future__ import annotations

import errno
import json
import uuid
from dataclasses import dataclass, field
from typing import Any, Callable, Generic, Mapping, TypeVar
from urllib.parse import quote

from ..errors import Error, MalformedError, of_code

T = TypeVar("T")
ANSWER_BYTES_MAX = 1 << 30
TRIES = 4
RETRY_S = 0.2  # before the first repetition, then twice as long each time
TIMEOUT_S = 60.0

_CODES = {
    "conflict": errno.EBUSY, "exists": errno.EEXIST, "forbidden": errno.EACCES, "internal": errno.EIO, "invalid": errno.EINVAL,
    "method": errno.ENOTSUP, "not_found": errno.ENOENT, "quota": errno.EDQUOT, "stale": errno.ESTALE, "too_large": errno.E2BIG,
    "unauthorized": errno.ENOKEY, "unavailable": errno.EAGAIN, "out_of_range": errno.ERANGE, "malformed": errno.EBADMSG, "impossible": errno.EDOM,
    "out_of_memory": errno.ENOMEM, "no_space": errno.ENOSPC,
}
_STATUSES = {
    400: errno.EINVAL, 401: errno.ENOKEY, 403: errno.EACCES, 404: errno.ENOENT, 405: errno.ENOTSUP, 409: errno.EBUSY, 410: errno.ENOENT,
    413: errno.E2BIG, 422: errno.EBADMSG, 429: errno.EDQUOT, 502: errno.EAGAIN, 503: errno.EAGAIN, 507: errno.ENOSPC,
}


@dataclass
class Answer:
    """A status, headers with lower-case names, and the bytes."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        if not self.body:
            return None
        try:
            return json.loads(self.body)
        except ValueError:
            raise MalformedError("the server's answer is not JSON; is it strata?", errno.EBADMSG) from None


@dataclass
class Call(Generic[T]):
    """One request, and how its answer is read."""

    method: str
    path: str
    read: Callable[[Answer], T]
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    timeout_s: float = TIMEOUT_S

    @property
    def repeatable(self) -> bool:
        """Without harm, when the server was busy or the connection broke."""
        return self.method == "GET" or "Idempotency-Key" in self.headers


def call(method: str, path: str, read: Callable[[Answer], T], body: Any = None, *, query: Mapping[str, Any] | None = None,
         key: str | None = None, timeout_s: float = TIMEOUT_S, media: str = "application/json") -> Call[T]:
    """A body that is bytes goes as it is, everything else as JSON."""
    headers = {}
    data = None
    if body is not None:
        data = bytes(body) if isinstance(body, (bytes, bytearray, memoryview)) else json.dumps(body).encode()
        headers["Content-Type"] = media
    if key:
        headers["Idempotency-Key"] = key
    words = [f"{name}={quote(text(value), safe='-._~,:')}" for name, value in (query or {}).items() if value is not None]
    return Call(method, "/api/v1" + path + ("?" + "&".join(words) if words else ""), read, data, headers, timeout_s)


def text(value: Any) -> str:
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, (list, tuple, set, frozenset)):
        return ",".join(map(str, value))
    return str(value)


def segment(value: Any) -> str:
    """A name or number as part of a path."""
    return quote(str(value), safe="-._~")


def new_key() -> str:
    """A key of idempotency that nobody else has."""
    return uuid.uuid4().hex


def error_of(answer: Answer) -> Error:
    """What a status of 400 or more is, with the server's sentence and field."""
    try:
        document = json.loads(answer.body) if answer.body else None
    except ValueError:
        document = None
    about = document.get("error") if isinstance(document, dict) else None
    about = about if isinstance(about, dict) else {}
    leader = about.get("leader") or (document.get("leader") if isinstance(document, dict) else None)
    fallback = errno.EINVAL if 400 <= answer.status < 500 else errno.EIO
    code = _CODES.get(str(about.get("code")), _STATUSES.get(answer.status, fallback))
    message = str(about.get("message") or f"the server answered with status {answer.status}")
    if leader:
        message += f"; the server that leads is {leader}"
    error = of_code(code, message, str(about.get("field") or ""))
    error.status = answer.status  # type: ignore[attr-defined]
    error.leader = leader  # type: ignore[attr-defined]
    return error


def may_repeat(error: Error) -> bool:
    return error.code in (errno.EAGAIN, errno.ECONNRESET)


def no_server(place: str) -> Error:
    return of_code(errno.ECONNREFUSED, f"no server at {place}; start one with `strata serve`")


def not_allowed(place: str) -> Error:
    return of_code(errno.EACCES, f"you may not use the server's socket {place}")


def broken(place: str) -> Error:
    return of_code(errno.ECONNRESET, f"the connection to the server at {place} broke")


def too_late(place: str, seconds: float) -> Error:
    return of_code(errno.ETIMEDOUT, f"the server at {place} did not answer within {seconds:g} s")


def too_large() -> Error:
    return of_code(errno.E2BIG, "the server's answer is too large")
