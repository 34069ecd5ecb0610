"""Test ENTSO-E's flows: both directions, nets of all borders, coarser resolutions, interconnectors in both zones."""

from __future__ import annotations

import pytest

from assets.sources import feed
from assets.sources.entsoe.areas import BORDERS, EIC, NET_SINCE
from assets.sources.entsoe.net import INTO, OUT_OF
from warehouse.errors import FeedChanged
from warehouse.market.clock import DAY, instant
from warehouse.market.feeds import Request
from warehouse.market.vocabulary import Metric
from warehouse.rows.schema import Rows, SeriesKey

FLOWS = feed("entsoe.flows")
NOON = instant("2026-11-20T12:00:00Z")
HOUR, QUARTER = 3600, 900


def one_way(border, way, readings, resolution="1h"):
    """Return rows of one direction of a border; `readings` is {time: MW in that direction}."""
    sign = 1.0 if way == INTO else -1.0
    rows = Rows()
    key = SeriesKey(border.zone, "interchange", "MW", resolution, counterparty=border.neighbour, link=way)
    rows.extend(key, list(readings), [sign * value for value in readings.values()])
    return rows


def gathered(*parts):
    rows = Rows()
    for part in parts:
        rows.merge(part)
    return rows


def zone(name, into=100.0, out=30.0, at=NOON, resolution="1h", but=()):
    """Return both directions of all borders of a zone, except those with the neighbours `but`."""
    return gathered(
        *(
            one_way(border, way, {at: value}, resolution)
            for border in BORDERS[name]
            if border.neighbour not in but
            for way, value in ((INTO, into), (OUT_OF, out))
        )
    )


def net(rows):
    return {(r.ts, r.resolution): r.value for r in rows.sorted() if r.counterparty is None}


def over(rows, neighbour):
    return {(r.ts, r.resolution): r.value for r in rows.sorted() if r.counterparty == neighbour}


def border(name, neighbour):
    return next(b for b in BORDERS[name] if b.neighbour == neighbour)


def test_a_border_with_one_direction_is_none_and_makes_no_net():
    rows = FLOWS.combine(gathered(zone("ES", but=("FR",)), one_way(border("ES", "FR"), INTO, {NOON: 100.0})))
    assert over(rows, "FR") == {}
    assert over(rows, "Portugal") == {(NOON, "1h"): 70.0}
    assert net(rows) == {}


@pytest.mark.parametrize("name", list(BORDERS))
def test_every_border_of_a_zone_is_needed_for_its_net(name):
    assert net(FLOWS.combine(zone(name))) == {(NOON, "1h"): 70.0 * len(BORDERS[name])}
    for one in BORDERS[name]:
        assert net(FLOWS.combine(zone(name, but=(one.neighbour,)))) == {}


def test_a_zone_has_no_net_of_the_time_when_a_border_was_not_known(monkeypatch):
    """Leave out nets before `NET_SINCE`: the Baltic states' borders lack the exchange with Russia until 2025-02-09."""
    monkeypatch.setitem(NET_SINCE, "ES", NOON)
    rows = FLOWS.combine(gathered(zone("ES", at=NOON - HOUR), zone("ES")))
    assert [*net(rows)] == [(NOON, "1h")]
    assert [*over(rows, "FR")] == [(NOON - HOUR, "1h"), (NOON, "1h")]


def test_the_net_is_there_for_the_intervals_that_all_borders_share():
    longer = {NOON: 100.0, NOON + HOUR: 100.0}
    rows = FLOWS.combine(
        gathered(
            *(
                one_way(b, way, longer if b.neighbour == "FR" else {NOON: 100.0})
                for b in BORDERS["ES"]
                for way in (INTO, OUT_OF)
            )
        )
    )
    assert over(rows, "FR") == {(NOON, "1h"): 0.0, (NOON + HOUR, "1h"): 0.0}
    assert net(rows) == {(NOON, "1h"): 0.0}


def quarters(*values):
    return {NOON + i * QUARTER: value for i, value in enumerate(values)}


def test_finer_borders_are_brought_to_the_coarser_by_their_mean():
    fine = border("ES", "FR")
    both = (
        one_way(fine, INTO, quarters(10.0, 20.0, 30.0, 41.0), "15m"),
        one_way(fine, OUT_OF, quarters(0, 0, 0, 1.0), "15m"),
    )
    rows = FLOWS.combine(gathered(zone("ES", but=("FR",)), *both))
    assert over(rows, "FR") == {(NOON + i * QUARTER, "15m"): v for i, v in enumerate((10.0, 20.0, 30.0, 40.0))}
    assert net(rows) == {(NOON, "1h"): 70.0 + 25.0}


def test_a_border_whose_directions_differ_in_resolution_takes_the_coarser():
    one = border("ES", "FR")
    rows = FLOWS.combine(
        gathered(one_way(one, INTO, quarters(10.0, 20.0, 30.0, 40.0), "15m"), one_way(one, OUT_OF, {NOON: 5.0}))
    )
    assert over(rows, "FR") == {(NOON, "1h"): 20.0}


def test_an_hour_that_is_not_whole_has_no_mean():
    one = border("ES", "FR")
    rows = FLOWS.combine(
        gathered(one_way(one, INTO, quarters(10.0, 20.0, 30.0), "15m"), one_way(one, OUT_OF, {NOON: 5.0}))
    )
    assert over(rows, "FR") == {}


def test_each_hour_has_its_own_resolution():
    one = border("ES", "FR")
    fine = quarters(10.0, 20.0, 30.0, 40.0)
    coarse = {NOON + HOUR: 7.0}
    sides = [one_way(one, way, *readings) for way in (INTO, OUT_OF) for readings in ((fine, "15m"), (coarse,))]
    rows = FLOWS.combine(gathered(*sides))
    assert {resolution for _, resolution in over(rows, "FR")} == {"15m", "1h"}


def test_a_direction_that_says_two_things_has_no_sum():
    one = border("ES", "FR")
    twice = gathered(one_way(one, INTO, {NOON: 100.0}), one_way(one, INTO, {NOON: 101.0}))
    assert net(FLOWS.combine(gathered(zone("ES", but=("FR",)), twice, one_way(one, OUT_OF, {NOON: 1.0})))) == {}
    same = gathered(one_way(one, INTO, {NOON: 100.0}), one_way(one, INTO, {NOON: 100.0}))
    assert over(FLOWS.combine(gathered(same, one_way(one, OUT_OF, {NOON: 1.0}))), "FR") == {(NOON, "1h"): 99.0}


def test_a_cable_counts_from_its_first_tests_on():
    before, after = instant("2023-11-30T12:00:00Z"), instant("2023-12-20T18:00:00Z")
    assert net(FLOWS.combine(zone("DK-1", at=before, but=("GB",)))) == {(before, "1h"): 350.0}
    assert net(FLOWS.combine(zone("DK-1", at=after, but=("GB",)))) == {}
    assert net(FLOWS.combine(zone("DK-1", at=before))) == {(before, "1h"): 420.0}


# The following tests parse bodies.


def flow(origin, target, values, resolution="PT60M", start="2026-11-20T12:00Z", end="2026-11-20T13:00Z"):
    points = "".join(
        f"<Point><position>{i}</position><quantity>{v}</quantity></Point>" for i, v in enumerate(values, 1)
    )
    return (
        '<Publication_MarketDocument xmlns="urn:iec62325.351:tc57wg16:451-3:publicationdocument:7:0">'
        "<type>A11</type><TimeSeries>"
        f"<in_Domain.mRID>{target}</in_Domain.mRID><out_Domain.mRID>{origin}</out_Domain.mRID>"
        "<quantity_Measure_Unit.name>MAW</quantity_Measure_Unit.name><curveType>A03</curveType>"
        f"<Period><timeInterval><start>{start}</start><end>{end}</end></timeInterval><resolution>{resolution}</resolution>{points}</Period>"
        "</TimeSeries></Publication_MarketDocument>"
    ).encode()


def days_of_flows(zone, silent, silent_days, days=20):
    """Return hourly imports of 75 MW net per border; the border `silent` lacks `silent_days` from the third day."""
    rows = Rows()
    for border in BORDERS[zone]:
        gone = range(2, 2 + silent_days) if border.neighbour == silent else ()
        for way, sign in ((INTO, 1.0), (OUT_OF, -0.25)):
            starts = [MIDNIGHT + h * 3600 for h in range(24 * days) if h // 24 not in gone]
            key = SeriesKey(zone, Metric.INTERCHANGE, "MW", "1h", counterparty=border.neighbour, link=way)
            rows.extend(key, starts, [sign * 100.0] * len(starts))
    return rows


def net_of(rows):
    return {r.ts: r.value for r in rows if r.counterparty is None}


def test_a_cable_silent_for_two_weeks_is_out_of_service_and_the_net_goes_on_without_it():
    whole = 75.0 * len(BORDERS["NO-2"])
    for silent, without in ((13, 0), (14, 14 * 24), (18, 18 * 24)):
        rows = FLOWS.combine(days_of_flows("NO-2", "NL", silent))
        assert len(net_of(rows)) == 20 * 24 - (0 if without else silent * 24)
        assert set(net_of(rows).values()) == ({whole, whole - 75.0} if without else {whole})
        assert rows.dropped == (
            {"NO-2 without NL, silent for 14 days (hours)": without}
            if without
            else {"no net of NO-2: NL is silent (hours)": silent * 24}
        )
        assert not [r for r in rows if r.counterparty == "NL" and MIDNIGHT + 2 * DAY <= r.ts < MIDNIGHT + 15 * DAY]


@pytest.mark.parametrize(
    ("zone", "neighbour"),
    [(z, b.neighbour) for z, own in BORDERS.items() for b in own if not b.is_cable],
)
def test_a_border_of_lines_is_never_taken_for_dead(zone, neighbour):
    rows = FLOWS.combine(days_of_flows(zone, neighbour, 18))
    assert len(net_of(rows)) == 2 * 24
    assert rows.dropped == {f"no net of {zone}: {neighbour} is silent (hours)": 18 * 24}


def test_a_zone_whose_borders_are_mostly_silent_has_no_net():
    rows = Rows()
    for way in (INTO, OUT_OF):
        key = SeriesKey("FR", Metric.INTERCHANGE, "MW", "1h", counterparty="BE", link=way)
        rows.extend(key, [MIDNIGHT + h * 3600 for h in range(24 * 20)], [1.0] * 480)
    assert {r.counterparty for r in FLOWS.combine(rows)} == {"BE"}


MIDNIGHT = instant("2026-10-31T23:00:00Z")


def read(body, zone=None):
    return FLOWS.parse(body, Request(FLOWS.id, "", zone=zone))


@pytest.mark.parametrize(("name", "cable"), [("FR", "Celtic"), ("DE-LU", "NeuConnect")])
def test_an_announced_border_withholds_the_net_from_its_year_on(name, cable):
    last, first = instant("2027-12-31T23:00:00Z"), instant("2028-01-01T00:00:00Z")
    rows = FLOWS.combine(gathered(zone(name, at=last), zone(name, at=first)))
    assert list(net(rows)) == [(last, "1h")]
    assert len([r for r in rows if r.counterparty]) == 2 * len(BORDERS[name])
    (member,) = rows.unknown
    assert cable in member.name
    assert rows.refused[name, "interchange"] == {first + n * QUARTER for n in range(4)}


def test_a_cable_counts_from_its_first_reading_even_before_its_date():
    early = instant("2019-08-20T00:00:00Z")
    hours = [early + n * HOUR for n in range(3)]
    others = gathered(*(zone("DK-1", at=at, but=("NL", "GB")) for at in hours))
    cobra = gathered(*(one_way(border("DK-1", "NL"), way, {hours[1]: 30.0}) for way in (INTO, OUT_OF)))
    assert [ts for ts, _ in net(FLOWS.combine(gathered(others, cobra)))] == hours[:2]


def test_a_border_published_under_a_control_area_is_the_zones():
    rows = read(flow("10YDE-RWENET---I", EIC["BE"], [900]))
    assert {(r.zone, r.counterparty) for r in rows} == {("BE", "DE-LU"), ("DE-LU", "BE")}
    for ukraine in ("10Y1001C--000182", "10Y1001C--00003F"):
        assert {r.counterparty for r in read(flow(ukraine, EIC["PL"], [300]))} == {"Ukraine"}
    with pytest.raises(FeedChanged):  # Amprion covers only a part of Germany's border with the Netherlands
        read(flow("10YDE-RWENET---I", EIC["NL"], [900]))


@pytest.mark.parametrize(
    ("origin", "target", "zone"),
    [
        (EIC["FR"], EIC["ES"], "NL"),
        (EIC["FR"], EIC["FR"], "FR"),
        (EIC["FR"], "10Y1001A1001A39I", "FR"),
        ("10YGB----------A", "10YCZ-CEPS-----N", None),
        ("", EIC["FR"], "FR"),
    ],
)
def test_what_is_no_border_that_was_asked_for_is_refused(origin, target, zone):
    with pytest.raises(FeedChanged):
        read(flow(origin, target, [1]), zone)
