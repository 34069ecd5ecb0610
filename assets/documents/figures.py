"""What every zone's metrics say at an instant: series read once, ranked all together, with units and due times.

Which document tells what is `assets.documents.bodies`' business.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from warehouse import health, series
from warehouse.clock import interval_end
from warehouse.context import Reading, readings
from warehouse.market import Metric
from warehouse.recent import RecentRows, recent
from warehouse.storage import Storage

SCALAR = (Metric.PRICE, Metric.DEMAND, Metric.INTERCHANGE, Metric.CARBON_INTENSITY)
"""The keys of `metrics`, `current`, `context` and `trend_24h`, in the order in which documents tell them."""


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
    """All that the documents tell of one zone. `missing`: why a metric that the zone publishes has no figure."""

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
    """Zone id -> what it says at an instant. Reads each zone's metric once."""
    wanted = [(z, m.value) for z in zones for m in SCALAR if m.value in catalogue["zones"][z]["metrics"]]
    kept_out = frozenset(feed for feed, stated in catalogue["feeds"].items() if stated["withheld"])
    found = {(z, m): recent(storage, z, m, now, catalogue["zones"][z]["tz"], kept_out) for z, m in wanted}
    rows = {pair: r for pair, r in found.items() if r is not None}
    told = dict(zip(rows, readings([r.trail for r in rows.values()], now), strict=True))
    named = {
        pair: _figure(rows[pair], reading, _promises(catalogue, *pair))
        for pair, reading in told.items()
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


def _figure(rows: RecentRows, reading: Reading, promises: Collection[Mapping[str, Any]]) -> Figure:
    unit, resolution, source, feed = (
        rows.word(column, reading.row) for column in ("unit", "resolution", "source", "feed")
    )
    due = _due(promises, feed, resolution, reading.ts)
    return Figure(reading, unit, resolution, source, due if reading.next_ts is None else min(due, reading.next_ts))


def _promises(catalogue: Mapping[str, Any], zone: str, metric: str) -> list[Mapping[str, Any]]:
    """The feeds that owe a zone's metric: all that are served, less those that lack credentials beside others that do not."""
    served = [f for f in catalogue["zones"][zone]["metrics"][metric]["feeds"] if not f["withheld"]]
    asked = [f for f in served if catalogue["sources"][f["source"]]["configured"]]
    return [catalogue["feeds"][f["id"]] for f in asked or served]


def _due(promises: Collection[Mapping[str, Any]], feed: str, resolution: str, ts: int) -> int:
    """When the row after this one should be out, by the feed that promises it soonest; never before this one's interval ends.

    A slow feed may have brought this row of a metric that a faster one carries too: its schedule would hide that the other is silent.
    """
    end = interval_end(ts, resolution)
    deadlines = (
        health.expected_by(
            health.publication_of(stated["publication"]),
            stated["tz"],
            resolution if stated["id"] == feed else stated["resolution"],
            end,
        )
        for stated in promises
    )
    # Where nobody carries the metric any more nothing newer will come.
    return max(end, min(deadlines, default=end))


def _missing(entry: Mapping[str, Any]) -> str:
    feeds = entry["feeds"]
    return "withheld_by_terms" if feeds and all(f["withheld"] for f in feeds) else "no_rows"


def _mix_missing(metrics: Mapping[str, Any]) -> str:
    return _missing(metrics[Metric.GENERATION]) if Metric.GENERATION in metrics else ""


def _mix(storage: Storage, catalogue: Mapping[str, Any], zone: str, now: int, withheld: Collection[str]) -> Mix | None:
    if Metric.GENERATION not in catalogue["zones"][zone]["metrics"]:
        return None
    newest = series.newest(storage, zone, Metric.GENERATION, now)
    told = newest.select(["fuel", "value", "ts", "unit", "resolution", "source", "feed"]).to_pylist()
    rows = [r for r in told if r["feed"] not in withheld]
    if not rows:
        return None
    first = rows[0]
    return Mix(
        first["ts"],
        first["unit"],
        first["resolution"],
        first["source"],
        {r["fuel"]: r["value"] for r in rows},
        _due(_promises(catalogue, zone, Metric.GENERATION), first["feed"], first["resolution"], first["ts"]),
    )
