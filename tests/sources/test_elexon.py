"""Elexon: UTC starts, the right provider and the right demand, and no net without every interconnector of its era."""

from __future__ import annotations

import json

import pytest

from assets import sources
from assets.sources.elexon import TIES
from warehouse.errors import FeedChanged
from warehouse.market.clock import instant
from warehouse.market.feeds import Request

PRICE, DEMAND, TIES_FEED = (sources.feed(f"elexon.{name}") for name in ("price", "demand", "interconnectors"))
AT = "2026-07-01T09:30:00Z"


def read(feed, document):
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    return feed.parse(body, Request(feed.id, "", zone="GB"))


def index(provider="APXMIDP", price=106.83, volume=3310.45, start=AT):
    return {
        "dataset": "MID",
        "startTime": start,
        "dataProvider": provider,
        "settlementDate": "2026-07-01",
        "settlementPeriod": 22,
        "price": price,
        "volume": volume,
    }


def flow(name, megawatts, start=AT):
    return {
        "dataset": "INTOUTHH",
        "startTime": start,
        "settlementPeriod": 22,
        "interconnectorName": name,
        "generation": megawatts,
    }


ALL = [flow(name, 100) for name in TIES]


def test_the_envelope_names_the_demand_of_rows_that_name_none():
    rows = [{"startTime": AT, "settlementPeriod": 22, "demand": 25000}]
    named = {"metadata": {"datasets": ["INDO"]}, "data": rows}
    assert [r.value for r in read(DEMAND, named)] == [25000.0]
    for other in ({"data": rows}, rows, {"metadata": {"datasets": ["INDO", "ITSDO"]}, "data": rows}):
        with pytest.raises(FeedChanged):
            read(DEMAND, other)


def test_dead_leg_and_index_without_volume_are_dropped_and_counted():
    rows = read(
        PRICE, {"data": [index("N2EXMIDP", 0, 0), index(), index(price=0, volume=0, start="2026-07-01T10:00:00Z")]}
    )
    assert [(r.ts, r.value, r.unit) for r in rows] == [(instant(AT), 106.83, "GBP/MWh")]
    assert rows.dropped == {"N2EX leg": 1, "no volume": 1}


def test_demand_of_zero_or_null_is_missing():
    rows = read(
        DEMAND,
        {
            "data": [
                {"startTime": AT, "initialDemandOutturn": 0},
                {"startTime": "2026-07-01T10:00:00Z", "initialDemandOutturn": None},
            ]
        },
    )
    assert len(rows) == 0
    assert rows.dropped == {"demand of 0": 1}


def test_of_a_half_hour_that_was_published_twice_the_later_publication_stands():
    def published(at, megawatts, start="2026-03-11T00:30:00Z"):
        return {"publishTime": at, "startTime": start, "initialDemandOutturn": megawatts}

    rows = [
        published("2026-03-11T01:35:00Z", 23267),
        published("2026-03-11T01:00:00Z", 23200),
        published("2026-03-11T00:30:00Z", 22416, "2026-03-11T00:00:00Z"),
    ]
    for entries in (rows, rows[::-1]):
        assert sorted(r.value for r in read(DEMAND, {"data": entries})) == [22416, 23267]
    withdrawn = [*rows, published("2026-03-11T02:00:00Z", None)]
    assert [r.value for r in read(DEMAND, {"data": withdrawn})] == [22416]
    undated = [{**row, "publishTime": None} for row in rows]
    assert len(read(DEMAND, {"data": undated})) == 3, "which one stands nobody says"


def test_a_tie_that_was_published_twice_has_its_later_flow():
    rows = [{**row, "publishTime": "2026-07-11T02:00:00Z"} for row in ALL]
    first = {**rows[0], "publishTime": "2026-07-11T01:30:00Z", "generation": 999}
    assert set(read(TIES_FEED, {"data": [first, *rows]})) == set(read(TIES_FEED, {"data": rows}))


def test_a_name_that_is_no_text_is_a_changed_feed():
    dated = {**ALL[0], "publishTime": "2026-07-11T02:00:00Z"}
    with pytest.raises(FeedChanged, match="'interconnectorName' is dict"):
        read(TIES_FEED, {"data": [{**dated, "interconnectorName": {"en": "France(IFA)"}}]})


def nets(rows):
    return {r.ts: r.value for r in rows if r.counterparty is None}


@pytest.mark.parametrize(
    ("day", "count"),
    [
        ("2018-12-31", 4),
        ("2019-01-01", 5),
        ("2021-01-01", 6),
        ("2021-10-01", 7),
        ("2022-05-01", 8),
        ("2023-12-01", 9),
        ("2024-09-19", 10),
    ],
)
def test_the_ties_of_the_era_are_needed_and_no_more(day, count):
    start = f"{day}T12:00:00Z"
    ties = [flow(name, 10, start) for name in TIES]
    assert nets(read(TIES_FEED, {"data": ties[:count]})) == {instant(start): 10.0 * count}
    assert nets(read(TIES_FEED, {"data": ties[: count - 1]})) == {}
