"""Every zone's current figures at an instant: series read once, ranked all together, with units and due times.

Which document states what: see `assets.documents.bodies`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from warehouse import health, series
from warehouse.clock import interval_end
from warehouse.context import Reading, readings
from warehouse.health import Carrier
from warehouse.market import Metric
from warehouse.recent import RecentRows, recent
from warehouse.storage import Storage

SCALAR = (Metric.PRICE, Metric.DEMAND, Metric.INTERCHANGE, Metric.CARBON_INTENSITY)
"""The keys of `metrics`, `current`, `context` and `trend_24h`, in the order of the documents."""


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

    @property
    def empty(self) -> bool:
        return not self.figures and self.mix is None

    @property
    def valid_until(self) -> int:
        """The first instant at which one of the figures is superseded or overdue."""
        ends = [f.expected_by for f in self.figures.values()]
        return min(ends if self.mix is None else [*ends, self.mix.expected_by])


def figures(storage: Storage, catalogue: Mapping[str, Any], zones: Collection[str], now: int) -> dict[str, ZoneFigures]:
    """Zone id -> its figures at `now` (Unix seconds). Reads each zone's metric once. Raises StorageError."""
    wanted = [(z, m.value) for z in zones for m in SCALAR if m.value in catalogue["zones"][z]["metrics"]]
    kept_out = frozenset(feed for feed, stated in catalogue["feeds"].items() if stated["withheld"])
    read = {(z, m): recent(storage, z, m, now, catalogue["zones"][z]["tz"], kept_out) for z, m in wanted}
    rows = {pair: r for pair, r in read.items() if r is not None}
    ranked = dict(zip(rows, readings([r.history for r in rows.values()], now), strict=True))
    named = {
        pair: _figure(rows[pair], reading, _carriers(catalogue, *pair))
        for pair, reading in ranked.items()
        if reading is not None
    }
    mixes = {z: _mix(storage, catalogue, z, now, kept_out) for z in zones}
    return {
        z: ZoneFigures(
            catalogue["zones"][z],
            {m: f for (zone, m), f in named.items() if zone == z},
            {
                m: _missing(catalogue["zones"][z]["metrics"][m])
                for zone, m in wanted
                if zone == z and (z, m) not in named
            },
            mixes[z],
            "" if mixes[z] else _mix_missing(catalogue["zones"][z]["metrics"]),
        )
        for z in zones
    }


def _figure(rows: RecentRows, reading: Reading, carriers: Collection[Carrier]) -> Figure:
    unit, resolution, source, feed = (
        rows.text(column, reading.row) for column in ("unit", "resolution", "source", "feed")
    )
    due = _due(carriers, feed, resolution, reading.ts)
    return Figure(reading, unit, resolution, source, due if reading.next_ts is None else min(due, reading.next_ts))


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


def _missing(entry: Mapping[str, Any]) -> str:
    feeds = entry["feeds"]
    return "withheld_by_terms" if feeds and all(f["withheld"] for f in feeds) else "no_rows"


def _mix_missing(metrics: Mapping[str, Any]) -> str:
    return _missing(metrics[Metric.GENERATION]) if Metric.GENERATION in metrics else ""


def _mix(storage: Storage, catalogue: Mapping[str, Any], zone: str, now: int, withheld: Collection[str]) -> Mix | None:
    if Metric.GENERATION not in catalogue["zones"][zone]["metrics"]:
        return None
    newest = series.newest(storage, zone, Metric.GENERATION, now)
    columns = newest.select(["fuel", "value", "ts", "unit", "resolution", "source", "feed"])
    rows = [r for r in columns.to_pylist() if r["feed"] not in withheld]
    if not rows:
        return None
    first = rows[0]
    return Mix(
        first["ts"],
        first["unit"],
        first["resolution"],
        first["source"],
        {r["fuel"]: r["value"] for r in rows},
        _due(_carriers(catalogue, zone, Metric.GENERATION), first["feed"], first["resolution"], first["ts"]),
    )
