"""Server-sent events out of bytes that are cut anywhere. Pure: whoever has a stream feeds it."""
from __future__ import annotations

from dataclasses import dataclass

from ..errors import MalformedError

EVENT_BYTES_MAX = 1 << 24


@dataclass(frozen=True)
class Message:
    """One event: `id` is empty where the stream has none."""

    kind: str
    data: str
    id: str


class Reader:
    """Lines, of which those with data are gathered until an empty one.

    >>> list(Reader().feed(b"id: 7\\nevent: job.ended\\ndata: {}\\n\\n"))
    [Message(kind='job.ended', data='{}', id='7')]
    """

    def __init__(self) -> None:
        self._rest = b""
        self._kind, self._id = "message", ""
        self._data: list[str] = []
        self._bytes = 0

    def feed(self, chunk: bytes) -> list[Message]:
        """The events that are complete with these bytes."""
        found = []
        lines = (self._rest + chunk).split(b"\n")
        self._rest = lines.pop()
        for line in lines:
            self._bytes += len(line)
            message = self._line(line.rstrip(b"\r").decode("utf-8", "replace"))
            if message:
                found.append(message)
        if self._bytes + len(self._rest) > EVENT_BYTES_MAX:
            raise MalformedError(f"an event of the server has more than {EVENT_BYTES_MAX} bytes")
        return found

    def _line(self, line: str) -> Message | None:
        if not line:
            message = Message(self._kind, "\n".join(self._data), self._id) if self._data else None
            self._kind, self._data, self._bytes = "message", [], 0
            return message
        name, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._kind = value
        elif name == "id":
            self._id = value
        elif not name:
            self._bytes = 0  # a comment: it lives
        return None
