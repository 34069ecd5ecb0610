"""A made-up warehouse for the HTTP benchmarks: 5-minute prices of one zone, and documents of all zones if wanted."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import numpy as np

from assets.documents.publish import publish
from warehouse.documents import catalogue
from warehouse.market.clock import DAY, HOUR
from warehouse.market.market import Feed, Metric, Publication, Source
from warehouse.market.zones import ZONES
from warehouse.rows.schema import Rows, SeriesKey
from warehouse.series import series
from warehouse.store import layout
from warehouse.store.storage import Folder

NOW = 1_795_176_000
TEN_YEARS = 3652
_STEP = 300


def source() -> Source:
    """One publisher that carries everything."""
    feeds = tuple(
        Feed(
            id=f"bench.{m.value}",
            title=m.value,
            zones=tuple(z.id for z in ZONES.values() if m in z.metrics),
            metrics=(m,),
            rank=1,
            resolution="5m",
            stamps="start",
            tz="UTC",
            since=date(2010, 1, 1),
            publication=Publication(lag_minutes=5),
            requests=lambda days: [],
            parse=lambda body, request: Rows(),
            every_minutes=5,
        )
        for m in Metric
    )
    return Source("bench", "Bench", "https://bench.example", ("bench.example",), 60, "none", "", "Bench", "yes", feeds)


def fill(home: Path, days: int, documents: bool = False) -> None:
    """`days` days of AU-NSW's prices until an hour ahead; with `documents` also figures and documents of every zone."""
    storage, sources = Folder(home), {"bench": source()}
    ranks = catalogue.ranks(sources, (), "live")
    for until in range(NOW + HOUR - days * DAY, NOW + HOUR, 31 * DAY):
        _put(storage, ranks, "AU-NSW", Metric.PRICE, until, min(until + 31 * DAY, NOW + HOUR))
    if documents:
        for zone in ZONES.values():
            for metric in (Metric.PRICE, Metric.DEMAND, Metric.INTERCHANGE):
                if (zone.id, metric) != ("AU-NSW", Metric.PRICE):
                    _put(storage, ranks, zone.id, metric, NOW - 32 * DAY, NOW, 12)
    storage.put(layout.MODE, b"live")
    catalogue.publish(storage, sources, "live", (), ("bench",), NOW)
    if documents:
        publish(storage, NOW)


def _put(
    storage: Folder, ranks: dict[str, int], zone: str, metric: Metric, start: int, end: int, coarser: int = 1
) -> None:
    """Prices that swing with the hour, with two decimals as real ones have."""
    step = _STEP * coarser
    ts = np.arange(start - start % step, end, step)
    values = np.round(70 + 30 * np.sin(ts / 13751) + 9 * np.sin(ts / 997), 2)
    unit = f"{ZONES[zone].currency}/MWh" if metric is Metric.PRICE else "MW"
    rows = Rows()
    rows.extend(SeriesKey(zone, metric.value, unit, "5m" if coarser == 1 else "1h"), ts.tolist(), values.tolist())
    series.fold(storage, f"bench.{metric.value}", rows, {}, ranks, 1, "live")
