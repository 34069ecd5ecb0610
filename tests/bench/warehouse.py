"""The publisher of the benchmarks' made-up warehouses, and their present."""

from __future__ import annotations

from tests.stand_ins.declared import feed
from tests.stand_ins.declared import source as declared
from warehouse.market.market import Metric, Source
from warehouse.market.zones import ZONES

NOW = 1_795_176_000


def source() -> Source:
    """One publisher that carries everything."""
    zones = {metric: [zone.id for zone in ZONES.values() if metric in zone.metrics] for metric in Metric}
    return declared("bench", [feed(f"bench.{m.value}", zones[m], (m,), "5m") for m in Metric])
