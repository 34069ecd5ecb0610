"""Check published times: when the current hour changes, and when the fastest feed's next value is due."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pytest

from assets.documents.publish import publish
from tests.assets.published_zones import HOUR, NOW, START, document, fill
from warehouse.documents import catalogue
from warehouse.market.feeds import Publication
from warehouse.market.vocabulary import Metric


def test_a_day_ahead_hour_turns_without_any_new_row(world):
    fill(world, until=NOW + 12 * HOUR)
    for now, ts in ((NOW + HOUR - 1, NOW), (NOW + HOUR, NOW + HOUR)):
        publish(world.storage, now)
        latest = document(world, "latest/FR.json")
        assert latest["metrics"]["price"]["ts"] == ts
        assert latest["metrics"]["price"]["expected_by"] == latest["valid_until"] == ts + HOUR
        assert latest["updated"] == now


def test_expected_by_of_an_auction_that_has_not_come(world):
    fill(world, until=NOW + 11 * HOUR)  # to midnight in Brussels, without tomorrow
    publish(world.storage, NOW + 10 * HOUR)
    # Tomorrow's prices were due at 12:57 + 0:30 in Brussels. The last price applies until its own interval ends.
    assert document(world, "latest/FR.json")["metrics"]["price"]["expected_by"] == NOW + 11 * HOUR
    publish(world.storage, NOW + 12 * HOUR)
    brief = document(world, "brief/FR.json")
    assert brief["current"]["price"]["ts"] == NOW + 10 * HOUR
    assert brief["valid_until"] == NOW + 11 * HOUR
    assert "The wholesale price was €57.30 a megawatt-hour" in brief["summary"]
    assert (
        "A newer value was due by 2026-11-21 00:00 CET (2026-11-20 23:00 UTC) but had not arrived." in brief["summary"]
    )


SETTLED = Publication(daily_at=dt.time(0, 15), day_offset=1, grace_minutes=18 * 60)
"""The whole day is published on the following day."""


def with_slow_feed(world, zone, metric):
    """Add a better-ranked feed of the same metric, whose rows arrive a day later."""
    fast = next(f for f in world.source.feeds if zone in f.zones and metric in f.metrics)
    slow = replace(fast, id="toy.settled", zones=(zone,), publication=SETTLED)
    world.source = replace(world.source, feeds=(slow, *(replace(f, rank=2) for f in world.source.feeds)))
    world.catalogue()


def test_the_soonest_feed_of_a_metric_owes_its_next_value_whichever_brought_the_last(world):
    with_slow_feed(world, "AU-SA", Metric.PRICE)
    world.fold("AU-SA", "price", START, [40 + i % 24 for i in range(721)], feed="toy.settled")
    publish(world.storage, NOW + 60)
    assert document(world, "latest/AU-SA.json")["metrics"]["price"]["expected_by"] == NOW + 2 * HOUR + 30 * 60
    publish(world.storage, NOW + 20 * HOUR)
    brief = document(world, "brief/AU-SA.json")
    assert brief["valid_until"] == NOW + 2 * HOUR + 30 * 60
    assert "The wholesale price was A$40.00 a megawatt-hour" in brief["summary"]
    assert "A newer value was due by" in brief["summary"]


def test_the_soonest_feed_owes_the_next_mix_too(world):
    with_slow_feed(world, "US-CAISO", Metric.GENERATION)
    world.fold("US-CAISO", "generation", NOW, [30], "30m", feed="toy.settled", fuel="gas")
    publish(world.storage, NOW + 60)
    assert document(world, "latest/US-CAISO.json")["generation_mix"]["expected_by"] == NOW + 2 * 1800 + 30 * 60


@pytest.mark.parametrize(("withheld", "configured"), [(True, ("toy", "slow")), (False, ("slow",))])
def test_a_feed_that_is_withheld_or_lacks_credentials_promises_nothing(world, withheld, configured):
    """Hourly rows of a slow publisher are not overdue if a fast publisher, which must not be shown, has newer ones."""
    steady = replace(
        next(f for f in world.source.feeds if f.id == "toy.demand"), id="slow.demand", rank=9, publication=SETTLED
    )
    slow = replace(world.source, code="slow", feeds=(steady,))
    sources = {"toy": replace(world.source, withheld=withheld), "slow": slow}
    catalogue.publish(world.storage, sources, "live", (), configured, 0)
    replace(world, source=slow).fold("FR", "demand", START, [20000 + i % 24 for i in range(721)], feed="slow.demand")
    publish(world.storage, NOW + 60)
    due = NOW + 12 * HOUR + 15 * 60 + 18 * HOUR
    assert document(world, "latest/FR.json")["metrics"]["demand"]["expected_by"] == due
