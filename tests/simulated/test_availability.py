"""A simulated day of GB, Australia and continental Europe has exactly the metrics that are published there."""

from __future__ import annotations

from collections import defaultdict
from datetime import date

from assets.sources import source
from warehouse.clock import MarketDay
from warehouse.zones import ZONES


def test_every_metric_of_the_eighteen_zones_is_told(ask):
    published = defaultdict(set)
    for code in ("neso", "elexon", "entsoe", "energy_charts", "aemo"):
        for feed in source(code).feeds:
            rows, _ = ask(feed.id, [MarketDay(date(2026, 11, 18), feed.tz)], "2026-11-19T12:00:00Z")
            for key in rows.readings:
                if key.counterparty is None:
                    published[key.zone].add(key.metric)
    assert published == {zone.id: set(zone.metrics) for zone in ZONES.values() if not zone.id.startswith("US-")}
