"""Test SPP: columns and dates in any spelling, the eastern area only, no current hours, names in the repeated hour."""

from __future__ import annotations

from datetime import date

import pytest

from assets import sources
from assets.sources.spp.requests import hourly
from warehouse.errors import FeedChanged
from warehouse.market import clock
from warehouse.market.clock import MarketDay, instant
from warehouse.market.feeds import Request

RT, DA, LOAD, HOURLY, TIES = (
    sources.feed(f"spp.{name}") for name in ("lmp_rt", "lmp_da", "load", "load_hourly", "interchange")
)
TZ = "America/Chicago"
OLD = "Interval,GMTIntervalEnd,Settlement Location,Pnode,LMP,MLC,MCC,MEC"
NEW = "Interval,GMTIntervalEnd,BAA,Settlement Location,Pnode,LMP,MLC,MCC,MEC"


def read(feed, text):
    return feed.parse(text if isinstance(text, bytes) else text.encode(), Request(feed.id, ""))


def pairs(rows):
    return [(r.ts, r.value) for r in rows]


def prices(header, *lines):
    return "\n".join([header, *lines, ""])


def sheet(*lines):
    return "\r\n".join([*lines, ""])


@pytest.mark.parametrize(
    "header", [OLD, OLD.upper().replace(" ", "_"), OLD.replace("Settlement Location", "settlementlocation")]
)
@pytest.mark.parametrize("end", ["04/01/2026 06:00:00", "4/1/2026 6:00", "4/1/2026 06:00"])
def test_any_spelling_of_header_and_date(header, end):
    hub = f"x,{end},SPPSOUTH_HUB,SPPSOUTH_H,-19.5534,0,0,0"
    rows = read(DA, prices(header, f"x,{end},AEC,SOUC,1.5,0,0,0", hub, hub.replace("6:00", "7:00")))
    assert pairs(rows) == [(instant(f"2026-04-01T0{hour}:00Z"), -19.5534) for hour in (5, 6)]


def test_day_ahead_and_real_time_are_not_taken_for_each_other():
    hourly = [f"x,11/20/2026 {hour:02}:00:00,SPPSOUTH_HUB,H,30.5,0,0,0" for hour in (13, 14)]
    with pytest.raises(FeedChanged):
        read(RT, prices(OLD, *hourly))
    with pytest.raises(FeedChanged):
        read(DA, prices(OLD, "x,11/20/2026 13:40:00,SPPSOUTH_HUB,H,30.5,0,0,0"))
    with pytest.raises(FeedChanged, match="only one interval"):
        read(DA, prices(OLD, "x,11/20/2026 14:00:00,SPPSOUTH_HUB,H,30.5,0,0,0"))


def test_the_running_hour_of_the_load_file_is_left_out():
    text = sheet(
        "Interval,GMTIntervalEnd,MTLF,Averaged Actual,BAA",
        "x,07/15/2026 07:00:00,36341,,SPP",
        "x,07/15/2026 06:00:00,38091,20432,SPP",
        "x,07/15/2026 06:00:00,3300,1700,SWPW",
        "x,07/15/2026 05:00:00,41100,41132,SPP",
        "x,07/15/2026 05:00:00,3900,3974,SWPW",
    )
    for feed in (LOAD, HOURLY):
        rows = read(feed, text)
        assert [(r.ts, r.value, r.resolution) for r in rows if r.metric == "demand"] == [
            (instant("2026-07-15T04:00Z"), 41132.0, "1h")
        ]
        assert rows.dropped == {"hour still running": 1}


def test_the_chart_leaves_its_broken_first_hour_to_the_hourly_file():
    """Leave out half an hour of rows, which would hide the hourly mean and the value of a day ago."""
    ends = [f"x,11/20/2026 {h}:{m:02}:00,30000,,30012.5,," for h in (14, 13) for m in range(0, 60, 5)][1:]
    rows = read(LOAD, sheet("Interval,GMTIntervalEnd,STLF,MTLF,Actual Load,STWF,MTWF", *ends))
    assert min(r.ts for r in rows) == instant("2026-11-20T13:00Z")
    assert rows.dropped == {"first hour of the chart, not whole": 1}


@pytest.mark.parametrize(
    ("stamp", "hours"), [("202607150000", 1), ("202607150100", 2), ("202607142300", 0), ("202611010200d", 2)]
)
def test_a_load_files_name_says_which_hours_are_over(stamp, hours):
    text = sheet(
        "Interval,GMTIntervalEnd,MTLF,Averaged Actual",
        "x,07/15/2026 06:00:00,38091,20432",
        "x,07/15/2026 05:00:00,41100,41132",
    )
    path = f"/2026/07/15/OP-MTLF-{stamp}.csv"
    for request in (Request(HOURLY.id, "", (("path", path),)), Request(HOURLY.id, f"file:///kept{path}")):
        rows = HOURLY.parse(text.encode(), request)
        over = [row for row in rows if row.metric == "demand"]
        assert (len(over), rows.dropped["hour still running"]) == (hours, 2 - hours)


def test_interchange_keeps_five_minute_instants_and_turns_the_sign():
    text = sheet(
        "GMTTime,SPP NSI,SPP NAI,AECI,EES,SPP NSI Future",
        "2026-11-20T13:40:00Z,900,912.5,100,-12,",
        "2026-11-20T13:41:00Z,900,930,1,2,",
        "2026-11-20T13:45:00Z,900,-3.5,1,2,",
        "2026-11-20T13:50:00Z,,,,,870",
    )
    rows = read(TIES, text)
    assert pairs(rows) == [(instant("2026-11-20T13:40Z"), -912.5), (instant("2026-11-20T13:45Z"), 3.5)]
    assert rows.dropped == {"between five-minute instants": 1}
    assert pairs(read(TIES, text.replace("GMTTime,SPP NSI,SPP NAI", "GMTTIME,SPP_NSI,SPP_NAI"))) == pairs(rows)
    with pytest.raises(FeedChanged, match="western"):
        read(TIES, text.replace("AECI", "APS"))


def test_a_last_line_without_an_end_is_whole_where_the_areas_name_ends_it():
    header = "Interval,GMTIntervalEnd,MTLF,Averaged Actual,BAA"
    lines = [f"x,07/15/2026 0{hour}:00:00,1,{hour}00,SPP" for hour in (5, 6)]
    text = "\n".join([header, *lines, "x,07/15/2026 04:00:00,1,400,SPP"])
    assert instant("2026-07-15T03:00Z") in dict(pairs(read(LOAD, text)))
    assert pairs(read(LOAD, text)) == pairs(read(LOAD, text + "\n"))
    assert instant("2026-07-15T03:00Z") not in dict(pairs(read(LOAD, text[:-1])))


def test_a_line_that_does_not_name_its_area_is_told_by_its_load():
    lines = [
        "x,07/15/2026 07:00:00,36341,,SPP",
        "x,07/15/2026 06:00:00,41000,41010,",
        "x,07/15/2026 06:00:00,3900,3910,",
        "x,07/15/2026 05:00:00,41100,41132,SPP",
        "x,07/15/2026 04:00:00,7000,41200,",
        "x,07/15/2026 03:00:00,,41300,",
    ]
    text = sheet("Interval,GMTIntervalEnd,MTLF,Averaged Actual,BAA", *lines)
    rows = HOURLY.parse(text.encode(), Request(HOURLY.id, f"/{hourly(instant('2026-07-15T07:00Z'))}"))
    assert sorted(pairs(rows)) == [(instant("2026-07-15T04:00Z"), 41132.0), (instant("2026-07-15T05:00Z"), 41010.0)]
    assert rows.dropped["a line without its area"] == 2
    with pytest.raises(FeedChanged, match="no rows for the area SPP"):
        read(HOURLY, text.replace("SPP", ""))


def test_a_price_cannot_tell_its_area():
    named = [f"x,4/1/2026 {hour}:00,SPP,SPPSOUTH_HUB,H,19.5,0,0,0" for hour in (6, 7)]
    rows = read(DA, prices(NEW, *named, "x,4/1/2026 8:00,,SPPSOUTH_HUB,H,19.5,0,0,0"))
    assert len(rows) == 2
    assert rows.dropped["a line without its area"] == 1


@pytest.fixture
def noon(monkeypatch):
    monkeypatch.setenv("EMDS_NOW", "2026-11-20T12:07:30-06:00")


def paths(requests):
    return [dict(r.params)["path"] for r in requests]


def test_a_poll_asks_for_the_newest_intervals_and_some_older_ones(noon):
    files = paths(RT.requests([MarketDay(date(2026, 11, 20), TZ)], clock.now()))
    assert files[-3:] == [f"/2026/11/By_Interval/20/RTBM-LMP-SL-20261120{end}.csv" for end in ("1150", "1155", "1200")]
    assert len(files) <= 9


def test_four_hours_of_polls_ask_for_the_whole_day_so_far(monkeypatch):
    day = MarketDay(date(2026, 11, 20), TZ)
    files = set()
    for poll in range(48):
        monkeypatch.setenv("EMDS_NOW", str(day.start + 18 * 3600 + 120 + poll * 300))
        files |= set(paths(RT.requests([day], clock.now())))
    before = paths(RT.requests([day.next(-1)], clock.now()))
    assert len(before) == 288
    assert {path.replace("/20/", "/19/").replace("20261120", "20261119") for path in files} >= set(before[: 18 * 12])
