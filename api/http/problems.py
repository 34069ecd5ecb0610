"""Errors as RFC 9457 problem documents. No Flask here: `api.http.problem_responses` makes answers of them."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from api.http.problem_kinds import KINDS, ProblemKind
from warehouse import layout
from warehouse.errors import (
    BadWindow,
    CallerError,
    DamagedFile,
    MetricNotAvailable,
    StorageError,
    UnknownZone,
    Withheld,
)

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
        case DamagedFile():
            _LOG.error("warehouse: %s", error)
            return _damaged(error.key)
        case StorageError():
            _LOG.error("warehouse: %s", error)
            return Problem(
                "warehouse-unavailable", KINDS["warehouse-unavailable"].meaning, headers=[("Retry-After", "10")]
            )
    return Problem("invalid-request", str(error))


def _damaged(key: str) -> Problem:
    """503 that names what cannot be read: a zone's metric and month, or a published document."""
    headers = [("Retry-After", "60")]
    if key.startswith(layout.series_prefix()):
        metric, zone, month, _ = layout.of_series(key)
        detail = (
            f"The {metric} rows of {zone} for {month} cannot be read. Other zones, metrics and months are answered."
        )
        return Problem(
            "damaged-file", detail, members={"zone": zone, "metric": metric, "month": month}, headers=headers
        )
    name = key.removeprefix(layout.published("")).removesuffix(".json")
    detail = f"The document {name} cannot be read; the next publication replaces it. Other documents are answered."
    return Problem("damaged-file", detail, members={"document": name}, headers=headers)
