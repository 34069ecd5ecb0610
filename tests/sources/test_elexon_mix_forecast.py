"""Test Elexon's forecast of wind and solar: it uses one process of several, and each publication is a vintage."""

from __future__ import annotations

import json
from datetime import date

from assets import sources
from warehouse.market.clock import MarketDay, instant
from warehouse.market.feeds import Request
from warehouse.rows.schema import Rows

FEED = sources.feed("elexon.mix_forecast")


def parsed(*entries: dict[str, object]) -> Rows:
    """Return the rows of a response."""
    usual = {"processType": "Day Ahead", "psrType": "Solar", "startTime": "2026-03-03T12:00:00Z", "quantity": 1.5}
    body = {"data": [{"publishTime": "2026-03-02T16:45:00Z", **usual, **entry} for entry in entries]}
    return FEED.parse(json.dumps(body).encode(), Request(FEED.id, ""))


def test_only_the_day_ahead_process_is_read() -> None:
    rows = parsed({}, {"processType": "day ahead", "psrType": "Wind Onshore"}, {"processType": "Intraday Process"})
    assert sorted(row.fuel or "" for row in rows) == ["solar", "wind_onshore"]
    assert rows.dropped == {"another process than day ahead": 1}


def test_each_publication_is_a_vintage_and_none_is_of_the_past() -> None:
    rows = parsed({}, {"publishTime": "2026-03-02T17:45:00Z", "quantity": 2.0}, {"publishTime": "2026-03-03T13:00:00Z"})
    published = {row.published_at: row.value for row in rows}
    assert published == {instant("2026-03-02T16:45Z"): 1.5, instant("2026-03-02T17:45Z"): 2.0}


def test_an_unknown_type_is_reported() -> None:
    rows = parsed({}, {"psrType": "Tidal"})
    assert {member.name for member in rows.unknown} == {"psrType 'Tidal'"}


def test_a_day_and_the_next_are_requested() -> None:
    (request,) = FEED.requests([MarketDay(date(2026, 3, 28), FEED.tz)], 0)
    assert dict(request.params)["from"] == "2026-03-28"
    assert dict(request.params)["to"] == "2026-03-29"
