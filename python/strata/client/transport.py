"""The ways to a server: over its Unix socket, or to a url. Each request has a connection of its own, as the command's have: the other end is on
this machine or behind a tunnel, and nothing is shared between threads."""
from __future__ import annotations

import errno
import http.client
import socket
import ssl
import time
from typing import Iterator, Mapping, TypeVar
from urllib.parse import urlsplit

from ..errors import Error
from . import answers
from .answers import Answer, Call
from .find import Place

T = TypeVar("T")
CHUNK = 1 << 16


class _Local(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float | None) -> None:
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def is_refusal(code: int | None) -> bool:
    return code in (errno.ENOENT, errno.ECONNREFUSED, errno.ENOTSOCK, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ENAMETOOLONG)


def error_of(trouble: BaseException, place: str, timeout_s: float) -> Error:
    """Trouble on the way, in the same words as the command's."""
    if isinstance(trouble, Error):
        return trouble
    if isinstance(trouble, TimeoutError):
        return answers.too_late(place, timeout_s)
    if isinstance(trouble, PermissionError):
        return answers.not_allowed(place)
    if isinstance(trouble, socket.gaierror) or (isinstance(trouble, OSError) and is_refusal(trouble.errno)):
        return answers.no_server(place)
    return answers.broken(place)


class Stream:
    """An answer that is read as it comes."""

    def __init__(self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse, place: str) -> None:
        self._connection, self._response, self._place = connection, response, place

    def __iter__(self) -> Iterator[bytes]:
        try:
            while chunk := self._response.read1(CHUNK):
                yield chunk
        except (OSError, http.client.HTTPException) as trouble:
            raise error_of(trouble, self._place, 0) from trouble
        finally:
            self.close()

    def close(self) -> None:
        self._connection.close()


class Transport:
    """Sends calls. Threads may share it: it has no state."""

    def __init__(self, place: Place) -> None:
        self.place = place

    def _connect(self, timeout: float | None) -> http.client.HTTPConnection:
        if self.place.socket:
            return _Local(self.place.socket, timeout)
        parts = urlsplit(self.place.url or "")
        assert parts.hostname
        if parts.scheme == "https":
            return http.client.HTTPSConnection(parts.hostname, parts.port or 443, timeout=timeout, context=ssl.create_default_context())
        return http.client.HTTPConnection(parts.hostname, parts.port or 80, timeout=timeout)

    def headers(self, more: Mapping[str, str]) -> dict[str, str]:
        token = {"Authorization": f"Bearer {self.place.token}"} if self.place.token else {}
        return {"User-Agent": "strata-python", "Accept": "*/*", "Connection": "close", **token, **more}

    def path(self, path: str) -> str:
        return (urlsplit(self.place.url).path if self.place.url else "") + path

    def _send_once(self, call: Call[T]) -> Answer:
        connection = self._connect(call.timeout_s)
        try:
            try:
                connection.request(call.method, self.path(call.path), call.body, self.headers(call.headers))
            except (BrokenPipeError, ConnectionResetError):
                pass  # it may have answered before the end of the body, as when that is too long
            response = connection.getresponse()
            body = response.read(answers.ANSWER_BYTES_MAX + 1)
            if len(body) > answers.ANSWER_BYTES_MAX:
                raise answers.too_large()
            return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, body)
        except (OSError, http.client.HTTPException) as trouble:
            raise error_of(trouble, self.place.name, call.timeout_s) from trouble
        finally:
            connection.close()

    def send(self, call: Call[T]) -> T:
        """The answer as the call reads it. What may be repeated is, a few times, when the server is busy or the connection breaks."""
        for tried in range(answers.TRIES):
            if tried:
                time.sleep(answers.RETRY_S * 2 ** (tried - 1))
            try:
                answer = self._send_once(call)
                if answer.status >= 400:
                    raise answers.error_of(answer)
                return call.read(answer)
            except Error as error:
                if not call.repeatable or not answers.may_repeat(error) or tried == answers.TRIES - 1:
                    raise
        raise AssertionError("not reached")

    def stream(self, path: str, headers: Mapping[str, str] | None = None, timeout_s: float | None = None) -> Stream:
        """A GET whose answer comes in pieces; timeout_s is the longest silence."""
        connection = self._connect(timeout_s or answers.TIMEOUT_S)
        try:
            connection.request("GET", self.path("/api/v1" + path), None, self.headers(headers or {}))
            response = connection.getresponse()
            if response.status >= 400:
                raise answers.error_of(Answer(response.status, {}, response.read(1 << 20)))
            if connection.sock is not None:
                connection.sock.settimeout(timeout_s)
            elif (raw := getattr(getattr(response.fp, "raw", None), "_sock", None)) is not None:
                raw.settimeout(timeout_s)
            return Stream(connection, response, self.place.name)
        except Error:
            connection.close()
            raise
        except (OSError, http.client.HTTPException) as trouble:
            connection.close()
            raise error_of(trouble, self.place.name, timeout_s or answers.TIMEOUT_S) from trouble
