"""The publisher of the benchmarks' made-up warehouses, and their present."""

from __future__ import annotations

from datetime import date

from warehouse.market.market import Feed, Metric, Publication, Source
from warehouse.market.zones import ZONES
from warehouse.rows.schema import Rows

NOW = 1_795_176_000


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
