"""ENTSO-E: recorded answers, and curves of points expanded to each Period's own end."""

from __future__ import annotations

import pytest

from tests.sources.entsoe_documents import DAY, auction, period, prices, stamped
from warehouse.errors import FeedChanged
from warehouse.market.clock import instant


def test_a03_repeats_the_last_point_to_the_periods_own_end():
    rows = prices(auction(period(*DAY, "PT60M", {1: 50, 3: 60, 20: 70})))
    assert [r.value for r in rows.sorted()] == [50.0] * 2 + [60.0] * 17 + [70.0] * 5


def test_nothing_is_filled_before_the_first_point():
    rows = prices(auction(period(*DAY, "PT60M", {23: 50})))
    assert stamped(rows) == [("11-20T21:00", 50.0), ("11-20T22:00", 50.0)]


def test_a_point_without_neighbours_under_a01_is_alone():
    assert stamped(prices(auction(period(*DAY, "PT60M", {1: 50, 3: 60}), curve="A01"))) == [
        ("11-19T23:00", 50.0),
        ("11-20T01:00", 60.0),
    ]


def test_filling_stops_between_two_periods():
    rows = prices(
        auction(
            period("2026-11-19T23:00Z", "2026-11-20T01:00Z", "PT60M", {1: 50}),
            period("2026-11-20T02:00Z", "2026-11-20T04:00Z", "PT60M", {1: 60}),
        )
    )
    assert stamped(rows) == [
        ("11-19T23:00", 50.0),
        ("11-20T00:00", 50.0),
        ("11-20T02:00", 60.0),
        ("11-20T03:00", 60.0),
    ]


def test_one_series_may_mix_resolutions():
    rows = prices(
        auction(
            period("2026-11-20T01:00Z", "2026-11-20T02:00Z", "PT15M", [1, 2, 3, 4]),
            period("2026-11-19T23:00Z", "2026-11-20T01:00Z", "PT60M", [50, 60]),
            period("2026-11-20T02:00Z", "2026-11-20T03:00Z", "PT30M", {1: 7}),
        )
    )
    assert [r.resolution for r in rows.sorted()] == ["1h", "1h", "15m", "15m", "15m", "15m", "30m", "30m"]


def test_a_quarter_hourly_period_may_carry_an_hourly_product():
    rows = prices(auction(period("2026-11-20T00:00Z", "2026-11-20T02:00Z", "PT15M", {1: 50, 5: 60})))
    assert [r.value for r in rows.sorted()] == [50.0] * 4 + [60.0] * 4
    assert {r.resolution for r in rows} == {"15m"}


def test_a_partial_day_is_not_filled(parsed):
    rows = parsed("entsoe/a44_PL_2017-03-01_eur-then-pln_partial-day.xml")
    assert min(r.ts for r in rows if r.ts >= instant("2017-02-28T23:00:00Z")) == instant("2017-03-01T05:00:00Z")


def test_periods_in_reverse_order_and_outside_the_document_are_read():
    inside = "<period.timeInterval><start>2026-11-19T23:00Z</start><end>2026-11-20T23:00Z</end></period.timeInterval>"
    later = period("2026-11-20T23:00Z", "2026-11-21T23:00Z", "PT60M", {1: 80})
    rows = prices(inside, auction(later, period(*DAY, "PT60M", {1: 50})))
    assert {r.value for r in rows} == {50.0, 80.0}
    assert len(rows) == 48


def test_an_unknown_curve_is_a_change_of_the_feed():
    with pytest.raises(FeedChanged):
        prices(auction(period(*DAY, "PT60M", {1: 50}), curve="A02"))
