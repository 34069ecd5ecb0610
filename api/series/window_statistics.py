"""Compute the statistics of a series over a window or a sample's newest rows, as `?stats=true` returns them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from api.documents.catalogue_reader import Catalogue
from api.series import expensive
from api.series.page import months_of_window, newest
from api.series.query import SeriesRequest, plan_request
from api.series.stored_rows import sources
from warehouse.figures.statistics import Gathered
from warehouse.market.vocabulary import Metric
from warehouse.market.zones import ZONES
from warehouse.rows.versions import RowLabels
from warehouse.series.reader import Reader
from warehouse.series.replaced_files import read_again
from warehouse.series.row_columns import RowColumns

OF_STATISTICS = {"above": None, "below": None}
"""The parameters for statistics only."""


def statistics_of(
    reader: Reader, catalogue: Catalogue, request: SeriesRequest, above: float | None, below: float | None
) -> tuple[dict[str, Any], int]:
    """Return the statistics of a zone's window, or of a sample's newest rows, as a body, and the number of rows.

    Raises StorageError.
    """
    start, (zone,), (stored,) = request.start, request.zones, request.stored
    if request.sample:
        rows, start = newest(reader, catalogue, request)
        found = _gather([rows], request, start, above, below)
    else:
        found = _gather_window(reader, catalogue, request, above, below)
    codes = sources(catalogue, found.labels)
    factors = sorted({label.factors for label in found.labels if label.factors})
    terms = catalogue.terms(zone, stored, frozenset(codes), factors)
    body: dict[str, Any] = {
        "zone": zone,
        "metric": request.metric.value,
        **({"market": "day_ahead"} if request.day_ahead else {}),
        **(ZONES[zone].describe_carbon(stored) if request.metric is Metric.CARBON else {}),
        **({} if request.as_of is None else {"as_of": request.as_of}),
        "start": start,
        "end": request.end,
        "unit": found.unit,
    }
    by_fuel = {fuel: _statistics(series) for fuel, series in sorted(found.by_fuel.items()) if fuel}
    if by_fuel:
        body["fuels"] = {fuel: part for fuel, part in by_fuel.items() if part is not None}
    else:
        body["statistics"] = _statistics(found.by_fuel[""]) if "" in found.by_fuel else None
    body |= {"method": "statistics/1", "docs": "/docs/statistics", "sources": list(codes)}
    body |= {"attribution": terms["attribution"], "license": terms["license"]}
    return body | catalogue.progress_of(zone) | ({"sample": True} if request.sample else {}), found.rows


@dataclass
class _Found:
    """The results for a window: its series by fuel (empty for a series without fuels), labels, unit and rows."""

    by_fuel: dict[str, Gathered]
    labels: set[RowLabels]
    unit: str | None = None
    rows: int = 0


@read_again
def _gather_window(
    reader: Reader, catalogue: Catalogue, request: SeriesRequest, above: float | None, below: float | None
) -> _Found:
    (plan,) = plan_request(reader, catalogue, request)
    with expensive.admitted([plan], reads_all=True):
        return _gather(months_of_window(reader, plan), request, request.start, above, below)


def _gather(
    months: Iterable[RowColumns], request: SeriesRequest, start: int, above: float | None, below: float | None
) -> _Found:
    """Gather rows month by month, so that only their values stay in memory."""
    found = _Found({}, set())
    for rows in months:
        if not len(rows):
            continue
        found.unit = found.unit or rows.labels[0].unit
        found.rows += len(rows)
        found.labels |= rows.labels_in(request.window)
        seconds = rows.seconds()
        fuels = [label.fuel or "" for label in rows.labels]
        for fuel in sorted(set(fuels)):
            own = slice(None) if len(set(fuels)) == 1 else np.array([each == fuel for each in fuels])[rows.label]
            series = found.by_fuel.setdefault(fuel, Gathered(start, request.end, above, below))
            series.add(rows.ts[own], seconds[own], rows.value[own])
    return found


def _statistics(series: Gathered) -> dict[str, Any] | None:
    """Return a series' statistics as JSON, rounded to six decimals; None without a row in the window."""
    result = series.statistics()
    if result is None:
        return None
    members: dict[str, Any] = _rounded({name: value for name, value in asdict(result).items() if value is not None})
    for beyond in (members[name] for name in OF_STATISTICS if name in members):
        beyond["first"] = [{"start": start, "end": end} for start, end in beyond["first"]]
    return members


def _rounded(value: Any) -> Any:
    """Return the value rounded to six decimals, which hides float errors, and never -0.0."""
    if isinstance(value, dict):
        return {name: _rounded(member) for name, member in value.items()}
    return round(value, 6) + 0.0 if isinstance(value, float) else value
