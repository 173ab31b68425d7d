"""Which server is meant, and with which token: the same order as the command's (src/client/find.c)."""
from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass
from typing import Mapping
from urllib.parse import urlsplit

from ..errors import InvalidError, RefusedError

SYSTEM_SOCKET = "/run/strata/strata.sock"
SYSTEM_CONFIG = "/etc/strata/strata.ini"
TOKEN_BYTES_MAX = 4096
CONFIG_BYTES_MAX = 1 << 20
SOCKET_BYTES_MAX = 107  # of a path in sockaddr_un, without its end


@dataclass(frozen=True)
class Place:
    """Where a server is: a socket's path, or a url; and the token to show."""

    socket: str | None = None
    url: str | None = None
    token: str | None = None

    @property
    def name(self) -> str:
        return self.socket or self.url or ""


def _read_ini(path: str, must_exist: bool) -> dict[str, str]:
    """`socket` and `server` of a strata.ini: lines above the first section."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(CONFIG_BYTES_MAX)
    except FileNotFoundError:
        if must_exist:
            raise
        return {}
    except PermissionError:
        return {}
    found = {}
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("["):
            break
        name, equals, value = line.partition("=")
        if equals and not line.startswith((";", "#")) and name.strip() in ("socket", "server"):
            found[name.strip()] = value.partition(" ;")[0].strip()
    return found


def _config(env: Mapping[str, str]) -> dict[str, str]:
    if env.get("STRATA_CONFIG"):
        return _read_ini(env["STRATA_CONFIG"], True)
    own = env.get("XDG_CONFIG_HOME") or (env["HOME"] + "/.config" if env.get("HOME") else "")
    return {**_read_ini(SYSTEM_CONFIG, False), **(_read_ini(own + "/strata/strata.ini", False) if own else {})}


def _usual_socket(env: Mapping[str, str]) -> str:
    paths = [SYSTEM_SOCKET]
    if env.get("XDG_RUNTIME_DIR"):
        paths.append(env["XDG_RUNTIME_DIR"] + "/strata/strata.sock")
    if env.get("HOME"):
        paths.append(env["HOME"] + "/.local/state/strata/strata.sock")
    return next((path for path in paths if os.path.exists(path)), paths[-1])


def _read_token(path: str, must_exist: bool) -> str | None:
    """A file with a secret that others can read is no secret: it is refused, so that its owner learns of it."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
                raise RefusedError(f"others can read the token in {path}; `chmod 600 {path}` mends it", errno.EACCES)
            return file.read(TOKEN_BYTES_MAX).splitlines()[0].strip()
    except FileNotFoundError:
        if must_exist:
            raise InvalidError(f"cannot read the token in {path}: there is no such file", errno.ENOENT) from None
        return None
    except IndexError:
        raise InvalidError(f"the file {path} has no token in it", errno.EINVAL) from None


def find_token(env: Mapping[str, str] | None = None) -> str | None:
    """STRATA_TOKEN, or the text of STRATA_TOKEN_FILE or ~/.config/strata/token; None where there is none."""
    env = os.environ if env is None else env
    if env.get("STRATA_TOKEN"):
        return env["STRATA_TOKEN"]
    if env.get("STRATA_TOKEN_FILE"):
        return _read_token(env["STRATA_TOKEN_FILE"], True)
    own = env.get("XDG_CONFIG_HOME") or (env["HOME"] + "/.config" if env.get("HOME") else "")
    return _read_token(own + "/strata/token", False) if own else None


def find(socket: str | None = None, server: str | None = None, token: str | None = None,
         env: Mapping[str, str] | None = None) -> Place:
    """The place that the arguments name, else the variables, the configuration, the usual sockets.

    >>> find(env={"STRATA_SOCKET": "/tmp/s"})
    Place(socket='/tmp/s', url=None, token=None)
    """
    env = os.environ if env is None else env
    named = [(socket, False), (server, True), (env.get("STRATA_SOCKET"), False), (env.get("STRATA_SERVER"), True)]
    if not any(text for text, _ in named):
        config = _config(env)
        named += [(config.get("socket"), False), (config.get("server"), True), (_usual_socket(env), False)]
    text, is_url = next((text, is_url) for text, is_url in named if text)
    assert text is not None
    if not is_url:
        if len(os.fsencode(text)) > SOCKET_BYTES_MAX:
            raise InvalidError(f"the socket's path is {len(os.fsencode(text))} bytes long; expected at most {SOCKET_BYTES_MAX}", errno.EINVAL)
        return Place(socket=text, token=token)
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidError(f"the server's address is '{text[:100]}'; expected http://… or https://…", errno.EINVAL, "server")
    return Place(url=text.rstrip("/"), token=token or find_token(env))
