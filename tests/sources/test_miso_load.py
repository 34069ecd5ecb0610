"""MISO's load, live and in both workbooks, and its interchange."""

from __future__ import annotations

import struct
from datetime import date

import pytest

from tests.sources.miso_reports import LOAD, LOAD_DAILY, NSI, read
from tests.sources.miso_workbook import MARCH_9, NEW, OLD, OLD_HEADER, workbook
from warehouse.market.clock import MarketDay, instant
from warehouse.rows.schema import Member


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


@pytest.mark.parametrize("sheet", [OLD, NEW], ids=["until April 2026", "since"])
def test_both_workbooks_give_the_actual_hours_of_standard_time(sheet):
    start = MarketDay(date(2025, 3, 9), "Etc/GMT+5").start
    rows = [row for row in read(LOAD_DAILY, workbook(sheet)) if row.metric == "demand"]
    assert [(r.ts, r.value) for r in rows] == [(start + (h - 1) * 3600, 59_000.25 + h) for h in range(1, 25)]
    assert {(r.metric, r.resolution, r.unit) for r in rows} == {("demand", "1h", "MW")}


def test_a_broken_row_number_does_not_fill_the_memory():
    broken = OLD_HEADER, [MARCH_9, 1, 1, 2, 3, 4]
    body = workbook([*broken]).replace(struct.pack("<HHHd", 1, 5, 0, 4.0), struct.pack("<HHHd", 65535, 255, 0, 4.0))
    assert not len(read(LOAD_DAILY, body))
