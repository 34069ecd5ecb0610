"""Second ways to Europe's figures: which series have two independent origins, and which feed stands in for which."""

from __future__ import annotations

from collections import defaultdict

from assets.sources import feeds, sources
from warehouse.documents import catalogue
from warehouse.market.zones import ZONES

EUROPEAN = frozenset(feeds()["entsoe.price"].zones)


def test_european_series_that_may_be_passed_on_have_the_origins_that_the_page_counts() -> None:
    withheld = catalogue.withheld(sources(), (), "live")
    origins: dict[tuple[str, str], set[str]] = defaultdict(set)
    channels: dict[tuple[str, str], int] = defaultdict(int)
    for feed in feeds().values():
        for zone in EUROPEAN.intersection(feed.zones):
            for metric in feed.metrics:
                origins[zone, metric] |= {feed.first_source} if feed.id not in withheld else set()
                channels[zone, metric] += feed.id not in withheld
    two = {f"{zone} {metric}" for (zone, metric), of in origins.items() if len(of) > 1}
    assert two == {
        *("DE-LU price", "DK-1 price", "NO-2 price", "SE-3 price", "ES price", "PL price"),
        *("FR demand", "PL demand", "FR interchange", "DK-1 interchange"),
    }
    assert all(channels[zone, metric] >= 2 for zone in EUROPEAN for metric in ("price", "demand", "interchange"))


def test_a_stand_in_carries_what_it_stands_in_for_and_ranks_behind() -> None:
    known = feeds()
    for feed in known.values():
        if feed.stands_in_for:
            first = known[feed.stands_in_for]
            assert set(feed.metrics) <= set(first.metrics)
            assert set(feed.zones) <= set(first.zones) <= set(ZONES)
            assert feed.rank > first.rank
