"""ERCOT's dashboards: what their epochs mean, demand, and the ties to its neighbours."""

from __future__ import annotations

import pytest

from tests.sources.ercot_reports import AUTUMN, HOURLY, LOAD, ORDINARY, PRICES, SPRING, TIES, read
from warehouse.errors import FeedChanged, NotPublished
from warehouse.market.clock import instant, market_days

T = instant("2026-09-05T05:00:00Z")


def test_dashboard_prices_are_labelled_by_their_end():
    body = {
        "rtSppData": [
            {"hbHubAvg": 37.1, "hbBusAvg": 1, "interval": (T + 900) * 1000},
            {"hbHubAvg": None, "interval": (T + 1800) * 1000},
        ],
        "damSppData": [{"hbHubAvg": 30, "interval": (T + 3600) * 1000}],
    }
    assert [(r.metric, r.ts, r.value, r.resolution) for r in read(PRICES, body)] == [
        ("price", T, 37.1, "15m"),
        ("price_day_ahead", T, 30.0, "1h"),
    ]
    for name in body:
        with pytest.raises(FeedChanged, match=name):
            read(PRICES, {k: v for k, v in body.items() if k != name})


def test_demand_stands_at_its_stamp_and_rows_that_are_forecasts_are_left():
    rows = [
        {"demand": 50_000 + i, "forecast": int(i > 1), "epoch": (T + 300 * i) * 1000, "capacity": 1} for i in range(4)
    ]
    assert [(r.ts, r.value, r.resolution) for r in read(LOAD, {"data": rows})] == [
        (T, 50_000.0, "5m"),
        (T + 300, 50_001.0, "5m"),
    ]
    with pytest.raises(FeedChanged, match="forecast"):
        read(LOAD, {"data": [{"demand": 1, "forecast": 2, "epoch": T * 1000}]})
    with pytest.raises(NotPublished):
        read(LOAD, {"data": []})


@pytest.mark.parametrize(("day", "hours"), [(SPRING, 23), (AUTUMN, 25), (ORDINARY, 24)])
def test_hourly_demand_of_days_of_any_length(day, hours):
    (market_day,) = market_days(day, day, HOURLY.tz)
    over = [
        {"hourEnding": 0, "systemLoad": 42_015.44, "epoch": (ts + 3600) * 1000}
        for ts in range(market_day.start, market_day.end, 3600)
    ]
    ahead = [{"hourEnding": 1, "currentLoadForecast": 1, "epoch": (market_day.end + 3600) * 1000}]
    for feed in (HOURLY, LOAD):
        rows = [
            r
            for r in read(feed, {"previousDay": {"data": over}, "currentDay": {"data": ahead}})
            if r.metric == "demand"
        ]
        assert [r.ts for r in rows] == list(range(market_day.start, market_day.end, 3600))
        assert len(rows) == hours
    with pytest.raises(FeedChanged, match="systemLoad"):
        read(HOURLY, {"previousDay": {"data": ahead}, "currentDay": {"data": ahead}})


def flows(ts: int, **ties: object) -> dict[str, object]:
    return {"currentFrequency": 60, **ties, "epoch": ts * 1000, "interval": "00:00:00"}


def test_minus_is_import_over_the_ties_and_only_five_minute_instants_stay():
    rows = read(
        TIES,
        {
            "data": [
                flows(T, dcE=0, dcN=-218, dcL=70, dcR=0),
                flows(T + 10, dcE=0, dcN=-218, dcL=70, dcR=0),
                flows(T + 300, dcE=-74, dcN=None, dcL=19, dcR=0),
            ]
        },
    )
    assert [(r.counterparty, r.link, r.ts, r.value) for r in rows.sorted()] == [
        (None, None, T, 148.0),
        ("Mexico (CENACE)", "DC_L", T, -70.0),
        ("Mexico (CENACE)", "DC_R", T, 0.0),
        ("US-SPP", "spp-ercot-east", T, 0.0),
        ("US-SPP", "spp-ercot-north", T, 218.0),
        ("Mexico (CENACE)", "DC_L", T + 300, -19.0),
        ("Mexico (CENACE)", "DC_R", T + 300, 0.0),
        ("US-SPP", "spp-ercot-east", T + 300, 74.0),
    ]
    assert rows.dropped == {"between five-minute instants": 1, "a tie is missing": 1}


def test_a_tie_that_is_named_without_a_figure_leaves_no_net():
    """Eagle Pass, which need not be named, too."""
    ties = {"dcE": 0, "dcN": -218, "dcL": 70, "dcR": 0}
    rows = read(TIES, {"data": [flows(T, **ties, dcS=-30), flows(T + 300, **ties, dcS=None), flows(T + 600, **ties)]})
    assert [(r.ts, r.value) for r in rows if r.counterparty is None] == [(T, 178.0), (T + 600, 148.0)]
    assert rows.dropped == {"a tie is missing": 1}


def test_a_recorded_excerpt_of_the_ties(recordings):
    rows = read(TIES, (recordings / "ercot/dc-tie-flows_20260905_EXCERPT.json").read_bytes())
    assert [(r.ts, r.value) for r in rows if r.counterparty is None] == [(1788584400, 148.0)]


@pytest.mark.parametrize("reading", [flows(T, dcX=1), flows(T), {"dcE": 1, "interval": "00:00:00"}, "dcE"])
def test_readings_of_no_known_tie_are_a_changed_feed(reading):
    with pytest.raises(FeedChanged):
        read(TIES, {"data": [reading]})


@pytest.mark.parametrize(
    ("feed", "reading"),
    [
        (LOAD, {"demand": 50_000, "forecast": 0}),
        (TIES, {"dcE": 1, "dcN": 1, "dcL": 1, "dcR": 1}),
    ],
)
def test_what_begins_after_the_dashboard_was_made_is_no_reading(feed, reading):
    body = {"data": [{**reading, "epoch": (T + at) * 1000} for at in (0, 300, 600)]}
    for updated, last in (
        ("2026-09-05 00:05:00-0500", T + 300),
        ("2026-09-05 00:09:59-0500", T + 300),
        (None, T + 600),
    ):
        rows = read(feed, {**body, **({"lastUpdated": updated} if updated else {})})
        assert max(r.ts for r in rows) == last
        assert rows.dropped["after the dashboard's own time"] == (last < T + 600)


def test_prices_of_the_day_ahead_are_known_before_the_dashboard_was_made():
    entry = {"hbHubAvg": 30, "interval": (T + 7200) * 1000}
    rows = read(PRICES, {"lastUpdated": "2026-09-05 00:05:00-0500", "rtSppData": [entry], "damSppData": [entry]})
    assert [r.metric for r in rows] == ["price_day_ahead"]
