"""Every zone's current figures at an instant: series read once and ranked, with units and due times.

Which document states what: see `assets.documents.bodies`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from warehouse.bookkeeping import logged
from warehouse.documents import health
from warehouse.documents.health import Carrier
from warehouse.figures.context import Reading, read_at
from warehouse.figures.recent import newest, recent
from warehouse.market.clock import DAY, interval_end
from warehouse.market.metrics import CURRENT, Metric
from warehouse.series.reader import Reader, RowColumns
from warehouse.store.storage import Storage

_READER_BYTES = 8_000_000
_MIX_S = 62 * DAY
"""No older mix is shown."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One metric of one zone. `expected_by`: when a newer value is due, Unix seconds."""

    reading: Reading
    unit: str
    resolution: str
    source: str
    expected_by: int


@dataclass(frozen=True, slots=True)
class Mix:
    """The newest generation mix: value by fuel, all of one interval."""

    ts: int
    unit: str
    resolution: str
    source: str
    fuels: Mapping[str, float]
    expected_by: int


@dataclass(frozen=True, slots=True)
class ZoneFigures:
    """What the documents state of one zone. `missing`: why a metric that the zone publishes has no figure."""

    zone: Mapping[str, Any]
    """The zone as the catalogue describes it."""
    figures: Mapping[str, Figure]
    missing: Mapping[str, str]
    mix: Mix | None
    mix_missing: str
    """Why a zone that publishes a mix has none; else empty."""
    histories: Mapping[str, RowColumns]
    """The rows around the instant by metric, of which the figures are the newest."""
    unreadable: tuple[str, ...] = ()
    """The files that could not be read, a line each: their metrics are missing."""

    @property
    def empty(self) -> bool:
        return not self.figures and self.mix is None

    @property
    def valid_until(self) -> int:
        """The first instant at which one of the figures is superseded or overdue."""
        ends = [f.expected_by for f in self.figures.values()]
        return min(ends if self.mix is None else [*ends, self.mix.expected_by])


def figures(storage: Storage, catalogue: Mapping[str, Any], zones: Collection[str], now: int) -> dict[str, ZoneFigures]:
    """Zone id -> its figures at `now` (Unix seconds). Reads each metric once; what cannot be read costs only that."""
    kept_out = frozenset(feed for feed, member in catalogue["feeds"].items() if member["withheld"])
    reader = Reader(storage, _READER_BYTES)
    reads = {z: _read(reader, catalogue["zones"][z], now, kept_out) for z in zones}
    return {z: _of_zone(catalogue, z, read, now) for z, read in reads.items()}


@dataclass(slots=True)
class _ZoneRows:
    """What was read of one zone: the rows by metric, the rows of its newest mix, and why a metric could not be read."""

    rows: dict[str, RowColumns]
    mix: RowColumns | None
    unreadable: dict[str, str]


def _read(reader: Reader, zone: Mapping[str, Any], now: int, withheld: frozenset[str]) -> _ZoneRows:
    """Reads a zone metric by metric."""
    read = _ZoneRows({}, None, {})
    for metric in CURRENT:
        if metric.value not in zone["metrics"]:
            continue
        with logged(f"{metric.value} of {zone['id']}") as attempt:
            if metric is Metric.GENERATION:
                read.mix = newest(reader, zone["id"], metric, max(0, now - _MIX_S), now, withheld)
            elif (rows := recent(reader, zone["id"], metric, now, withheld)) is not None:
                read.rows[metric.value] = rows
        if attempt.error is not None:
            read.unreadable[metric.value] = attempt.failure
    return read


def _of_zone(catalogue: Mapping[str, Any], zone: str, read: _ZoneRows, now: int) -> ZoneFigures:
    entry = catalogue["zones"][zone]
    named = {
        metric: _figure(rows, reading, _carriers(catalogue, zone, metric))
        for metric, rows in read.rows.items()
        if (reading := read_at(rows, entry["tz"], now)) is not None
    }
    missing = {
        m.value: _missing(entry["metrics"][m], m in read.unreadable)
        for m in CURRENT
        if m in entry["metrics"] and m not in named
    }
    mix = None if read.mix is None else _mix(catalogue, zone, read.mix)
    mix_missing = missing.pop(Metric.GENERATION, "")
    unreadable = tuple(read.unreadable.values())
    histories = {metric: read.rows[metric] for metric in named}
    return ZoneFigures(entry, named, missing, mix, "" if mix else mix_missing, histories, unreadable)


def _figure(rows: RowColumns, reading: Reading, carriers: Collection[Carrier]) -> Figure:
    label = rows.labels[rows.label[reading.row]]
    due = _due(carriers, label.feed, label.resolution, reading.ts)
    expected_by = due if reading.next_ts is None else min(due, reading.next_ts)
    return Figure(reading, label.unit, label.resolution, label.source, expected_by)


def _carriers(catalogue: Mapping[str, Any], zone: str, metric: str) -> list[Carrier]:
    """The feeds of a zone's metric that may be served."""
    return [
        health.carrier(catalogue["feeds"][feed["id"]], catalogue["sources"][feed["source"]]["configured"])
        for feed in catalogue["zones"][zone]["metrics"][metric]["feeds"]
        if not feed["withheld"]
    ]


def _due(carriers: Collection[Carrier], feed: str, resolution: str, ts: int) -> int:
    """When the row after this one is due; never before this one's interval ends. The row's own feed may state another
    resolution in this row than it does today."""
    end = interval_end(ts, resolution)
    due = health.due([replace(c, resolution=resolution) if c.feed == feed else c for c in carriers], end)
    # Where nobody carries the metric any more nothing newer will come.
    return end if due is None else max(end, due.at)


def _missing(entry: Mapping[str, Any], unreadable: bool) -> str:
    """Why a metric that the zone publishes has no figure."""
    if unreadable:
        return "unreadable"
    feeds = entry["feeds"]
    return "withheld_by_terms" if feeds and all(f["withheld"] for f in feeds) else "no_rows"


def _mix(catalogue: Mapping[str, Any], zone: str, rows: RowColumns) -> Mix:
    first, ts = rows.labels[rows.label[0]], int(rows.ts[0])
    return Mix(
        ts,
        first.unit,
        first.resolution,
        first.source,
        {str(rows.labels[code].fuel): float(value) for code, value in zip(rows.label, rows.value, strict=True)},
        _due(_carriers(catalogue, zone, Metric.GENERATION), first.feed, first.resolution, ts),
    )
