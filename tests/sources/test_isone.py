"""Test New England: objects or lists, offsets in the stamps, reports with a trailer, nets only with all ties."""

from __future__ import annotations

import json
from datetime import date

import pytest

from assets import sources
from warehouse.errors import FeedChanged
from warehouse.market import clock
from warehouse.market.clock import MarketDay, instant, market_days
from warehouse.market.feeds import Request
from warehouse.rows.schema import Row, Rows

RT, DA, LOAD, FLOWS = (sources.feed(f"isone.{name}") for name in ("lmp_rt", "lmp_da", "load", "flows"))
TZ = "America/New_York"


def read(feed, document):
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    return feed.parse(body, Request(feed.id, ""))


def stamp(text):
    return {"BeginDate": f"{text[:16]}:00.000{text[16:]}"}


def load(text, mw, name="Load"):
    return {**stamp(text), "Location": {"@LocId": "32", "$": "NEPOOL AREA"}, name: mw, "NativeLoad": 1.0}


def tie(number, *readings):
    return {
        number: [
            {**stamp(text), "Actual": flow, "Current": 0, "Location": {"@LocId": number}} for text, flow in readings
        ]
    }


def page(*ties):
    return [{"data": {name: rows for one in ties for name, rows in one.items()}, "namespace": "_nstmp_"}]


def report(title, header, *lines):
    head = [
        f'"C","{title}"',
        '"C","Filename: x.csv"',
        '"C","Report for: 11/01/2026 - 11/01/2026"',
        '"C","Report generated: now"',
    ]
    return "\n".join([*head, header, header.replace("Date", "String"), *lines, f'"T","{len(lines)} lines"']).encode()


DA_TITLE = "Day-Ahead Energy Market Hourly LMP Report"
DA_HEADER = (
    '"H","Date","Hour Ending","Location ID","Location Name","Location Type",'
    '"Locational Marginal Price","Energy Component"'
)


@pytest.mark.parametrize("wrap", [lambda entry: entry, lambda entry: [entry]], ids=["object", "list"])
def test_a_single_entry_may_be_an_object(wrap):
    entries = wrap(load("2026-11-20T07:00-05:00", 13657.3))
    assert list(read(LOAD, {"HourlySystemLoads": {"HourlySystemLoad": entries}})) == [
        Row("US-ISONE", "demand", None, None, None, instant("2026-11-20T12:00Z"), 13657.3, "MW", "1h"),
    ]


@pytest.mark.parametrize("quote", ['"', ""])
def test_a_report_is_read_with_quoted_and_bare_hours(quote):
    hours = [f"{h:02}" for h in (1, 2)] + ["02X"] + [f"{h:02}" for h in range(3, 25)]
    lines = [
        f'"D","11/01/2026",{quote}{h}{quote},"4000",".H.INTERNAL_HUB","HUB",{20 + i}.25,1.0'
        for i, h in enumerate(hours)
    ]
    rows = read(DA, report(DA_TITLE, DA_HEADER, '"D","11/01/2026","01","321","NODE 4000","NODE",1.0,2.0', *lines))
    midnight = MarketDay(date(2026, 11, 1), TZ).start
    assert {r.ts: r.value for r in rows} == {midnight + i * 3600: 20.25 + i for i in range(25)}


def test_a_report_of_the_spring_day_has_no_third_hour():
    line = '"D","03/08/2026","{}","4000",".H.INTERNAL_HUB","HUB",20.25,1.0'
    rows = read(DA, report(DA_TITLE, DA_HEADER, *(line.format(f"{h:02}") for h in (1, 2, 4))))
    midnight = MarketDay(date(2026, 3, 8), TZ).start
    assert [r.ts for r in rows] == [midnight, midnight + 3600, midnight + 7200]
    with pytest.raises(FeedChanged):
        read(DA, report(DA_TITLE, DA_HEADER, line.format("03")))


def test_loads_of_the_repeated_hour_that_nothing_places_are_counted():
    stamps = [f"11/01/2026 0{hour}:{minute:02}:00" for hour in (0, 1, 2) for minute in range(0, 60, 5)]
    lines = [f'"D","{text}",{9000 + i}.5,3.0' for i, text in enumerate(stamps)]
    rows = read(LOAD, report("System Load Report", '"H","Date/Time","Native Load","Asset Related Load"', *lines))
    assert len(rows) == 24
    assert rows.dropped == {"ambiguous stamp": 12}


def test_the_five_minute_load_report_is_placed_by_its_order():
    minutes = [f"11/01/2026 01:{m:02}:00" for m in range(0, 60, 5)]
    stamps = ["11/01/2026 00:55:00", *minutes, *minutes, "11/01/2026 02:00:00"]
    lines = [f'"D","{text}",{9000 + i}.5,3.0' for i, text in enumerate(stamps)]
    rows = read(LOAD, report("System Load Report", '"H","Date/Time","Native Load","Asset Related Load"', *lines))
    first = instant("2026-11-01T00:55-04:00")
    assert [(r.ts, r.value) for r in rows] == [(first + i * 300, 9000.5 + i) for i in range(26)]


def combined(*ties):
    rows = Rows()
    for one in ties:
        rows.merge(read(FLOWS, page(one)))
    return {r.ts: r.value for r in FLOWS.combine(rows) if r.link is None}


OLD_TIES = ("4010", "4011", "4012", "4013", "4014", "4017")
NOON, LATER, NEXT_DAY = "2025-11-20T12:00-05:00", "2025-11-20T12:05-05:00", "2025-11-21T12:00-05:00"


def test_a_net_needs_every_tie():
    assert combined(*(tie(number, (NOON, -10.0), (LATER, -20.0)) for number in OLD_TIES)) == {
        instant(NOON): 60.0,
        instant(LATER): 120.0,
    }
    assert combined(*(tie(number, (NOON, -10.0)) for number in OLD_TIES[1:])) == {}
    assert combined(tie("4010", (LATER, -1.0)), *(tie(number, (NOON, -10.0)) for number in OLD_TIES[1:])) == {}


def test_the_young_tie_counts_from_its_first_reading_on_or_from_the_day_that_is_known():
    old = [tie(number, (NOON, -10.0), (LATER, -10.0), (NEXT_DAY, -10.0)) for number in OLD_TIES]
    assert combined(*old, tie("4018", (LATER, -500.0))) == {instant(NOON): 60.0, instant(LATER): 560.0}
    assert combined(*(tie(number, ("2025-12-17T00:00-05:00", -10.0)) for number in OLD_TIES)) == {}


SERVICE = "https://webservices.iso-ne.com/api/v1.1"


def test_real_time_prices_are_preliminary_for_some_days(monkeypatch):
    monkeypatch.setenv("EMDS_NOW", "2026-11-20T12:00:00-05:00")
    requests = RT.requests(market_days(date(2026, 11, 15), date(2026, 11, 20), TZ), clock.now())
    assert [r.url.removeprefix(f"{SERVICE}/fiveminutelmp/") for r in requests] == [
        "prelim/day/20261115/location/4000.json",
        "final/day/20261115/location/4000.json",
        "prelim/day/20261116/location/4000.json",
        "final/day/20261116/location/4000.json",
        "prelim/day/20261117/location/4000.json",
        "prelim/day/20261118/location/4000.json",
        "prelim/day/20261119/location/4000.json",
        "prelim/day/20261120/location/4000.json",
    ]
    assert RT.revised_days == 4, "the first final prices are asked for"
    (old,) = RT.requests(market_days(date(2026, 11, 9), date(2026, 11, 9), TZ), clock.now())
    assert "/final/day/20261109/" in old.url
