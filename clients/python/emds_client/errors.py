"""Refusals of the service as exceptions, one class for each thing that a caller can do about it."""

from __future__ import annotations

from typing import Any


class EmdsError(Exception):
    """A call that was refused. `status` is HTTP's, 0 where no answer came; `problem` the service's own members."""

    def __init__(self, status: int, detail: str, problem: dict[str, Any] | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.problem = status, detail, problem or {}


class BadRequest(EmdsError):
    """400, 406: a parameter is wrong; `problem["errors"]` names each."""


class InvalidKey(EmdsError):
    """401: the key is unknown, revoked or not confirmed."""


class PaymentRequired(EmdsError):
    """402: the path wants a key, a payment or `sample=True`."""


class NotFound(EmdsError):
    """404: no such zone, or the zone has not that metric; `problem["zones"]` may name those that have."""


class TooManyCalls(EmdsError):
    """429: the key's day or a limit is used up."""


class Unavailable(EmdsError):
    """5xx, or no answer at all."""


_BY_STATUS: dict[int, type[EmdsError]] = {
    400: BadRequest,
    401: InvalidKey,
    402: PaymentRequired,
    404: NotFound,
    406: BadRequest,
    429: TooManyCalls,
}


def error_of(status: int, problem: dict[str, Any]) -> EmdsError:
    """The exception of an answer."""
    kind = _BY_STATUS.get(status, Unavailable if status >= 500 else EmdsError)
    return kind(status, str(problem.get("detail") or problem.get("error") or f"HTTP {status}"), problem)
