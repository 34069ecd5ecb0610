"""Test New York: the repeated hour by order, sums of all their parts, no advisory prices, no stray values."""

from __future__ import annotations

import io
import zipfile
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from assets import sources
from assets.sources.nyiso import LOAD_ZONES, TIES
from warehouse.errors import FeedChanged, NotPublished
from warehouse.market import clock
from warehouse.market.clock import MarketDay, instant, market_days
from warehouse.market.feeds import Request

RT, DA, LOAD, FLOWS = (sources.feed(f"nyiso.{name}") for name in ("lbmp_rt", "lbmp_da", "load", "flows"))
LBMP = "Time Stamp,Name,PTID,LBMP ($/MWHr),Marginal Cost Losses ($/MWHr),Marginal Cost Congestion ($/MWHr)"


def read(feed, body):
    return feed.parse(body if isinstance(body, bytes) else body.encode(), Request(feed.id, ""))


def net(rows):
    return {r.ts: r.value for r in rows if r.counterparty is None}


def at(text):
    """Return the time of a New York stamp with its offset, such as `2025-11-02T01:00-04:00`."""
    return instant(text)


def lbmp(stamps, name="N.Y.C."):
    """Return a price file with one price per stamp, which grows by one, and a row of another zone beside it."""
    lines = [
        f"{stamp},CAPITL,61757,1.00,0.10,0.00\n{stamp},{name},61761,{10 + i}.50,1.00,-2.00"
        for i, stamp in enumerate(stamps)
    ]
    return "\r\n".join([LBMP, *"\n".join(lines).split("\n"), ""])


def clock_stamps(first, count, step, tz="America/New_York"):
    """Return wall-clock stamps of `count` intervals, as New York prints them."""
    moments = (datetime.fromtimestamp(first + i * step, ZoneInfo(tz)) for i in range(count))
    return [f"{moment:%m/%d/%Y %H:%M}" for moment in moments]


def pal(stamps, zones=LOAD_ZONES, clock="EST"):
    lines = [f'"{stamp}","{clock}","{zone}",617{i:02},{100 + i}.25' for stamp in stamps for i, zone in enumerate(zones)]
    return "\r\n".join(['"Time Stamp","Time Zone","Name","PTID","Load"', *lines, ""])


INTERNAL, QUEBEC_AGAIN, NEW = ("23330", "CENTRAL EAST - VC"), ("325376", "SCH - HQ_IMPORT_EXPORT"), ("9", "SCH - NEW")


def flows(stamps, ties=tuple(TIES), more=()):
    points = (INTERNAL, *((point, f"SCH - {point}") for point in ties), QUEBEC_AGAIN, *more)
    lines = [
        f"{stamp},{name},{point},{i * 10}.5,9999,-9999" for stamp in stamps for i, (point, name) in enumerate(points)
    ]
    return "\r\n".join(
        ["Timestamp,Interface Name,Point ID,Flow (MWH),Positive Limit (MWH),Negative Limit (MWH)", *lines, ""]
    )


def test_a_repeated_hour_out_of_order_is_dropped_and_counted():
    stamps = clock_stamps(MarketDay(date(2026, 11, 1), "America/New_York").start, 25, 3600)
    rows = read(DA, lbmp(stamps[::-1]))
    assert len(rows) == 23
    assert rows.dropped == {"ambiguous stamp": 2}


@pytest.mark.parametrize(
    ("ends", "kept"),
    [
        (["14:30", "14:35", "14:40", "14:45", "15:00", "15:15"], 3),  # 14:45 may be either, so it counts as advisory
        (["14:30", "14:35", "14:45", "15:00"], 2),
        (["14:35", "14:40"], 2),
        (["00:05", "00:15", "00:30"], 1),
    ],
)
def test_advisory_quarter_hours_of_a_running_day_are_no_prices(ends, kept):
    rows = read(RT, lbmp([f"11/20/2026 {end}" for end in ends]))
    assert len(rows) == kept
    assert sum(rows.dropped.values()) == len(ends) - kept


def test_until_2005_city_and_island_are_one_part_of_the_sum():
    """Read the names of the load files from 2001 to January 2005, also in a file that changes to the new names."""
    before = [zone for zone in LOAD_ZONES if zone not in ("N.Y.C.", "LONGIL")] + ["N.Y.C._LONGIL"]
    rows = read(LOAD, pal(["01/15/2004 00:00:00"], before))
    assert net(rows) == {at("2004-01-15T00:00-05:00"): sum(100.25 + i for i in range(10))}
    assert rows.dropped == {}
    short = read(LOAD, pal(["01/15/2004 00:00:00"], before[1:]))
    assert (len(short), short.dropped) == (0, {"sum without all its parts": 1})
    both = pal(["01/31/2005 00:00:00"], before) + pal(["01/31/2005 00:05:00"]).split("\n", 1)[1]
    assert net(read(LOAD, both)) == {
        at("2005-01-31T00:00-05:00"): sum(100.25 + i for i in range(10)),
        at("2005-01-31T00:05-05:00"): sum(100.25 + i for i in range(11)),
    }


def test_the_load_file_says_which_pass_a_stamp_is_in():
    rows = read(
        LOAD, pal(["11/01/2026 01:30:00"], clock="EST") + pal(["11/01/2026 01:30:00"], clock="EDT").split("\n", 1)[1]
    )
    assert sorted(net(rows)) == [at("2026-11-01T01:30-04:00"), at("2026-11-01T01:30-05:00")]
    with pytest.raises(FeedChanged):
        read(LOAD, pal(["11/01/2026 01:30:00"], clock="PST"))


def test_the_wall_clock_decides_where_the_column_of_clocks_is_wrong():
    """Check 2005-04-03 and 2005-10-30, when the column changes at seven, hours after the clock."""
    late = "04/03/2005 06:00:00"
    spring = pal(["04/03/2005 01:55:00", "04/03/2005 03:00:00", late])
    spring += pal(["04/03/2005 07:00:00"], clock="EDT").split("\n", 1)[1]
    assert sorted(net(read(LOAD, spring))) == [
        at(f"2005-04-03T{stamp}") for stamp in ("01:55-05:00", "03:00-04:00", "06:00-04:00", "07:00-04:00")
    ]
    autumn = pal(["10/30/2005 01:30:00", "10/30/2005 01:30:00", "10/30/2005 02:00:00"], clock="EDT")
    assert sorted(net(read(LOAD, autumn))) == [
        at(f"2005-10-30T{stamp}") for stamp in ("01:30-04:00", "01:30-05:00", "02:00-05:00")
    ]


def test_a_zone_at_exactly_zero_is_an_outage_of_its_meter():
    body = pal(["11/20/2026 00:00:00", "11/20/2026 00:05:00"]).replace("100.25", "0", 1)
    rows = read(LOAD, body)
    assert net(rows) == {at("2026-11-20T00:05-05:00"): 1157.75}
    assert rows.dropped == {"a zone at 0 MW: meter outage": 1}


def test_without_a_tie_there_is_no_net():
    rows = read(FLOWS, flows(["11/20/2026 00:00"], tuple(TIES)[1:]))
    assert not net(rows)
    assert len(rows) == 10


def test_a_tie_that_is_known_to_be_there_is_missed_on_the_day_that_lacks_it():
    without = [point for point in TIES if point != "625211"]
    assert net(read(FLOWS, flows(["09/19/2026 00:00"], without)))
    assert not net(read(FLOWS, flows(["09/20/2026 00:00"], without)))


@pytest.mark.parametrize("blank", [b"", b"\r\n", LBMP.encode(), f"{LBMP}\r\n".encode()])
def test_a_blank_day_in_a_months_zip_costs_no_other(blank):
    whole = lbmp(["11/01/2025 00:00", "11/01/2025 01:00"])
    for files in ([whole.encode(), blank], [blank, whole.encode()]):
        assert [r.value for r in read(DA, zip_of(files))] == [r.value for r in read(DA, whole)]
    with pytest.raises(NotPublished):
        read(DA, zip_of([blank, blank]))


def zip_of(files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for number, content in enumerate(files, 1):
            archive.writestr(f"202511{number:02}damlbmp_zone.csv", content)
    return out.getvalue()


POSTINGS = "https://oasis-postings.prod.nysdi.com"


def test_a_month_of_old_real_time_prices_is_asked_for_once():
    requests = RT.requests(market_days(date(2025, 10, 30), date(2025, 12, 7), RT.tz), clock.now())
    assert [r.url for r in requests] == [
        "http://mis.nyiso.com/public/csv/realtime/20251001realtime_zone_csv.zip",
        "http://mis.nyiso.com/public/csv/realtime/20251101realtime_zone_csv.zip",
        "http://mis.nyiso.com/public/csv/realtime/20251201realtime_zone_csv.zip",
        f"{POSTINGS}/RT_LBMP_ZONE/CSV/2025/12/06/realtime_zone-20251206.csv",
        f"{POSTINGS}/RT_LBMP_ZONE/CSV/2025/12/07/realtime_zone-20251207.csv",
    ]
    assert requests[1].days == tuple(date(2025, 11, 1) + timedelta(days=i) for i in range(30))
    assert requests[2].days == tuple(date(2025, 12, i) for i in range(1, 6))
