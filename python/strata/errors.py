"""What goes wrong, as exceptions: one class for each kind of error that the C library and the service know, with their sentence.

    >>> import strata
    >>> try:
    ...     strata.solver.Solver("eular", steps=20)
    ... except strata.Error as wrong:
    ...     print(type(wrong).__name__, wrong)
    NotFoundError there is no solver 'eular'; did you mean 'euler'?

Each is also what Python has for it (ValueError, LookupError, MemoryError …), so that callers need not know this module.
"""
from __future__ import annotations

import errno

__all__ = [
    "Error", "InvalidError", "RangeError", "RefusedError", "NotFoundError", "ConflictError", "StaleError", "TooLargeError",
    "MalformedError", "ImpossibleError", "QuotaError", "UnsupportedError", "OutOfMemoryError", "UnavailableError", "DeadlineError", "NoSpaceError", "of_code",
]


class Error(Exception):
    """Something was refused or failed; str() is one sentence about what, which value, and what was expected."""

    code: int
    """The errno code, positive; 0 when there is none."""
    field: str
    """The path of the option at fault ("nodes[2].gpus"); empty when there is none."""

    def __init__(self, text: str, code: int = 0, field: str = "") -> None:
        super().__init__(text)
        self.code = code
        self.field = field


class InvalidError(Error, ValueError):
    """A value does not make sense."""


class RangeError(InvalidError):
    """A value is out of its range."""


class RefusedError(Error, PermissionError):
    """It is not allowed."""


class NotFoundError(Error, LookupError):
    """There is no such thing."""


class ConflictError(Error):
    """It is there already, or busy."""


class StaleError(ConflictError):
    """What was named has changed or is gone."""


class TooLargeError(InvalidError):
    """It is more than is allowed."""


class MalformedError(InvalidError):
    """The bytes are not what they should be."""


class ImpossibleError(InvalidError):
    """No node could give what a job asks for, however empty."""


class QuotaError(Error):
    """The user has as much as is allowed."""


class UnsupportedError(Error, NotImplementedError):
    """There is no way to do this."""


class OutOfMemoryError(Error, MemoryError):
    """There is no memory for it."""


class UnavailableError(Error, ConnectionError):
    """What should answer does not."""


class DeadlineError(Error):
    """It cannot be done in time."""


class NoSpaceError(Error):
    """There is no room for one more."""


_BY_CODE: dict[int, type[Error]] = {
    errno.EINVAL: InvalidError, errno.ENAMETOOLONG: InvalidError, errno.ERANGE: RangeError,
    errno.ENOKEY: RefusedError, errno.EACCES: RefusedError, errno.EPERM: RefusedError, errno.EROFS: RefusedError,
    errno.ENOENT: NotFoundError, errno.ESRCH: NotFoundError,
    errno.EEXIST: ConflictError, errno.EBUSY: ConflictError, errno.ECANCELED: ConflictError, errno.EALREADY: ConflictError,
    errno.ESTALE: StaleError, errno.E2BIG: TooLargeError, errno.EBADMSG: MalformedError, errno.EDOM: ImpossibleError, errno.EDQUOT: QuotaError,
    errno.ENOTSUP: UnsupportedError, errno.ENOMEM: OutOfMemoryError,
    errno.EAGAIN: UnavailableError, errno.ECONNREFUSED: UnavailableError, errno.ECONNRESET: UnavailableError,
    errno.ETIMEDOUT: UnavailableError, errno.ETIME: DeadlineError, errno.ENOSPC: NoSpaceError,
}


def of_code(code: int, text: str, field: str = "") -> Error:
    """The exception for an errno code of either sign.

    >>> of_code(-2, "there is no solver 'x'")
    NotFoundError("there is no solver 'x'")
    """
    return _BY_CODE.get(abs(code), Error)(text, abs(code), field)
