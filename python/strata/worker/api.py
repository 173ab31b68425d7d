"""The protocol of workers, call by call, with the token of the worker's own job."""
from __future__ import annotations

import errno
from typing import Any, Mapping, Sequence

from ..client import Client
from ..client.answers import call
from ..errors import Error

_AWAY = (errno.ECONNREFUSED, errno.ECONNRESET, errno.ETIMEDOUT, errno.EAGAIN)
LATENTS_BYTES_MAX = 64 << 20
PREVIEW_BYTES_MAX = 256 << 10


def is_away(error: Error) -> bool:
    """The service is not there at the moment."""
    return error.code in _AWAY


def is_lost(error: Error) -> bool:
    """It is, and somebody else has the tasks."""
    return error.code in (errno.ESTALE, errno.EBUSY)


def is_shut_out(error: Error) -> bool:
    """It does not know this worker, or not any more."""
    return error.code in (errno.EACCES, errno.EPERM, errno.ENOKEY)


class Api:
    def __init__(self, client: Client) -> None:
        self.client = client

    def _ask(self, method: str, path: str, body: Any = None, query: Mapping[str, Any] | None = None, media: str = "application/json") -> Any:
        return self.client.send(call(method, "/worker" + path, lambda answer: answer.json(), body, query=query, media=media))

    def pick(self, holding: Sequence[int], steps: Sequence[int], wait_ms: int, ask_ns: int) -> dict[str, Any]:
        return self._ask("POST", "/pick", {"free_bytes": -1, "wait_ms": wait_ms, "ask_ns": ask_ns, "holding": list(holding), "holding_steps": list(steps)})

    def done(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self._ask("POST", "/done", {"rows": list(rows)})

    def beat(self, holding: Sequence[int], steps: Sequence[int]) -> None:
        self._ask("POST", "/beat", {"holding": list(holding), "holding_steps": list(steps)})

    def image(self, png: bytes) -> str:
        return self._ask("PUT", "/image", png, media="image/png")["hash"]

    def preview(self, task: int, png: bytes) -> None:
        self._ask("PUT", f"/tasks/{task}/preview", png, media="image/png")

    def save(self, task: int, steps: int, latents: bytes) -> None:
        self._ask("PUT", f"/tasks/{task}/latents", latents, {"steps": steps}, media="application/octet-stream")

    def _fetch(self, path: str) -> bytes:
        return self.client.send(call("GET", "/worker" + path, lambda answer: answer.body))

    def saved(self, task: int) -> bytes:
        return self._fetch(f"/tasks/{task}/latents")

    def init_image(self, task: int) -> bytes:
        return self._fetch(f"/tasks/{task}/init")

    def model(self, name: str) -> dict[str, Any]:
        return dict(self.client.model(name).raw)

    def samplers(self) -> list[dict[str, Any]]:
        return self.client.samplers()
