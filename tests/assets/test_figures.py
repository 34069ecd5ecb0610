"""When a figure's next value is due: by the soonest of the feeds that carry the metric, whichever brought the last."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pytest

from assets.documents.publish import publish
from warehouse.documents import catalogue
from warehouse.market.market import Metric, Publication
from warehouse.store import artefact

HOUR = 3600
NOW = 1_795_176_000  # 2026-11-20T12:00:00Z
START = NOW - 720 * HOUR
SETTLED = Publication(daily_at=dt.time(0, 15), day_offset=1, grace_minutes=18 * 60)
"""Everything of a day, out on the day after."""


def with_slow_feed(world, zone, metric):
    """A better ranked feed of the same metric whose rows come a day later."""
    fast = next(f for f in world.source.feeds if zone in f.zones and metric in f.metrics)
    slow = replace(fast, id="toy.settled", zones=(zone,), publication=SETTLED)
    world.source = replace(world.source, feeds=(slow, *(replace(f, rank=2) for f in world.source.feeds)))
    world.catalogue()


def test_the_soonest_feed_of_a_metric_owes_its_next_value_whichever_brought_the_last(world):
    with_slow_feed(world, "AU-SA", Metric.PRICE)
    world.fold("AU-SA", "price", START, [40 + i % 24 for i in range(721)], feed="toy.settled")
    publish(world.storage, NOW + 60)
    assert (
        artefact.load(world.storage, "latest/AU-SA.json")["metrics"]["price"]["expected_by"] == NOW + 2 * HOUR + 30 * 60
    )
    publish(world.storage, NOW + 20 * HOUR)
    brief = artefact.load(world.storage, "brief/AU-SA.json")
    assert brief["valid_until"] == NOW + 2 * HOUR + 30 * 60
    assert "Power cost A$40.00 a megawatt-hour" in brief["summary"]
    assert "A newer value was due by" in brief["summary"]


def test_the_soonest_feed_owes_the_next_mix_too(world):
    with_slow_feed(world, "US-CAISO", Metric.GENERATION)
    world.fold("US-CAISO", "generation", NOW, [30], "30m", feed="toy.settled", fuel="gas")
    publish(world.storage, NOW + 60)
    assert (
        artefact.load(world.storage, "latest/US-CAISO.json")["generation_mix"]["expected_by"]
        == NOW + 2 * 1800 + 30 * 60
    )


@pytest.mark.parametrize(("withheld", "configured"), [(True, ("toy", "slow")), (False, ("slow",))])
def test_a_feed_that_is_withheld_or_lacks_credentials_promises_nothing(world, withheld, configured):
    """Hourly rows of a slow publisher are not overdue because a fast one, which may not be shown, has newer ones."""
    steady = replace(
        next(f for f in world.source.feeds if f.id == "toy.demand"), id="slow.demand", rank=9, publication=SETTLED
    )
    slow = replace(world.source, code="slow", feeds=(steady,))
    sources = {"toy": replace(world.source, withheld=withheld), "slow": slow}
    catalogue.publish(world.storage, sources, "live", (), configured, 0)
    replace(world, source=slow).fold("FR", "demand", START, [20000 + i % 24 for i in range(721)], feed="slow.demand")
    publish(world.storage, NOW + 60)
    due = NOW + 12 * HOUR + 15 * 60 + 18 * HOUR
    assert artefact.load(world.storage, "latest/FR.json")["metrics"]["demand"]["expected_by"] == due
