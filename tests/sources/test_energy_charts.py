"""Test Energy-Charts: the licence of each response, resolutions from the stamps, local days as bounds."""

from __future__ import annotations

import json
from datetime import date

import pytest

from assets.sources import feed
from warehouse.errors import FeedChanged, NotLicensed
from warehouse.judge.quality import judge
from warehouse.market.clock import MarketDay
from warehouse.market.feeds import Request

PRICE = feed("energy_charts.price")
CC_BY = "CC BY 4.0 (creativecommons.org/licenses/by/4.0) from Bundesnetzagentur | SMARD.de"
RESTRICTED = "The data provided herein is for private and internal use only."


def answer(stamps, prices=None, **changes):
    prices = [float(i) for i in range(len(stamps))] if prices is None else prices
    return {
        "license_info": CC_BY,
        "unix_seconds": stamps,
        "price": prices,
        "unit": "EUR / MWh",
        "deprecated": False,
        **changes,
    }


def day(first, step, last=None):
    window = MarketDay(first, "Europe/Brussels").window
    return list(range(window.start, MarketDay(last or first, "Europe/Brussels").end, step))


def read(document, zone="DE-LU"):
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    return PRICE.parse(body, Request(PRICE.id, "", zone=zone))


def test_an_answer_over_the_change_to_quarter_hours_mixes_resolutions():
    rows = list(read(answer(day(date(2025, 9, 30), 3600) + day(date(2025, 10, 1), 900))))
    assert [r.resolution for r in rows] == ["1h"] * 24 + ["15m"] * 96


def test_a_null_price_is_no_row_and_leaves_the_resolution():
    stamps = day(date(2026, 5, 1), 900)
    rows = read(answer(stamps, [None if i in (0, 3, 4) else 1.5 for i in range(96)]))
    assert len(rows) == 93
    assert {r.resolution for r in rows} == {"15m"}


def test_missing_stamps_do_not_coarsen_the_rest():
    stamps = [ts for ts in day(date(2026, 5, 1), 900) if ts % 3600 != 900]
    assert {r.resolution for r in read(answer(stamps))} == {"15m"}


def test_a_lone_stamp_is_dropped_and_counted():
    rows = read(answer(day(date(2024, 12, 10), 3600)[:1]))
    assert len(rows) == 0
    assert sum(rows.dropped.values()) == 1


@pytest.mark.parametrize("licence", [RESTRICTED, "CC BY-NC 4.0", "CC BY 4.0-NC", "", None, 4, "not CC BY 4.0"])
def test_what_is_not_cc_by_is_not_licensed(licence):
    with pytest.raises(NotLicensed):
        read(answer(day(date(2026, 5, 1), 900), license_info=licence))


def test_without_a_zone_nothing_is_guessed():
    with pytest.raises(FeedChanged, match="zone"):
        read(answer(day(date(2026, 5, 1), 900)), None)


def test_an_interface_that_is_to_end_is_a_notice_and_its_prices_stand():
    stamps = day(date(2026, 5, 1), 900)
    rows = read(answer(stamps, deprecated=True))
    assert len(rows) == len(stamps)
    assert rows.notices == {"https://api.energy-charts.info/price is deprecated: it is to end"}
    (notice,) = [f for f in judge(rows, PRICE, (), 0).findings if f.check == "notice"]
    assert (notice.severity, notice.detail) == ("warning", *rows.notices)
    assert not read(answer(stamps)).notices
