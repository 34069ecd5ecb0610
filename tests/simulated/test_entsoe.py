"""Simulated ENTSO-E: the model's values on days of 23, 24 and 25 hours, publication times, documents as recorded."""

from __future__ import annotations

import re
from datetime import date

import numpy as np
import pytest

from assets.simulated import entsoe, grid
from assets.simulated.entsoe import documents
from assets.sources import feed
from assets.sources.entsoe.areas import BORDERS, EIC
from assets.sources.entsoe.requests import CAPACITY_ZONES, new_year
from assets.sources.entsoe.xml import column, interval_of, series_of, spread
from warehouse.clock import MarketDay, instant
from warehouse.errors import NotPublished
from warehouse.market import Request
from warehouse.schema import Rows

TZ = "Europe/Brussels"
DAYS = [MarketDay(date(2026, 11, 18), TZ), MarketDay(date(2026, 3, 29), TZ), MarketDay(date(2026, 10, 25), TZ)]
TODAY = MarketDay(date(2026, 11, 21), TZ)
LATER = "2026-11-25T12:00:00Z"
NOON = "2026-11-21T12:00:00+01:00"


def starts(day, step=900):
    return np.arange(day.start, day.end, step)


def answered(now=LATER, **params):
    names = {
        "position": "classificationSequence_AttributeInstanceComponent.position",
        "contract": "contract_MarketAgreement.type",
    }
    query = tuple((names.get(name, name), value) for name, value in params.items())
    return entsoe.answer(Request("entsoe.price", "https://web-api.tp.entsoe.eu/api", query), instant(now))


def window(day, last=None):
    first, last = (f"{np.datetime64(ts, 's').item():%Y%m%d%H%M}" for ts in (day.start, (last or day).end))
    return {"periodStart": first, "periodEnd": last}


@pytest.mark.parametrize("day", DAYS, ids=str)
def test_prices_are_the_grids(day, ask, inside):
    rows, refused = ask("entsoe.price", [day], LATER)
    assert not refused
    for zone in EIC:
        step = 3600 if zone == "CH" else 900
        readings = inside(rows, day, "price", zone)
        assert [r.ts for r in readings] == starts(day, step).tolist()
        assert [r.value for r in readings] == pytest.approx(
            grid.price(zone, starts(day, step), step, "day_ahead"), abs=0.00501
        )
    assert not rows.dropped


@pytest.mark.parametrize("day", DAYS, ids=str)
def test_load_is_the_grids(day, ask, inside):
    rows, refused = ask("entsoe.demand", [day], LATER)
    assert not refused
    for zone in EIC:
        step = 3600 if zone in entsoe.HOURLY_LOAD else 900
        readings = inside(rows, day, "demand", zone)
        assert [r.ts for r in readings] == starts(day, step).tolist()
        assert [r.value for r in readings] == pytest.approx(grid.demand(zone, starts(day, step), step), abs=0.00501)


@pytest.mark.slow
@pytest.mark.parametrize("day", DAYS, ids=str)
def test_borders_and_nets_are_the_grids(day, ask, inside):
    rows, refused = ask("entsoe.flows", [day], LATER)
    assert not refused
    for zone, borders in BORDERS.items():
        net = inside(rows, day, "interchange", zone)
        assert [r.ts for r in net] == starts(day, 3600).tolist()
        truth = grid.interchange(zone, starts(day, 3600), 3600)
        assert [r.value for r in net] == pytest.approx(truth, abs=0.0101 * len(borders))
        for border in borders:
            readings = inside(rows, day, "interchange", zone, border.neighbour)
            step = {"15m": 900, "1h": 3600}[readings[0].resolution]
            assert [r.ts for r in readings] == starts(day, step).tolist()
            assert [r.value for r in readings] == pytest.approx(
                grid.border(zone, border.neighbour, starts(day, step), step), abs=0.0101
            )


def test_a_border_of_several_lines_may_flow_both_ways_at_once():
    readings = [entsoe.one_way("FR", "GB", inwards, DAYS[0].start, DAYS[0].end, 3600) for inwards in (True, False)]
    assert min(flow.min() for flow in readings) == 0.0
    always = [
        entsoe.one_way("FR", "GB", inwards, DAYS[0].start - 30 * 86400, DAYS[0].end, 3600) for inwards in (True, False)
    ]
    assert ((always[0] > 0) & (always[1] > 0)).any()


def test_capacity_is_the_grids_by_fuel(ask):
    rows, refused = ask("entsoe.capacity", [MarketDay(date(2025, 7, 1), TZ), MarketDay(date(2026, 7, 1), TZ)], LATER)
    assert not refused
    for zone in CAPACITY_ZONES:
        for year in (2025, 2026):
            readings = {r.fuel: r.value for r in rows if (r.zone, r.ts) == (zone, new_year(year))}
            assert readings == grid.capacity(zone, year)


def test_a_year_is_told_from_february_on(ask):
    day = MarketDay(date(2026, 1, 1), TZ)
    assert not len(ask("entsoe.capacity", [day], "2026-01-31T12:00:00Z")[0])
    assert len(ask("entsoe.capacity", [day], "2026-02-02T12:00:00Z")[0])


def test_two_years_in_one_period_leave_out_what_did_not_change():
    params = {"documentType": "A68", "processType": "A33", "in_Domain": EIC["CH"]}
    body = answered(**params, periodStart="202412312259", periodEnd="202512312301").body
    assert re.findall(rb"<start>([^<]*)</start>", body)[0] == b"2024-12-31T23:00Z"
    nuclear = body.split(b"<psrType>B14</psrType>")[1].split(b"</TimeSeries>")[0]
    assert nuclear.count(b"<Point>") == 1
    assert body.split(b"<psrType>B16</psrType>")[1].split(b"</TimeSeries>")[0].count(b"<Point>") == 2


def test_tomorrows_prices_are_out_after_the_auction(ask, inside):
    days = [TODAY, TODAY.next()]
    for now, count in (("2026-11-21T12:56:00+01:00", 0), ("2026-11-21T12:58:00+01:00", 96)):
        rows, refused = ask("entsoe.price", days, now)
        assert len(inside(rows, TODAY, "price", "FR")) == 96
        assert len(inside(rows, TODAY.next(), "price", "FR")) == count
        assert not refused
    rows, refused = ask("entsoe.price", [TODAY.next()], NOON)
    assert not len(rows)
    assert {type(error) for _, error in refused} == {NotPublished}


def test_the_other_auction_is_out_before_and_comes_along_unasked(ask):
    params = {"documentType": "A44", "in_Domain": EIC["AT"], "out_Domain": EIC["AT"], **window(TODAY.next())}
    early, later = (answered(now, **params).body for now in (NOON, "2026-11-21T14:00:00+01:00"))
    assert re.findall(rb"position>(\d)</class", early) == [b"2"]
    assert re.findall(rb"position>(\d)</class", later) == [b"1", b"2"]
    with pytest.raises(NotPublished, match="auction 2"):
        feed("entsoe.price").parse(early, Request("entsoe.price", "", zone="AT"))
    assert b"<code>999</code>" in answered(NOON, position="1", **params).body
    assert b"<code>999</code>" in answered(contract="A07", **params).body


def test_before_october_2025_prices_were_hourly():
    params = {"documentType": "A44", "in_Domain": EIC["ES"], "out_Domain": EIC["ES"]}
    body = answered(**params, periodStart="202509282200", periodEnd="202510012200").body
    assert re.findall(rb"PT\d\dM", body) == [b"PT60M", b"PT60M", b"PT15M"]
    assert len(feed("entsoe.price").parse(body, Request("entsoe.price", "", zone="ES"))) == 48 + 96


def test_load_and_flows_end_at_the_last_hour_that_is_out(ask):
    for product in ("entsoe.demand", "entsoe.flows"):
        rows, _ = ask(product, [TODAY], NOON)
        assert {
            max(readings.ts) + {"15m": 900, "1h": 3600}[key.resolution] for key, readings in rows.readings.items()
        } == {
            instant("2026-11-21T09:00:00Z"),
        }
        tomorrow = TODAY.next()
        assert not [r for r in ask(product, [tomorrow], NOON)[0] if r.ts in tomorrow.window]


def test_load_and_flows_of_two_days_are_first_estimates(ask, inside):
    day = TODAY.next(-1)
    ts = starts(day)
    readings = [r.value for r in inside(ask("entsoe.demand", [day], NOON)[0], day, "demand", "BE")]
    truth = grid.demand("BE", ts, 900)
    assert readings == pytest.approx(grid.as_published(truth, ts, instant(NOON), "entsoe.demand/BE"), abs=0.00501)
    assert np.abs(np.array(readings) - truth).max() > 1.0
    net = [r.value for r in inside(ask("entsoe.flows", [day], NOON)[0], day, "interchange", "BE")]
    assert np.abs(np.array(net) - grid.interchange("BE", ts[::4], 3600)).max() > 1.0


def test_a_cable_has_no_flow_before_it_was_laid():
    params = {"documentType": "A11", "in_Domain": EIC["DK-1"], "out_Domain": "10YGB----------A"}
    assert b"<code>999</code>" in answered(**params, periodStart="202311010000", periodEnd="202311020000").body
    body = answered(**params, periodStart="202311290000", periodEnd="202312020000").body
    assert re.findall(rb"<start>([^<]*)</start>", body)[1] == b"2023-12-01T00:00Z"


GB = "10YGB----------A"


@pytest.mark.parametrize(
    ("params", "words"),
    [
        (
            {"documentType": "A65", "processType": "A16", "outBiddingZone_Domain": "none"},
            b"[6.1.A] (none) and interval 2026-11-17T23:00:00Z/",
        ),
        ({"documentType": "A65", "processType": "A01", "outBiddingZone_Domain": EIC["FR"]}, b"No matching data found"),
        (
            {"documentType": "A44", "in_Domain": GB, "out_Domain": GB},
            b"ENERGY_PRICES [12.1.D] (10YGB----------A, 10YGB----------A)",
        ),
        ({"documentType": "A11", "in_Domain": EIC["FR"], "out_Domain": EIC["PL"]}, b"No matching data found"),
        ({"documentType": "A68", "processType": "A33", "in_Domain": EIC["SE-3"]}, b"No matching data found"),
    ],
)
def test_what_is_not_there_is_acknowledged(params, words):
    reply = answered(**params, **window(DAYS[0]))
    assert reply.status == 200
    assert words in reply.body
    with pytest.raises(NotPublished):
        feed("entsoe.demand").parse(reply.body, Request("entsoe.demand", ""))


@pytest.mark.parametrize(
    ("params", "words"),
    [
        (
            {"documentType": "A65", "outBiddingZone_Domain": EIC["FR"], **window(DAYS[1], DAYS[0])},
            b"maximum allowed period 'P1M'",
        ),
        ({"documentType": "A99", **window(DAYS[0])}, b"not valid"),
        ({"documentType": "A65", "periodStart": "yesterday", "periodEnd": "today"}, b"not valid"),
    ],
)
def test_what_cannot_be_asked_is_refused(params, words):
    reply = answered(**params)
    assert reply.status == 400
    assert words in reply.body


def test_other_addresses_are_not_there():
    assert entsoe.answer(Request("entsoe.price", "https://web-api.tp.entsoe.eu/"), instant(LATER)).status == 404


def test_a_curve_without_gaps_may_be_asked_for():
    params = {"documentType": "A11", "in_Domain": EIC["NL"], "out_Domain": EIC["DE-LU"], **window(DAYS[0])}
    gaps, whole = (answered(**params, curveType=curve).body for curve in ("A03", "A01"))
    assert whole.count(b"<Point>") == 96
    assert (
        feed("entsoe.flows").parse(gaps, Request("", "")).sorted()
        == feed("entsoe.flows").parse(whole, Request("", "")).sorted()
    )


# Compared with recordings


def envelope(body):
    """The identification, times and interval of a recorded body, which its rows do not hold."""
    text = body.decode()
    stamps = [re.search(rf"<{name}>([^<]*)</{name}>", text)[1] for name in ("createdDateTime", "start", "end")]
    return documents.Envelope(re.search("<mRID>([^<]*)</mRID>", text)[1], *map(instant, stamps))


def periods(series, value):
    """A TimeSeries' Periods, their gaps filled."""
    for period in series.periods:
        readings = interval_of(period)
        if readings.resolution == "P1Y":
            values = spread(period, value, "A03", 1)[1]
        else:
            values = column(period, readings, value, "A03")[1]
        yield documents.Period(readings.start, readings.end, readings.resolution, values)


@pytest.mark.parametrize(
    "file",
    [
        "a44_NL_2024-09-02_pt60m_a03.xml",
        "a44_BE_2024-10-08_pt60m.xml",
        "a44_AT_2024-07-28_seq1_pt60m.xml",
        "a44_CH_2025-11-26_pt60m.xml",
        "a44_DE-LU_2024-10-06_two-auctions_no-position.xml",
    ],
)
def test_prices_are_written_as_recorded(file, recordings):
    body = (recordings / "entsoe" / file).read_bytes()
    name = "classificationSequence_AttributeInstanceComponent.position"
    auctions = [
        (series.texts.get(name, ""), list(periods(series, "price.amount"))) for series in series_of(body, "A44")
    ]
    made = documents.render_price(envelope(body), EIC[file.split("_")[1]], auctions)
    # Until 2024 the platform wrote a value one blank further left.
    published = body.rstrip(b"\n").replace(b"\n" + b" " * 17 + b"<price", b"\n" + b" " * 18 + b"<price")
    assert made.split(b"\n") == published.split(b"\n")


@pytest.mark.parametrize(
    "file",
    [
        "a65_NL_2024-09-02_pt15m.xml",
        "a65_BE_2024-01-15_week_pt15m.xml",
        "a65_FR_2021-01-01_recorded-2025_a03.xml",
    ],
)
def test_load_is_written_as_recorded(file, recorded):
    body, rows = recorded(f"entsoe/{file}")
    header = envelope(body)
    resolution = {"15m": "PT15M", "1h": "PT60M"}[next(iter(rows)).resolution]
    period = documents.Period(header.start, header.end, resolution, [row.value for row in rows])
    assert documents.render_load(header, EIC[file.split("_")[1]], period) == body


@pytest.mark.parametrize(
    "file",
    [
        "a11_DE-LU_to_NL_2024-09-02_week_a03gaps.xml",
        "a11_NL_to_DE-LU_2024-09-02_week_a03gaps.xml",
        "a11_SE-4_to_DE-LU_2021-01-01.xml",
    ],
)
def test_flows_are_written_as_recorded(file, recordings):
    body = (recordings / "entsoe" / file).read_bytes()
    [series] = series_of(body, "A11")
    [period] = periods(series, "quantity")
    made = documents.render_flow(
        envelope(body), series.texts["in_Domain.mRID"], series.texts["out_Domain.mRID"], period
    )
    assert made.split(b"\n") == body.split(b"\n")


def test_capacity_is_written_as_recorded(recordings):
    body = (recordings / "entsoe/a68_NL_2024.xml").read_bytes()
    kinds = {series.texts["psrType"]: next(periods(series, "quantity")) for series in series_of(body, "A68")}
    assert documents.render_capacity(envelope(body), EIC["NL"], kinds).split(b"\n") == body.split(b"\n")


@pytest.mark.parametrize(
    "file",
    [
        "ack_a44_nodata_DE-LU_http200.xml",
        "ack_a65_nodata_FR_2050_http200.xml",
        "ack_a65_nodata_bad-domain_http200.xml",
    ],
)
def test_acknowledgements_are_written_as_recorded(file, recordings):
    body = (recordings / "entsoe" / file).read_bytes()
    text = body.decode()
    created, mrid, reason = (
        re.search(rf"<{name}>([^<]*)</{name}>", text)[1] for name in ("createdDateTime", "mRID", "text")
    )
    assert documents.acknowledgement(mrid, instant(created), reason.replace("&amp;", "&")) == body


def test_a_border_under_repair_is_silent_and_the_net_goes_on_without_it():
    flows, now = feed("entsoe.flows"), instant(LATER)
    days = [MarketDay(date(2026, 2, 20), TZ).next(number) for number in range(20)]
    rows, silent = Rows(), 0
    for request in flows.requests(days, now):
        if EIC["PL"] not in dict(request.params).values():
            continue
        try:
            rows.merge(flows.parse(entsoe.answer(request, now).body, request))
        except NotPublished:
            silent += 1
    combined, span = flows.combine(rows), range(days[0].start, days[-1].end)
    told = [row for row in combined if row.zone == "PL" and row.ts in span]
    assert silent == 2, "both directions of one border, in the window that lies in the repair"
    assert {row.counterparty for row in told if row.counterparty} == {*BORDERS_OF_PL} - {"Sweden SE4"}
    assert [row.ts for row in told if row.counterparty is None] == [*span[::3600]]
    assert combined.dropped["PL without Sweden SE4, silent for 14 days (hours)"] > 20 * 24


BORDERS_OF_PL = [border.neighbour for border in BORDERS["PL"]]
