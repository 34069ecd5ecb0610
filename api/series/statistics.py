"""Statistics of a series over a window, from stored rows to an answer (docs/statistics.md). No Flask here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from api.documents.catalogue import Catalogue, stored_metric
from api.series import page as pages
from api.series import row_sources
from api.series.paging import RowSlice
from api.series.query import SAMPLE_ROWS, Query
from warehouse.clock import DAY, RESOLUTIONS
from warehouse.reader import Reader, RowColumns
from warehouse.statistics import Beyond, Statistics, statistics

LONGEST = 3653 * DAY
"""Ten years."""
_METHOD = {"method": "statistics/1", "docs": "/docs/statistics"}


@dataclass(frozen=True, slots=True)
class StatisticsAnswer:
    """The body of a series path with `stats=true`, and how many rows it was computed from."""

    body: Mapping[str, Any]
    rows: int


def answer(
    reader: Reader, catalogue: Catalogue, query: Query, above: float | None, below: float | None
) -> StatisticsAnswer:
    """The statistics of a query's window, of a sample's newest rows. Raises what `api.series.page.columns` raises."""
    rows, terms, sources = pages.columns(reader, catalogue, query)
    start = query.start
    if query.sample and len(rows) > SAMPLE_ROWS:
        first = len(rows) - SAMPLE_ROWS
        if rows.ts[first - 1] == rows.ts[first]:  # never part of an instant: a fuel's coverage would be less
            first = int(np.searchsorted(rows.ts, rows.ts[first], side="right"))
        rows = rows.take(slice(first, None))
        start = int(rows.ts[0])
        sources = row_sources.of_slices(catalogue, [RowSlice.of(rows)])
        stored = stored_metric(catalogue, query.zone, query.metric, query.day_ahead)
        terms = catalogue.terms(query.zone, stored, frozenset(sources))
    fuels = sorted({label.fuel for label in rows.labels if label.fuel is not None})
    body: dict[str, Any] = {
        "zone": query.zone,
        "metric": query.metric.value,
        **({"market": "day_ahead"} if query.day_ahead else {}),
        **({} if query.as_of is None else {"as_of": query.as_of}),
        "start": start,
        "end": query.end,
        "unit": rows.labels[0].unit if rows.labels else None,
    }
    if fuels:
        of_fuel = {fuel: _of(_only(rows, fuel), start, query.end, above, below) for fuel in fuels}
        body["fuels"] = {fuel: part for fuel, part in of_fuel.items() if part is not None}
    else:
        body["statistics"] = _of(rows, start, query.end, above, below)
    body |= _METHOD | {"sources": list(sources), "attribution": terms.attribution, "license": terms.license}
    return StatisticsAnswer(body, len(rows))


def _only(rows: RowColumns, fuel: str) -> RowColumns:
    return rows.take(np.array([label.fuel == fuel for label in rows.labels])[rows.label])


def _of(rows: RowColumns, start: int, end: int, above: float | None, below: float | None) -> dict[str, Any] | None:
    """One series' statistics as JSON, rounded to six decimals; None where it has no row in the window."""
    steps = [RESOLUTIONS[label.resolution] for label in rows.labels] or [0]
    seconds = steps[0] if len({*steps}) == 1 else np.array(steps, np.int64)[rows.label]
    result = statistics(rows.ts, seconds, rows.value, start, end, above, below)
    return None if result is None else _stated(result)


def _stated(result: Statistics) -> dict[str, Any]:
    stated: dict[str, Any] = {
        name: _rounded(value) for name, value in asdict(result).items() if name not in ("above", "below")
    }
    for name, beyond in (("above", result.above), ("below", result.below)):
        if beyond is not None:
            stated[name] = _beyond(beyond)
    return stated


def _beyond(beyond: Beyond) -> dict[str, Any]:
    spans = [{"start": start, "end": end} for start, end in beyond.first]
    return {
        "threshold": beyond.threshold,
        "hours": _rounded(beyond.hours),
        "intervals": beyond.intervals,
        "spans": beyond.spans,
        "first": spans,
    }


def _rounded(value: float | int) -> float | int:
    """Six decimals hide float error; never -0.0."""
    return value if isinstance(value, int) else round(value, 6) + 0.0
