"""MISO's recorded answers, and its prices: Eastern Standard Time, interval ends, daily files after a preamble."""

from __future__ import annotations

import json

import pytest

from assets.sources.miso.prices import LARGE
from tests.sources.miso_reports import AUTUMN, LMP_DA, LMP_RT, LMP_RT_DAILY, ORDINARY, SPRING, read
from warehouse.errors import FeedChanged
from warehouse.market.clock import MarketDay, instant

HOURS = ",".join(f"HE {h}" for h in range(1, 25))


def test_an_interval_is_stamped_by_its_end_and_columns_are_found_by_name():
    rows = read(
        LMP_RT,
        {
            "headers": ["CPNODE", "LMP", "INTERVAL"],
            "data": [
                ["INDIANA.HUB", "27.13", "2026-10-02T00:00:00"],
                ["ILLINOIS.HUB", "24.71", "2026-10-02T00:00:00"],
                ["INDIANA.HUB", "-.4", "2026-10-02T00:05:00"],
                ["INDIANA.HUB", "9", "2026-10-02T00:07:00"],
            ],
        },
    )
    midnight = instant("2026-10-02T05:00:00Z")
    assert [(r.ts, r.value, r.resolution) for r in rows] == [(midnight - 300, 27.13, "5m"), (midnight, -0.4, "5m")]
    assert rows.dropped == {"off the five-minute grid": 1}


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


@pytest.mark.parametrize(("day", "shown"), [(SPRING, "3/8/2026"), (AUTUMN, "11/1/2026"), (ORDINARY, "09/23/2026")])
@pytest.mark.parametrize("gap", ["", "\n", "\r\n"])
def test_daily_files_have_24_hours_of_standard_time_whatever_the_clocks_do(day, shown, gap):
    start = MarketDay(day, "Etc/GMT+5").start
    rows = read(LMP_DA, report(day=shown, gap=gap))
    assert [(r.ts, r.value) for r in rows] == [(start + (h - 1) * 3600, h + 0.5) for h in range(1, 25)]
    assert {(r.metric, r.resolution) for r in rows} == {("price_day_ahead", "1h")}


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
