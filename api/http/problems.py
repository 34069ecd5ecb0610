"""Errors as RFC 9457 problem documents. No Flask here: `api.http.problem_responses` makes answers of them."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from api.http.problem_kinds import KINDS, ProblemKind
from warehouse.errors import BadWindow, CallerError, MetricNotAvailable, StorageError, UnknownZone, Withheld

MEDIA = "application/problem+json"
_LOG = logging.getLogger("emds.api")


@dataclass(frozen=True, slots=True)
class ParameterFault:
    """What is wrong with one parameter, and what it takes."""

    parameter: str
    code: str
    """`unknown`, `repeated`, `invalid`, `out-of-range` or `conflict`."""
    detail: str


class Problem(Exception):
    """Raised by an endpoint instead of an answer."""

    def __init__(
        self,
        kind: str,
        detail: str,
        faults: Iterable[ParameterFault] = (),
        members: Mapping[str, Any] | None = None,
        headers: Iterable[tuple[str, str]] = (),
    ) -> None:
        super().__init__(detail)
        self.kind, self.detail = KINDS[kind], detail
        self.faults, self.members, self.headers = tuple(faults), dict(members or {}), tuple(headers)


def body_of(base_url: str, kind: ProblemKind, detail: str, instance: str, members: Mapping[str, Any]) -> bytes:
    """A problem document's bytes."""
    return orjson.dumps(
        {
            "type": f"{base_url}/problems/{kind.name}",
            "title": kind.title,
            "status": kind.status,
            "detail": detail,
            "instance": instance,
            **members,
        }
    )


def of_error(error: CallerError | StorageError) -> Problem:
    """The one table from the warehouse's failures to problems."""
    match error:
        case UnknownZone():
            return Problem("unknown-zone", str(error))
        case MetricNotAvailable():
            return Problem("metric-not-available", f"{error}.", members={"zones": list(error.zones)})
        case Withheld():
            return Problem("withheld-by-terms", f"{error}.", members={"sources": list(error.sources)})
        case BadWindow():
            return Problem("invalid-parameters", str(error))
        case StorageError():
            _LOG.error("warehouse: %s", error)
            return Problem(
                "warehouse-unavailable", KINDS["warehouse-unavailable"].meaning, headers=[("Retry-After", "10")]
            )
    return Problem("invalid-request", str(error))
