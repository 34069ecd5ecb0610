"""ENTSO-E: curves expanded to each Period's end, the right auction, currencies, years, refusals, and requests."""

from __future__ import annotations

import io
import json
import zipfile
from datetime import date
from urllib.parse import parse_qsl, urlsplit

import pytest

from assets import sources
from assets.sources.entsoe import SOURCE
from assets.sources.entsoe.areas import BORDERS, EIC
from warehouse import clock
from warehouse.clock import instant, iso, market_days
from warehouse.errors import CredentialsMissing, FeedChanged, FeedError, FeedUnavailable, NotPublished
from warehouse.market import Request

PRICE, DEMAND, FLOWS, CAPACITY = (sources.feed(f"entsoe.{name}") for name in ("price", "demand", "flows", "capacity"))
CZ = "10YCZ-CEPS-----N"
DAY = ("2026-11-19T23:00Z", "2026-11-20T23:00Z")


def period(start, end, resolution, points, value="price.amount"):
    """`points`: {position: value}, or a list of all values."""
    points = points if isinstance(points, dict) else dict(enumerate(points, 1))
    inner = "".join(f"<Point><position>{at}</position><{value}>{n}</{value}></Point>" for at, n in points.items())
    times = f"<timeInterval><start>{start}</start><end>{end}</end></timeInterval>"
    return f"<Period>{times}<resolution>{resolution}</resolution>{inner}</Period>"


def series(*periods, curve="A03", **texts):
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
    of = f"<process.processType>{process}</process.processType>" if process else ""
    head = f'<?xml version="1.0" encoding="utf-8"?><{root} xmlns="{ns}"><type>{kind}</type>'
    return f"{head}{of}{''.join(parts)}</{root}>".encode()


def auction(*periods, zone="NL", currency="EUR", contract="A01", position=None, curve="A03", out=None):
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
    return PRICE.parse(document("A44", *parts, **more), Request(PRICE.id, "", zone=zone))


def load(*periods, zone="NL", process="A16", unit="MAW", curve="A03"):
    body = document(
        "A65",
        series(*periods, curve=curve, outBiddingZone_Domain__mRID=EIC[zone], quantity_Measure_Unit__name=unit),
        root="GL_MarketDocument",
        process=process,
    )
    return DEMAND.parse(body, Request(DEMAND.id, "", zone="NL"))


def installed(*typed, zone="NL"):
    """`typed`: (psrType, Period)."""
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
    return period(f"{first - 1}-12-31T23:00Z", f"{last}-12-31T23:00Z", "P1Y", points, "quantity")


def refusal(code, text):
    return document(
        "", f"<Reason><code>{code}</code><text>{text}</text></Reason>", root="Acknowledgement_MarketDocument"
    )


def stamped(rows):
    return [(iso(r.ts)[5:16], r.value) for r in rows.sorted()]


@pytest.mark.parametrize(
    "file",
    [
        "a44_AT_2024-07-28_seq1_pt60m",
        "a44_BE_2024-10-08_pt60m",
        "a44_CH_2025-11-26_pt60m",
        "a44_DE-LU_2024-10-06_two-auctions_no-position",
        "a44_NL_2024-09-02_pt60m_a03",
        "a65_BE_2024-01-15_week_pt15m",
        "a65_FR_2021-01-01_recorded-2025_a03",
        "a65_NL_2024-09-02_pt15m",
        "a68_NL_2024",
    ],
)
def test_recorded_answers_give_their_expected_rows(file, parsed, expected, stated):
    assert stated(parsed(f"entsoe/{file}.xml")) == expected(f"entsoe/{file}.xml")


# Curves.


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


def test_points_in_another_order_and_repeated_are_the_same():
    assert stamped(prices(auction(period(*DAY, "PT60M", {20: 70, 1: 50, 3: 60})))) == stamped(
        prices(auction(period(*DAY, "PT60M", {1: 50, 3: 60, 20: 70})))
    )


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


@pytest.mark.parametrize(
    ("start", "end", "count"),
    [
        ("2026-03-28T23:00Z", "2026-03-29T22:00Z", 92),
        ("2026-10-24T22:00Z", "2026-10-25T23:00Z", 100),
    ],
)
def test_clock_changes_make_days_of_92_and_100_quarters(start, end, count):
    assert len(prices(auction(period(start, end, "PT15M", {1: 50})))) == count


def test_a_partial_day_is_not_filled(parsed):
    rows = parsed("entsoe/a44_PL_2017-03-01_eur-then-pln_partial-day.xml")
    assert min(r.ts for r in rows if r.ts >= instant("2017-02-28T23:00:00Z")) == instant("2017-03-01T05:00:00Z")


def test_periods_in_reverse_order_and_outside_the_document_are_read():
    inside = "<period.timeInterval><start>2026-11-19T23:00Z</start><end>2026-11-20T23:00Z</end></period.timeInterval>"
    later = period("2026-11-20T23:00Z", "2026-11-21T23:00Z", "PT60M", {1: 80})
    rows = prices(inside, auction(later, period(*DAY, "PT60M", {1: 50})))
    assert {r.value for r in rows} == {50.0, 80.0}
    assert len(rows) == 48


@pytest.mark.parametrize("ns", ["urn:iec62325.351:tc57wg16:451-3:publicationdocument:7:0", "urn:something:else"])
def test_namespaces_do_not_matter(ns):
    assert len(prices(auction(period(*DAY, "PT60M", {1: 50})), ns=ns)) == 24


@pytest.mark.parametrize(
    "bad",
    [
        period(*DAY, "PT60M", {25: 1}),
        period(*DAY, "PT60M", {0: 1}),
        period(*DAY, "PT60M", {"-1": 1}),
        period(*DAY, "PT60M", {"x": 1}),
        period(*DAY, "PT60M", {"9" * 30: 1}),
        period(*DAY, "PT60M", {1: "n/a"}),
        period(*DAY, "PT60M", {1: ""}),
        period(*DAY, "PT60M", {1: "NaN"}),
        period(*DAY, "PT60M", {1: "5_0"}),
        period(*DAY, "PT60M", {1: 5}).replace(
            "</Period>", "<Point><position>1</position><price.amount>6</price.amount></Point></Period>"
        ),
        period(*DAY, "PT60M", {1: 5, 2: 6}).replace("<position>2</position>", ""),
        period(*DAY, "PT60M", {1: 5}, "quantity"),
        period(*DAY, "PT5M", {1: 5}),
        period(*DAY, "P1D", {1: 5}),
        period(*DAY, "", {1: 5}),
        period(*reversed(DAY), "PT60M", {1: 5}),
        period(DAY[0], DAY[0], "PT60M", {1: 5}),
        period("2026-11-19T23:00Z", "2026-11-20T22:30Z", "PT60M", {1: 5}),
        period("2026-11-19T23:10Z", "2026-11-20T23:10Z", "PT60M", {1: 5}),
        period("2026-11-19T23:00Z", "2099-11-20T23:00Z", "PT15M", {1: 5}),
        period("2026-11-19T23:00Z", "9999-11-20T23:00Z", "PT15M", {1: 5}),
        period("2026-11-19T23:00", "2026-11-20T23:00", "PT60M", {1: 5}),
        period("yesterday", "today", "PT60M", {1: 5}),
        "<Period><resolution>PT60M</resolution></Period>",
    ],
)
def test_a_broken_period_is_a_change_of_the_feed(bad):
    with pytest.raises(FeedChanged):
        prices(auction(bad))


def test_an_unknown_curve_is_a_change_of_the_feed():
    with pytest.raises(FeedChanged):
        prices(auction(period(*DAY, "PT60M", {1: 50}), curve="A02"))


# Auctions and currencies.

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


# Load.


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


@pytest.mark.parametrize("feed", [DEMAND, FLOWS, CAPACITY], ids=lambda feed: feed.id)
def test_another_document_is_refused(feed, recordings):
    body = (recordings / "entsoe/a44_NL_2024-09-02_pt60m_a03.xml").read_bytes()
    with pytest.raises(FeedChanged, match="A44"):
        feed.parse(body, Request(feed.id, "", zone="NL"))


# Capacity.


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


@pytest.mark.parametrize(
    "typed",
    [
        (("B26", year(2024, 2024, [1])),),
        (("B04", year(2024, 2024, [1])), ("B04", year(2024, 2024, [2]))),
        (("B04", period("2024-03-31T22:00Z", "2025-03-31T22:00Z", "P1Y", [1], "quantity")),),
        (("B04", period("2023-12-31T23:00Z", "2024-12-31T23:00Z", "P1M", [1], "quantity")),),
        (("B04", year(2024, 2024, {2: 1})),),
    ],
)
def test_what_is_no_capacity_of_calendar_years_is_refused(typed):
    with pytest.raises(FeedChanged):
        installed(*typed)


def test_the_same_capacity_twice_is_counted_once():
    assert [r.value for r in installed(("B04", year(2024, 2024, [5])), ("B04", year(2024, 2024, [5])))] == [5.0]


# Refusals.


@pytest.mark.parametrize(
    "file",
    [
        "ack_a44_nodata_DE-LU_http200.xml",
        "ack_a65_nodata_FR_2050_http200.xml",
        "ack_a65_nodata_bad-domain_http200.xml",
    ],
)
def test_recorded_acknowledgements_are_not_published(file, parsed):
    with pytest.raises(NotPublished, match="No matching data found"):
        parsed(f"entsoe/{file}")


def test_the_recorded_refusal_of_a_token_names_the_variable(parsed):
    with pytest.raises(CredentialsMissing, match="ENTSOE_API_TOKEN"):
        parsed("entsoe/error_401_unauthorized.html")


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


WHOLE = document("A44", auction(period(*DAY, "PT60M", {1: 50, 2: 51})))


@pytest.mark.parametrize("cut", range(0, len(WHOLE) - 1, 41))
def test_a_document_cut_anywhere_gives_nothing(cut):
    with pytest.raises(FeedError):
        PRICE.parse(WHOLE[:cut], Request(PRICE.id, "", zone="NL"))


@pytest.mark.parametrize(
    ("body", "failure"),
    [
        (b"", NotPublished),
        (document("A44"), NotPublished),
        (b"<html><body>502 Bad Gateway</body></html>", FeedChanged),
        (b"{}", FeedChanged),
        (b'<!DOCTYPE x [<!ENTITY a "b">]><Publication_MarketDocument/>', FeedChanged),
        (document("A69", root="GL_MarketDocument"), FeedChanged),
        (b"<Publication/>", FeedChanged),
    ],
)
def test_what_is_no_document_fails_by_type(body, failure):
    with pytest.raises(failure):
        PRICE.parse(body, Request(PRICE.id, "", zone="NL"))


def test_a_zipped_answer_is_opened():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("1.xml", WHOLE)
    assert len(PRICE.parse(buffer.getvalue(), Request(PRICE.id, "", zone="NL"))) == 24


# Requests.


def ask(feed, first, last=None):
    return feed.requests(market_days(first, last or first, feed.tz), clock.now())


def params(url):
    return {k: v for k, v in parse_qsl(urlsplit(url).query) if k not in ("securityToken", "offset")}


@pytest.mark.parametrize(
    ("file", "first", "last", "zone"),
    [
        ("a44_AT_2024-07-28_seq1_pt60m.xml", date(2024, 7, 28), None, "AT"),
        ("a65_BE_2024-01-15_week_pt15m.xml", date(2024, 1, 15), date(2024, 1, 21), "BE"),
        ("a65_NL_2024-09-02_pt15m.xml", date(2024, 9, 2), None, "NL"),
        ("a68_NL_2024.xml", date(2024, 1, 1), None, "NL"),
        ("a11_DE-LU_to_NL_2024-09-02_week_a03gaps.xml", date(2024, 9, 2), date(2024, 9, 8), "NL"),
        ("a11_NL_to_DE-LU_2024-09-02_week_a03gaps.xml", date(2024, 9, 2), date(2024, 9, 8), "NL"),
    ],
)
def test_recorded_requests_are_those_that_we_send(file, first, last, zone, recorded):
    entry = recorded(f"entsoe/{file}")
    mine = [dict(r.params) for r in ask(sources.feed(entry["feed"]), first, last) if r.zone == zone]
    theirs = params(entry["request_url"])
    if entry["feed"] == "entsoe.flows":  # ours reach two weeks further back
        mine = [{**query, "periodStart": theirs["periodStart"]} for query in mine]
    assert theirs in mine


@pytest.mark.parametrize(
    ("day", "start", "end"),
    [
        (date(2026, 11, 20), "202611192300", "202611202300"),
        (date(2026, 3, 29), "202603282300", "202603292200"),
        (date(2026, 10, 25), "202610242200", "202610252300"),
    ],
)
def test_a_day_is_asked_for_from_local_midnight_to_midnight(day, start, end):
    for product in (PRICE, DEMAND):
        assert {dict(r.params)["periodStart"] for r in ask(product, day)} == {start}
    for product in (PRICE, DEMAND, FLOWS):
        assert {dict(r.params)["periodEnd"] for r in ask(product, day)} == {end}


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


def test_the_token_is_never_part_of_a_request():
    request = ask(PRICE, date(2026, 11, 20))[0]
    assert request.secrets[0].name == "securityToken"
    assert "securityToken" not in request.url + json.dumps(request.params)


@pytest.mark.parametrize(
    ("feed", "blocks"), [(PRICE, 5), (DEMAND, 2), (FLOWS, 2)], ids=lambda x: getattr(x, "id", str(x))
)
def test_a_month_is_asked_for_in_blocks_that_the_publisher_answers(feed, blocks):
    requests = [
        r for r in ask(feed, date(2026, 10, 1), date(2026, 10, 31)) if (r.zone, r.part) in (("NL", ""), ("NL", "BE>NL"))
    ]
    assert len(requests) == blocks
    assert [day for r in requests for day in r.days] == [date(2026, 10, i + 1) for i in range(31)]


def test_a_year_of_capacity_is_one_question_a_zone():
    requests = ask(CAPACITY, date(2024, 1, 1), date(2025, 1, 1))
    assert len(requests) == 20
    assert dict(requests[0].params)["periodStart"] == "202312312300"
    assert {r.days for r in requests} == {(date(2024, 1, 1),), (date(2025, 1, 1),)}


def test_both_directions_of_every_border_are_asked_for():
    directions = {(r.zone, r.part) for r in ask(FLOWS, date(2026, 11, 20))}
    assert len(directions) == 2 * sum(len(borders) for borders in BORDERS.values()) == 132
    assert {part for zone, part in directions if zone == "ES"} == {"FR>ES", "ES>FR", "Portugal>ES", "ES>Portugal"}


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
