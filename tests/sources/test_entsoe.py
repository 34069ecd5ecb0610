"""Test ENTSO-E: curves of points, the right auction of several, load, capacity, rejections by text, requests."""

from __future__ import annotations

import io
import zipfile
from datetime import date

import pytest

from assets import sources
from assets.sources.entsoe import SOURCE
from assets.sources.entsoe.areas import EIC
from warehouse.errors import CredentialsMissing, FeedChanged, FeedUnavailable, NotPublished
from warehouse.market import clock
from warehouse.market.clock import RESOLUTIONS, instant, iso, market_days
from warehouse.market.feeds import Request

PRICE, DEMAND, FLOWS, CAPACITY = (sources.feed(f"entsoe.{name}") for name in ("price", "demand", "flows", "capacity"))
DAY = ("2026-11-19T23:00Z", "2026-11-20T23:00Z")


def period(start, end, resolution, points, value="price.amount"):
    """Return a Period with `points`: {position: value}, or a list of all values."""
    points = points if isinstance(points, dict) else dict(enumerate(points, 1))
    inner = "".join(f"<Point><position>{at}</position><{value}>{n}</{value}></Point>" for at, n in points.items())
    times = f"<timeInterval><start>{start}</start><end>{end}</end></timeInterval>"
    return f"<Period>{times}<resolution>{resolution}</resolution>{inner}</Period>"


def series(*periods, curve="A03", **texts):
    """Return a TimeSeries with the elements `texts`; `__` in a name means a dot, and None omits the element."""
    inner = "".join(
        f"<{name.replace('__', '.')}>{text}</{name.replace('__', '.')}>"
        for name, text in texts.items()
        if text is not None
    )
    return f"<TimeSeries><mRID>1</mRID>{inner}<curveType>{curve}</curveType>{''.join(periods)}</TimeSeries>"


def document(
    kind,
    *parts,
    root="Publication_MarketDocument",
    ns="urn:iec62325.351:tc57wg16:451-3:publicationdocument:7:3",
    process=None,
):
    """Return a document of type `kind` in its namespace."""
    of = f"<process.processType>{process}</process.processType>" if process else ""
    head = f'<?xml version="1.0" encoding="utf-8"?><{root} xmlns="{ns}"><type>{kind}</type>'
    return f"{head}{of}{''.join(parts)}</{root}>".encode()


def auction(*periods, zone="NL", currency="EUR", contract="A01", position=None, curve="A03", out=None):
    """Return a series of prices of one auction."""
    return series(
        *periods,
        curve=curve,
        in_Domain__mRID=EIC[zone],
        out_Domain__mRID=EIC[out or zone],
        contract_MarketAgreement__type=contract,
        currency_Unit__name=currency,
        price_Measure_Unit__name="MWH",
        classificationSequence_AttributeInstanceComponent__position=position,
    )


def prices(*parts, zone="NL", **more):
    """Return the rows of a document of prices."""
    return PRICE.parse(document("A44", *parts, **more), Request(PRICE.id, "", zone=zone))


def load(*periods, zone="NL", process="A16", unit="MAW", curve="A03"):
    """Return the rows of a document of load, requested for NL."""
    body = document(
        "A65",
        series(*periods, curve=curve, outBiddingZone_Domain__mRID=EIC[zone], quantity_Measure_Unit__name=unit),
        root="GL_MarketDocument",
        process=process,
    )
    return DEMAND.parse(body, Request(DEMAND.id, "", zone="NL"))


def installed(*typed, zone="NL"):
    """Return the rows of a document of installed capacity; `typed` contains (psrType, Period)."""
    parts = [
        series(
            f"<MktPSRType><psrType>{kind}</psrType></MktPSRType>{years}",
            inBiddingZone_Domain__mRID=EIC[zone],
            quantity_Measure_Unit__name="MAW",
        )
        for kind, years in typed
    ]
    return CAPACITY.parse(
        document("A68", *parts, root="GL_MarketDocument", process="A33"), Request(CAPACITY.id, "", zone="NL")
    )


def year(first, last, points):
    """Return a Period of calendar years, from `first` to `last` inclusive."""
    return period(f"{first - 1}-12-31T23:00Z", f"{last}-12-31T23:00Z", "P1Y", points, "quantity")


def refusal(code, text):
    """Return an acknowledgement that contains a reason and no values."""
    return document(
        "", f"<Reason><code>{code}</code><text>{text}</text></Reason>", root="Acknowledgement_MarketDocument"
    )


WHOLE = document("A44", auction(period(*DAY, "PT60M", {1: 50, 2: 51})))


TWO, NEXT = ("2026-11-19T23:00Z", "2026-11-20T01:00Z"), ("2026-11-20T02:00Z", "2026-11-20T04:00Z")
AFTER = ("2026-11-20T23:00Z", "2026-11-21T23:00Z")
CURVES = {
    "A03 repeats the last point to the Period's own end": (
        [period(*DAY, "PT60M", {1: 50, 3: 60, 20: 70})],
        [("11-19T23:00", "1h", [50] * 2 + [60] * 17 + [70] * 5)],
    ),
    "nothing is filled before the first point": (
        [period(*DAY, "PT60M", {23: 50})],
        [("11-20T21:00", "1h", [50, 50])],
    ),
    "filling stops between two Periods, in whatever order": (
        [period(*NEXT, "PT60M", {1: 60}), period(*TWO, "PT60M", {1: 50})],
        [("11-19T23:00", "1h", [50, 50]), ("11-20T02:00", "1h", [60, 60])],
    ),
    "a series may mix resolutions": (
        [period(*NEXT, "PT15M", {1: 1, 4: 2}), period(*TWO, "PT60M", [50, 60]), period(*AFTER, "PT30M", {47: 7})],
        [("11-19T23:00", "1h", [50, 60]), ("11-20T02:00", "15m", [1] * 3 + [2] * 5), ("11-21T22:00", "30m", [7, 7])],
    ),
}


@pytest.mark.parametrize(("periods", "runs"), CURVES.values(), ids=CURVES)
def test_points_are_expanded_to_rows(periods, runs):
    """Check points both within and beyond the period that the document states."""
    inside = "<period.timeInterval><start>2026-11-19T23:00Z</start><end>2026-11-20T23:00Z</end></period.timeInterval>"
    assert [(iso(r.ts)[5:16], r.resolution, r.value) for r in prices(inside, auction(*periods)).sorted()] == [
        (iso(instant(f"2026-{start}Z") + place * RESOLUTIONS[resolution])[5:16], resolution, value)
        for start, resolution, values in runs
        for place, value in enumerate(values)
    ]


def test_a_point_without_neighbours_under_a01_is_alone():
    rows = prices(auction(period(*DAY, "PT60M", {1: 50, 3: 60}), curve="A01"))
    assert [(iso(r.ts)[5:16], r.value) for r in rows.sorted()] == [("11-19T23:00", 50.0), ("11-20T01:00", 60.0)]


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


def test_polish_prices_carry_their_own_currency():
    assert {r.unit for r in prices(auction(HOURLY, zone="PL", currency="PLN"), zone="PL")} == {"PLN/MWh"}


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
    assert queries.keys() == EIC.keys()


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
