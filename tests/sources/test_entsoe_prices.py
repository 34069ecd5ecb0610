"""ENTSO-E's prices: the right auction of several, currencies, and answers for another zone."""

from __future__ import annotations

import pytest

from assets.sources.entsoe.areas import EIC
from tests.sources.entsoe_documents import DAY, auction, period, prices
from warehouse.errors import FeedChanged, NotPublished
from warehouse.market.clock import instant

HOURLY, QUARTERLY = period(*DAY, "PT60M", {1: 50}), period(*DAY, "PT15M", {1: 99})
OCTOBER_2024 = "2024-10-05T22:00Z", "2024-10-06T22:00Z"


@pytest.mark.parametrize("order", [1, -1])
def test_only_the_first_auction_is_the_price_in_either_order(order):
    both = [
        auction(QUARTERLY, zone="DE-LU", position=1),
        auction(period(*DAY, "PT15M", {1: 7}), zone="DE-LU", position=2),
    ][::order]
    rows = prices(*both, zone="DE-LU")
    assert {r.value for r in rows} == {99.0}
    assert rows.dropped == {"auction 2": 1}


def test_the_second_auction_never_stands_in():
    with pytest.raises(NotPublished, match="auction 2"):
        prices(auction(QUARTERLY, zone="AT", position=2), zone="AT")


def test_without_positions_sdac_was_the_hourly_auction_before_october_2025():
    rows = prices(
        auction(period(*OCTOBER_2024, "PT15M", {1: 99}), zone="DE-LU"),
        auction(period(*OCTOBER_2024, "PT60M", {1: 50}), zone="DE-LU"),
        zone="DE-LU",
    )
    assert {(r.value, r.resolution) for r in rows} == {(50.0, "1h")}
    assert rows.dropped == {"auction not named": 1}


@pytest.mark.parametrize("periods", [HOURLY, QUARTERLY])
def test_without_position_an_auction_since_october_2025_is_nobodys(periods):
    with pytest.raises(NotPublished):
        prices(auction(periods, zone="DE-LU"), zone="DE-LU")
    assert len(prices(auction(periods, zone="FR"), zone="FR")) in (24, 96)


def test_intraday_auctions_are_left_out():
    rows = prices(auction(HOURLY, zone="ES"), auction(QUARTERLY, zone="ES", contract="A07"), zone="ES")
    assert {r.value for r in rows} == {50.0}
    assert rows.dropped == {"intraday auction": 1}


def test_old_answers_do_not_tell_the_contract():
    assert len(prices(auction(HOURLY, contract=None))) == 24


def test_polish_prices_carry_their_own_currency(parsed):
    rows = parsed("entsoe/a44_PL_2017-03-01_eur-then-pln_partial-day.xml")
    zlotys = [r.value for r in rows.sorted() if r.unit == "PLN/MWh"]
    assert (len(zlotys), zlotys[0], zlotys[-1]) == (24, 128.53, 102.79)
    assert len([r for r in rows if r.unit == "EUR/MWh"]) == 42
    assert min(r.ts for r in rows if r.unit == "PLN/MWh") == instant("2017-03-01T23:00:00Z")


@pytest.mark.parametrize(("zone", "currency"), [("NL", "PLN"), ("PL", "CZK"), ("PL", None), ("CH", "CHF")])
def test_a_currency_that_the_zone_never_had_is_a_change_of_the_feed(zone, currency):
    with pytest.raises(FeedChanged):
        prices(auction(HOURLY, zone=zone, currency=currency), zone=zone)


def test_answers_for_another_zone_unit_or_pair_are_refused():
    with pytest.raises(FeedChanged):
        prices(auction(HOURLY, zone="BE"), zone="NL")
    with pytest.raises(FeedChanged):
        prices(auction(HOURLY, zone="BE", out="FR"), zone="BE")
    with pytest.raises(FeedChanged):
        prices(auction(HOURLY).replace("MWH", "KWH"))
    with pytest.raises(FeedChanged):
        prices(auction(HOURLY).replace(EIC["NL"], "10Y1001A1001A39I"), zone=None)


def test_without_a_zone_the_body_tells_it():
    assert {r.zone for r in prices(auction(HOURLY, zone="SE-3"), zone=None)} == {"SE-3"}
