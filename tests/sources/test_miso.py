"""Test MISO: daily files after a preamble, large live responses, live load and the workbook's load, interchange."""

from __future__ import annotations

import json
import struct
from datetime import date

import pytest

from assets import sources
from assets.simulated.miso.workbook import workbook
from assets.sources.miso.prices import LARGE
from warehouse.errors import FeedChanged
from warehouse.market import clock
from warehouse.market.clock import MarketDay, instant
from warehouse.market.feeds import Request
from warehouse.rows.schema import Member

LMP_RT, LMP_RT_DAILY, LMP_DA, LOAD, LOAD_DAILY, NSI = (
    sources.feed(f"miso.{name}") for name in ("lmp_rt", "lmp_rt_daily", "lmp_da", "load", "load_daily", "nsi")
)


def read(feed, body):
    """Return the rows that a feed reads from bytes, a text, or an object encoded as JSON."""
    body = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else json.dumps(body).encode()
    return feed.parse(body, Request(feed.id, ""))


HOURS = ",".join(f"HE {h}" for h in range(1, 25))


def report(
    title: str = "Day Ahead Market ExPost LMPs", day: str = "07/14/2026", gap: str = "\n", lines: tuple[str, ...] = ()
) -> str:
    hub = "INDIANA.HUB,Hub,LMP," + ",".join(f"{h}.5" for h in range(1, 25))
    note = ",,,All Hours-Ending are Eastern Standard Time (EST)\n"
    return (
        f"{title}\n{day}\n{gap}{note}Node,Type,Value,{HOURS}\n"
        + "\n".join(lines or (hub, hub.replace("LMP", "MCC")))
        + "\n"
    )


def test_values_below_one_lack_their_zero_and_a_blank_hour_is_missing():
    rows = read(LMP_DA, report(lines=("INDIANA.HUB,Hub,LMP,.6,-.37,," + ",".join("1" * 21),)))
    assert [r.value for r in rows][:3] == [0.6, -0.37, 1.0]
    assert len(rows) == 23


@pytest.mark.parametrize("title", ["Real-Time Final Market LMPs", "Real Time Market Prelim LMPs"])
@pytest.mark.parametrize("feed", [LMP_RT, LMP_RT_DAILY])
def test_real_time_files_are_hourly_prices(title, feed):
    rows = read(feed, report(title))
    assert len(rows) == 24
    assert {(r.metric, r.resolution) for r in rows} == {("price", "1h")}


def test_of_a_large_live_answer_only_the_hubs_rows_are_decoded():
    rows = [[f"2026-11-20T00:{m:02}:00", node, "27.13", "0", "0"] for m in (5, 10) for node in ("A" * 9, "INDIANA.HUB")]
    padding = [["2026-11-20T00:05:00", f"NODE.{i}", "1", "0", "0"] for i in range(30_000)]
    body = json.dumps({"headers": ["INTERVAL", "CPNODE", "LMP", "MLC", "MCC"], "data": [*rows, *padding]}).encode()
    assert len(body) > LARGE
    body = body.replace(b'"data": [', b'"data":[')
    assert [r.value for r in read(LMP_RT, body)] == [27.13, 27.13]
    with pytest.raises(FeedChanged):
        read(LMP_RT, body[:-2])
    answer = json.loads(body)
    for other in (
        json.dumps(answer),
        json.dumps({"data": answer["data"], "headers": answer["headers"]}, separators=(",", ":")),
        json.dumps({**answer, "refId": [1]}, separators=(",", ":")),
    ):
        assert len(other) > LARGE
        assert [r.value for r in read(LMP_RT, other.encode())] == [27.13, 27.13]


def test_load_is_dated_by_its_reference_only():
    rows = read(
        LOAD,
        {
            "LoadInfo": {
                "RefId": "02-Oct-2026 - Interval 16:45 EST",
                "FiveMinTotalLoad": [
                    {"Load": {"Time": "00:00", "Value": "75757"}},
                    {"Load": {"Time": "16:45", "Value": "83,808"}},
                    {"Load": {"Time": "16:50", "Value": ""}},
                ],
            }
        },
    )
    midnight = instant("2026-10-02T05:00:00Z")
    assert [(r.ts, r.value) for r in rows] == [(midnight, 75757.0), (midnight + (16 * 12 + 9) * 300, 83808.0)]


def test_a_list_that_runs_on_after_its_own_interval_is_yesterdays():
    entries = [{"Load": {"Time": f"{hour:02d}:00", "Value": str(70_000 + hour)}} for hour in range(24)]
    rows = read(LOAD, {"LoadInfo": {"RefId": "02-Oct-2026 - Interval 00:00 EST", "FiveMinTotalLoad": entries}})
    assert [(r.ts, r.value) for r in rows] == [(instant("2026-10-02T05:00:00Z"), 70_000.0)]
    assert rows.dropped["after the interval that RefId names"] == 23


def test_minus_is_import_and_neighbours_are_named():
    rows = read(
        NSI,
        {
            "instance": [
                {
                    "timestamp": "2026-10-02 16:05:00",
                    "MISO": "-421",
                    "PJM": "2057",
                    "SWPP": "-867",
                    "TVA": "0",
                    "NEWBA": "5",
                    "ONT": "",
                },
            ]
        },
    )
    start = instant("2026-10-02T21:05:00Z")
    assert [(r.counterparty, r.link, r.ts, r.value) for r in rows.sorted()] == [
        (None, None, start, 421.0),
        ("Tennessee Valley Authority", None, start, 0.0),
        ("US-PJM", "pjm-miso-ac", start, -2057.0),
        ("US-SPP", "miso-spp-ac", start, 867.0),
    ]
    assert rows.unknown == {Member("US-MISO", "interchange", "neighbour 'NEWBA'"): {start}}
    assert not rows.refused, "the net is a column of its own"


HEADER = ["Market Day", None, "HourEnding", None, "MISO MTLF (MWh)", None, None, "MISO ActualLoad (MWh)", None]


def test_a_workbook_of_merged_cells_gives_the_actual_hours_of_standard_time():
    """Read the layout since April 2026, with blank columns and the day only in its first hour."""
    actual = [
        ["03/09/2025" if h == 1 else None, None, h, None, 1, None, None, None, 59_000.25 + h] for h in range(1, 25)
    ]
    ahead = [["3/10/2025", None, str(h), None, 1] for h in range(1, 25)]
    top = [["ACTUAL LOAD REPORT"], [], ["Published Date:", None, "03/10/2025"], [], HEADER, [None, "March 09, 2025"]]
    rows = [r for r in read(LOAD_DAILY, workbook([*top, *actual, HEADER, *ahead])) if r.metric == "demand"]
    start = MarketDay(date(2025, 3, 9), "Etc/GMT+5").start
    assert [(r.ts, r.value) for r in rows] == [(start + (h - 1) * 3600, 59_000.25 + h) for h in range(1, 25)]
    assert {(r.metric, r.resolution, r.unit) for r in rows} == {("demand", "1h", "MW")}


def test_a_broken_row_number_does_not_fill_the_memory():
    whole = workbook([["Market Day", "HourEnding", "MISO MTLF (MWh)", "MISO ActualLoad (MWh)"], [45725, 1, 3, 4]])
    place, beyond = (struct.pack("<HHHd", *at, 16, 4.0) for at in ((1, 3), (65535, 255)))
    assert whole.count(place) == 1
    assert not len(read(LOAD_DAILY, whole.replace(place, beyond)))


@pytest.fixture(autouse=True)
def noon(monkeypatch):
    monkeypatch.setenv("EMDS_NOW", "2026-11-20T18:00:00Z")


def test_real_time_prices_are_the_newest_interval_or_for_a_fill_two_days(monkeypatch):
    monkeypatch.setenv("EMDS_NOW", "2026-11-20T18:00:00Z")
    today = MarketDay(date(2026, 11, 20), LMP_RT.tz)
    for days, names in (
        ([today], ["Current"]),
        ([today.next(-1), today], ["Previous", "Rolling"]),
        ([today.next(-1)], ["Previous"]),
        ([today.next(-2)], []),
    ):
        requests = LMP_RT.requests(days, clock.now())
        assert [r.url.rpartition("/GetRealTimeFiveMinExPost/")[2] for r in requests] == names
