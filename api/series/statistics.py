"""`?stats=true` on a series path: statistics of the window in place of its rows (docs/statistics.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from api.documents.catalogue import Catalogue
from api.http import parameters
from api.http.messages import Request, Response
from api.http.problems import ParameterFault
from api.series.page import whole_window
from api.series.query import DEFAULT_LIMIT, SAMPLE_ROWS, SeriesRequest
from api.series.stored_rows import sources_of_rows
from api.service import Service
from warehouse.figures.statistics import Statistics, statistics
from warehouse.market.clock import DAY, RESOLUTIONS
from warehouse.series.reader import Reader, RowColumns

LONGEST = 3653 * DAY
"""Ten years."""
_OF_ROWS = {
    "limit": DEFAULT_LIMIT,
    "order": "asc",
    "format": "json",
    **dict.fromkeys(("cursor", "interval", "by", "time")),
}
"""Parameters that only rows have, with their defaults, which a client may send."""
_METHOD = {"method": "statistics/1", "docs": "/docs/statistics"}


@dataclass(frozen=True, slots=True)
class StatisticsAnswer:
    """The body of a series path with `stats=true`, and how many rows it was computed from."""

    body: Mapping[str, Any]
    rows: int


def respond(service: Service, request: Request, price: str, asked: SeriesRequest, query: Mapping[str, Any]) -> Response:
    """The response to a request. Raises Problem 400 for parameters that statistics do not take."""
    if words := [word for word, unset in _OF_ROWS.items() if query.get(word) not in (None, unset)]:
        raise parameters.invalid([ParameterFault(word, "conflict", "not with stats=true") for word in words])
    if asked.end - asked.start > LONGEST:
        raise parameters.invalid([ParameterFault("start", "out-of-range", "statistics take at most ten years")])
    with service.enter(request, price) as entry:
        found = answer(service.reader, service.catalogue, asked, query["above"], query["below"])
        body = {**found.body, "sample": True} if asked.sample else found.body
        return entry.json(body, service.catalogue.simulated, found.rows)


def answer(
    reader: Reader, catalogue: Catalogue, request: SeriesRequest, above: float | None, below: float | None
) -> StatisticsAnswer:
    """The statistics of the window of one zone, of a sample's newest rows. Raises StorageError."""
    rows, sources = whole_window(reader, catalogue, request)
    start, (zone,), (stored,) = request.start, request.zones, request.stored
    if request.sample and len(rows) > SAMPLE_ROWS:
        first = len(rows) - SAMPLE_ROWS
        if rows.ts[first - 1] == rows.ts[first]:  # never part of an instant: a fuel's coverage would be less
            first = int(np.searchsorted(rows.ts, rows.ts[first], side="right"))
        rows = rows.take(slice(first, None))
        start = int(rows.ts[0])
        sources = sources_of_rows(catalogue, [rows])
    terms = catalogue.terms(zone, stored, frozenset(sources))
    fuels = sorted({label.fuel for label in rows.labels if label.fuel is not None})
    body: dict[str, Any] = {
        "zone": zone,
        "metric": request.metric.value,
        **({"market": "day_ahead"} if request.day_ahead else {}),
        **({} if request.as_of is None else {"as_of": request.as_of}),
        "start": start,
        "end": request.end,
        "unit": rows.labels[0].unit if rows.labels else None,
    }
    if fuels:
        of_fuel = {fuel: _statistics(_only(rows, fuel), start, request.end, above, below) for fuel in fuels}
        body["fuels"] = {fuel: part for fuel, part in of_fuel.items() if part is not None}
    else:
        body["statistics"] = _statistics(rows, start, request.end, above, below)
    body |= _METHOD | {"sources": list(sources), "attribution": terms.attribution, "license": terms.license}
    return StatisticsAnswer(body, len(rows))


def _only(rows: RowColumns, fuel: str) -> RowColumns:
    return rows.take(np.array([label.fuel == fuel for label in rows.labels])[rows.label])


def _statistics(
    rows: RowColumns, start: int, end: int, above: float | None, below: float | None
) -> dict[str, Any] | None:
    """One series' statistics as JSON, rounded to six decimals; None where it has no row in the window."""
    steps = [RESOLUTIONS[label.resolution] for label in rows.labels] or [0]
    seconds = steps[0] if len({*steps}) == 1 else np.array(steps, np.int64)[rows.label]
    result = statistics(rows.ts, seconds, rows.value, start, end, above, below)
    return None if result is None else _members(result)


def _members(result: Statistics) -> dict[str, Any]:
    named: dict[str, Any] = {
        name: _rounded(value) for name, value in asdict(result).items() if name not in ("above", "below")
    }
    for name, beyond in (("above", result.above), ("below", result.below)):
        if beyond is not None:
            spans = [{"start": start, "end": end} for start, end in beyond.first]
            named[name] = {**asdict(beyond), "hours": _rounded(beyond.hours), "first": spans}
    return named


def _rounded(value: float | int) -> float | int:
    """Six decimals hide float error; never -0.0."""
    return value if isinstance(value, int) else round(value, 6) + 0.0
