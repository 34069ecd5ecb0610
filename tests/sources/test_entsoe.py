"""ENTSO-E: curves of points, the right auction of several, load, capacity, refusals by their text; what is asked."""

from __future__ import annotations

import io
import zipfile
from datetime import date

import pytest

from assets.sources.entsoe import SOURCE
from assets.sources.entsoe.areas import EIC
from tests.sources.entsoe_documents import (
    DAY,
    FLOWS,
    PRICE,
    WHOLE,
    auction,
    installed,
    load,
    period,
    prices,
    refusal,
    stamped,
    year,
)
from warehouse.errors import CredentialsMissing, FeedChanged, FeedUnavailable, NotPublished
from warehouse.market import clock
from warehouse.market.clock import instant, iso, market_days
from warehouse.market.market import Request


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


def test_periods_in_reverse_order_and_outside_the_document_are_read():
    inside = "<period.timeInterval><start>2026-11-19T23:00Z</start><end>2026-11-20T23:00Z</end></period.timeInterval>"
    later = period("2026-11-20T23:00Z", "2026-11-21T23:00Z", "PT60M", {1: 80})
    rows = prices(inside, auction(later, period(*DAY, "PT60M", {1: 50})))
    assert {r.value for r in rows} == {50.0, 80.0}
    assert len(rows) == 48


def test_an_unknown_curve_is_a_change_of_the_feed():
    with pytest.raises(FeedChanged):
        prices(auction(period(*DAY, "PT60M", {1: 50}), curve="A02"))


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


def test_load_ends_with_the_last_published_hour():
    rows = load(period("2026-11-19T23:00Z", "2026-11-20T11:00Z", "PT15M", {1: 9000.5}, "quantity"))
    assert len(rows) == 48
    assert {(r.metric, r.unit) for r in rows} == {("demand", "MW")}


def test_a_forecast_of_load_is_not_taken_for_load():
    demand = period(*DAY, "PT60M", {1: 9000}, "quantity")
    with pytest.raises(FeedChanged, match="A01"):
        load(demand, process="A01")
    with pytest.raises(FeedChanged):
        load(demand, unit="KWH")
    with pytest.raises(FeedChanged):
        load(demand, zone="BE")


def test_types_of_one_fuel_are_added_up():
    types = {"B04": 100, "B03": 20, "B19": 7, "B15": 0}
    rows = installed(*((kind, year(2024, 2024, [value])) for kind, value in types.items()))
    assert {(r.fuel, r.value, r.unit, r.resolution) for r in rows} == {
        ("gas", 120.0, "MW", "1y"),
        ("wind_onshore", 7.0, "MW", "1y"),
        ("other", 0.0, "MW", "1y"),
    }
    assert {r.ts for r in rows} == {instant("2023-12-31T23:00:00Z")}


def test_a_period_of_several_years_leaves_out_years_that_did_not_change():
    rows = installed(("B14", year(2021, 2025, {1: 486, 4: 500})))
    assert [(iso(r.ts), r.value) for r in rows.sorted()] == [
        ("2020-12-31T23:00:00Z", 486.0),
        ("2021-12-31T23:00:00Z", 486.0),
        ("2022-12-31T23:00:00Z", 486.0),
        ("2023-12-31T23:00:00Z", 500.0),
        ("2024-12-31T23:00:00Z", 500.0),
    ]


def test_the_same_capacity_twice_is_counted_once():
    assert [r.value for r in installed(("B04", year(2024, 2024, [5])), ("B04", year(2024, 2024, [5])))] == [5.0]


@pytest.mark.parametrize(
    ("reason", "text", "failure"),
    [
        ("999", "No matching data found for Data item ENERGY_PRICES [12.1.D]", NotPublished),
        ("999", "Authentication failed.", CredentialsMissing),
        ("999", "The combination of [documentType=A99] is not valid", FeedChanged),
        ("999", "", NotPublished),
        (
            "999",
            "Provided time interval (..) is larger than maximum allowed period 'P1M' for 'ACTUAL_TOTAL_LOAD' export.",
            FeedChanged,
        ),
        (
            "999",
            "The number of instances (365) exceeds the allowed maximum (100) for data item ENERGY_PRICES",
            FeedChanged,
        ),
        ("999", "The amount of requested data exceeds allowed limit", FeedChanged),
        ("999", "In_Domain is not valid for this area", FeedChanged),
        ("999", "check you request against dependency tables", FeedChanged),
        ("999", "Max allowed requests per minute from each unique IP is max up to 400 only", FeedUnavailable),
        ("999", "Service temporarily unavailable", FeedUnavailable),
        ("A02", "", FeedChanged),
    ],
)
@pytest.mark.parametrize("feed", SOURCE.feeds, ids=lambda feed: feed.id)
def test_refusals_are_told_apart_by_their_text(feed, reason, text, failure):
    with pytest.raises(failure):
        feed.parse(refusal(reason, text), Request(feed.id, "", zone="NL"))


def test_too_many_requests_are_banned_for_ten_minutes():
    with pytest.raises(FeedUnavailable) as caught:
        PRICE.parse(
            refusal("999", "Max allowed requests per minute from each unique IP is max up to 400 only"),
            Request(PRICE.id, ""),
        )
    assert caught.value.retry_after == 600


def test_a_page_that_refuses_the_token_names_its_variable():
    with pytest.raises(CredentialsMissing, match="ENTSOE_API_TOKEN"):
        PRICE.parse(b"<html><head><title>401 Unauthorized</title></head></html>", Request(PRICE.id, ""))


def test_a_zipped_answer_is_opened():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("1.xml", WHOLE)
    assert len(PRICE.parse(buffer.getvalue(), Request(PRICE.id, "", zone="NL"))) == 24


def ask(feed, first, last=None):
    return feed.requests(market_days(first, last or first, feed.tz), clock.now())


def test_the_first_flows_of_a_run_reach_two_weeks_back_so_that_a_silent_border_shows():
    assert {dict(r.params)["periodStart"] for r in ask(FLOWS, date(2026, 11, 20))} == {"202611052300"}
    assert {r.days for r in ask(FLOWS, date(2026, 11, 20))} == {(date(2026, 11, 20),)}
    month = [r for r in ask(FLOWS, date(2026, 9, 1), date(2026, 10, 31)) if (r.zone, r.part) == ("NL", "BE>NL")]
    assert [(dict(r.params)["periodStart"], dict(r.params)["periodEnd"], len(r.days)) for r in month] == [
        ("202608172200", "202609142200", 14),
        ("202609142200", "202610122200", 28),
        ("202610122200", "202610312300", 19),
    ]


def test_the_first_auction_is_asked_for_where_there_are_two():
    queries = {r.zone: dict(r.params) for r in ask(PRICE, date(2026, 11, 20))}
    name = "classificationSequence_AttributeInstanceComponent.position"
    assert {zone for zone, query in queries.items() if query.get(name) == "1"} == {"DE-LU", "AT"}
    assert {query["contract_MarketAgreement.type"] for query in queries.values()} == {"A01"}
    assert len(queries) == 12


def test_a_border_is_not_asked_for_before_its_cable():
    before = {r.part for r in ask(FLOWS, date(2019, 6, 1)) if r.zone == "DK-1"}
    assert before == {p for p in before if "GB" not in p and "NL" not in p}
    assert "DK-1>GB" in {r.part for r in ask(FLOWS, date(2024, 1, 1)) if r.zone == "DK-1"}


def test_borders_are_asked_for_by_the_zones_own_codes_and_ukraines_by_that_of_its_time():
    for day, zone, way, codes in (
        (date(2026, 11, 20), "BE", "DE-LU>BE", (EIC["DE-LU"], EIC["BE"])),
        (date(2026, 11, 20), "PL", "Ukraine>PL", ("10Y1001C--000182", EIC["PL"])),
        (date(2022, 9, 22), "PL", "Ukraine>PL", ("10Y1001C--000182", EIC["PL"])),
        (date(2022, 9, 21), "PL", "Ukraine>PL", ("10Y1001C--00003F", EIC["PL"])),
    ):
        queries = [dict(r.params) for r in ask(FLOWS, day) if r.zone == zone and r.part == way]
        assert [(q["out_Domain"], q["in_Domain"]) for q in queries] == [codes]
