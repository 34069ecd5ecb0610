"""Test Elexon: UTC starts, the right provider and demand, and no net without every interconnector of its era."""

from __future__ import annotations

import json
from datetime import date

import pytest

from assets import sources
from assets.sources.elexon import TIES
from warehouse.errors import FeedChanged
from warehouse.market.clock import MarketDay, instant
from warehouse.market.feeds import Request

PRICE, DEMAND, TIES_FEED, MIX = (
    sources.feed(f"elexon.{name}") for name in ("price", "demand", "interconnectors", "mix")
)
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


METERED = {"Fossil Gas": 6_400, "Nuclear": 4_100, "Hydro Pumped Storage": -880, "Other": -35, "Fossil Hard coal": 0}
ESTIMATED = {"Solar": 900, "Wind Onshore": 5_200, "Wind Offshore": 7_800}


def by_type(start=AT, **types):
    parts = [{"businessType": "Production", "psrType": name, "quantity": mw} for name, mw in types.items()]
    return {"startTime": start, "settlementPeriod": 22, "data": parts}


def mix(*entries):
    return read(MIX, {"metadata": {"datasets": ["AGPT"]}, "data": list(entries)})


def test_a_half_hour_has_every_type_of_the_response_with_its_sign():
    rows = [row for row in mix(by_type(**METERED, **ESTIMATED)) if row.metric == "mix"]
    assert {row.fuel: row.value for row in rows} == {
        "gas": 6_400.0,
        "nuclear": 4_100.0,
        "pumped_storage": -880.0,
        "other": -35.0,
        "coal": 0.0,
        "solar": 900.0,
        "wind_onshore": 5_200.0,
        "wind_offshore": 7_800.0,
    }
    assert {(row.ts, row.unit, row.resolution) for row in rows} == {(instant(AT), "MW", "30m")}


def test_a_run_of_zeros_in_every_type_but_wind_and_solar_is_a_missing_report():
    """Reject the run although wind and solar have estimates, which are not a complete mix."""
    run = [f"2026-07-01T{hour:02}:00:00Z" for hour in (10, 11, 12)]
    rows = mix(by_type(**METERED, **ESTIMATED), *(by_type(at, **dict.fromkeys(METERED, 0), **ESTIMATED) for at in run))
    assert {row.ts for row in rows} == {instant(AT)}
    assert rows.refused == {("GB", "mix"): {instant(at) for at in run}}
    assert rows.dropped == {"half hour without metered generation": 3 * (len(METERED) + len(ESTIMATED))}


def test_a_half_hour_of_wind_and_solar_alone_is_not_yet_a_report():
    """Reject a half hour for which the estimate would be 0 g."""
    assert not len(mix(by_type(**ESTIMATED)))
    assert not len(mix(by_type(**ESTIMATED, Nuclear=None)))


def test_a_type_of_zero_beside_others_is_a_reading_and_a_missing_type_costs_only_its_own_row():
    assert ("coal", 0.0) in {(row.fuel, row.value) for row in mix(by_type(**METERED, **ESTIMATED))}
    assert {row.fuel for row in mix(by_type(**METERED | {"Nuclear": None}))} >= {"gas", "other"}


def test_types_that_share_a_fuel_are_added_where_each_has_a_value():
    hydro = {"Hydro Run-of-river and poundage": 400, "Hydro Water Reservoir": 30}
    rows = mix(by_type(**METERED, **hydro), by_type("2026-07-01T10:00:00Z", **METERED, **dict([*hydro.items()][:1])))
    assert [row.value for row in rows if row.fuel == "hydro"] == [430.0]


def test_an_unknown_type_is_reported_and_costs_its_own_rows():
    rows = mix(by_type(**METERED, Generation=30_000))
    assert {member.name for member in rows.unknown} == {"psrType 'Generation'"}
    assert len([row for row in rows if row.metric == "mix"]) == len(METERED)
    with pytest.raises(FeedChanged):
        mix(by_type(Generation=30_000))


def test_another_data_set_is_refused():
    with pytest.raises(FeedChanged):
        read(MIX, {"metadata": {"datasets": ["AGWS"]}, "data": [by_type(**ESTIMATED)]})


def test_a_week_of_settlement_dates_is_a_request_with_the_periods_of_a_day_of_25_hours():
    days = [MarketDay(date(2026, 10, 20), "Europe/London").next(i) for i in range(9)]
    asked = [dict(request.params) for request in MIX.requests(days, instant(AT))]
    assert [(params["from"], params["to"]) for params in asked] == [
        ("2026-10-20", "2026-10-26"),
        ("2026-10-27", "2026-10-28"),
    ]
    assert {(params["settlementPeriodFrom"], params["settlementPeriodTo"]) for params in asked} == {("1", "50")}
