"""Define the problems of the service as exceptions, a class for each remedy."""

from __future__ import annotations

from typing import Any


class EmdsError(Exception):
    """A failed call. `status` is that of HTTP, 0 without a response. `problem` contains the fields of the problem."""

    def __init__(self, status: int, detail: str, problem: dict[str, Any] | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.problem = status, detail, problem or {}


class BadRequest(EmdsError):
    """400, 406: a parameter is invalid. `problem["errors"]` names each invalid parameter."""


class InvalidKey(EmdsError):
    """401: the key is unknown, revoked or not confirmed."""


class PaymentRequired(EmdsError):
    """402: the path needs a key, a payment or `sample=True`."""


class NotFound(EmdsError):
    """404: the zone does not exist or does not have the metric. `problem["zones"]` may list zones that do."""


class TooManyCalls(EmdsError):
    """429: the key's daily quota or a rate limit is exceeded."""


class Unavailable(EmdsError):
    """5xx, or no response."""


_BY_STATUS: dict[int, type[EmdsError]] = {
    400: BadRequest,
    401: InvalidKey,
    402: PaymentRequired,
    404: NotFound,
    406: BadRequest,
    429: TooManyCalls,
}


def error_of(status: int, problem: dict[str, Any]) -> EmdsError:
    """Return the exception of a response."""
    kind = _BY_STATUS.get(status, Unavailable if status >= 500 else EmdsError)
    return kind(status, str(problem.get("detail") or problem.get("error") or f"HTTP {status}"), problem)
