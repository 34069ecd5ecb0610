"""Check that nets repaired for a single zone equal those of all zones together."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from datetime import date
from typing import Any

import pytest

from assets.ingest.repair import of_zones
from assets.sources import feeds
from warehouse.market.clock import MarketDay

COMBINED = sorted(name for name, feed in feeds().items() if feed.combine is not None)


@pytest.mark.parametrize("feed_id", COMBINED)
def test_nets_of_one_zone_are_those_of_all_zones_together(feed_id: str, ask: Callable[..., Any]) -> None:
    feed = feeds()[feed_id]
    assert feed.combine is not None
    rows, _ = ask(feed_id, [MarketDay(date(2026, 11, 18), feed.tz)], "2026-11-20T20:20:37Z", combine=False)
    together = feed.combine(deepcopy(rows)).readings
    zones = {key.zone for key in together}
    assert zones
    for zone in zones:
        alone = feed.combine(deepcopy(of_zones(rows, {zone}))).readings
        expected = {key: readings for key, readings in together.items() if key.zone == zone}
        assert {key: readings for key, readings in alone.items() if key.zone == zone} == expected, zone
