"""Simulated MISO: live answers, reports and workbooks hold the model's values, on time, shaped as recorded."""

from __future__ import annotations

import json
from datetime import date, timedelta

import numpy as np
import pytest
import xlrd

from assets.simulated import grid, miso
from assets.simulated.miso import reports
from assets.simulated.miso.workbook import workbook
from assets.sources.miso.interchange import NEIGHBOURS
from assets.sources.miso.requests import LIVE, REPORTS, TZ
from warehouse.clock import DAY, HOUR, MarketDay, instant, iso
from warehouse.market import Request

ZONE = "US-MISO"
ORDINARY, SPRING, AUTUMN = (MarketDay(day, TZ) for day in (date(2026, 11, 19), date(2026, 3, 8), date(2026, 11, 1)))
days = pytest.mark.parametrize("day", [ORDINARY, SPRING, AUTUMN], ids=str)


def starts(day, step=300):
    return np.arange(day.start, day.end, step)


def same(readings, day, step, truth, digits):
    assert [r.ts for r in readings] == starts(day, step).tolist()
    assert [round(r.value, 6) for r in readings] == np.round(truth, digits).tolist()


@days
def test_prices_of_daily_reports_are_the_grids(day, ask, inside):
    rows, refused = ask("miso.lmp_da", [day], iso(day.end))
    same(
        inside(rows, day, "price_day_ahead", ZONE), day, HOUR, grid.price(ZONE, starts(day, HOUR), HOUR, "day_ahead"), 2
    )
    rows, more = ask("miso.lmp_rt_daily", [day], iso(day.end + 5 * DAY))
    same(inside(rows, day, "price", ZONE), day, HOUR, grid.price(ZONE, starts(day, HOUR), HOUR), 2)
    assert not refused + more


@days
def test_preliminary_prices_are_first_estimates_that_stand_until_the_final_ones(day, ask, inside):
    first, later = (
        inside(ask("miso.lmp_rt_daily", [day], iso(day.end + t))[0], day, "price", ZONE)
        for t in (11 * HOUR, 4 * DAY - 1)
    )
    truth = grid.price(ZONE, starts(day, HOUR), HOUR)
    assert first == later
    assert [r.ts for r in first] == starts(day, HOUR).tolist()
    assert [r.value for r in first] == pytest.approx(truth, rel=0.005, abs=0.006)
    assert [r.value for r in first] != truth.round(2).tolist()


@days
def test_actual_load_of_workbooks_is_the_grids(day, ask, inside):
    rows, refused = ask("miso.load_daily", [day], iso(day.end + HOUR))
    same(inside(rows, day, "demand", ZONE), day, HOUR, grid.demand(ZONE, starts(day, HOUR), HOUR), 2)
    assert len(rows) == 24, "the days ahead have forecasts only"
    assert not refused


@days
def test_live_load_and_interchange_are_the_grids(day, ask, inside):
    rows, _ = ask("miso.load", [day], iso(day.end + 149))
    same(inside(rows, day, "demand", ZONE), day, 300, grid.demand(ZONE, starts(day)), 0)
    rows, _ = ask("miso.nsi", [day], iso(day.end + 149))
    same(inside(rows, day, "interchange", ZONE), day, 300, grid.interchange(ZONE, starts(day)), 0)
    for name, area in miso.BORDERS.items():
        readings = [r.value for r in rows if r.counterparty == NEIGHBOURS[name][0]]
        assert readings == grid.border(ZONE, area, starts(day)).round().tolist()
    sums = np.sum(
        [
            [r.value for r in rows if r.counterparty == counterparty]
            for counterparty, _ in (NEIGHBOURS[name] for name in (*miso.BORDERS, "SPA"))
        ],
        axis=0,
    )
    apart = np.abs(sums - [r.value for r in rows if r.counterparty is None])
    assert 50 < apart.min() < apart.max() < 170, "neighbours do not add up to MISO's own figure"


@days
def test_polling_every_five_minutes_gives_a_day_of_prices(day, ask):
    polls = [now + now // 300 % 3 * 90 for now in range(day.start + 450, day.end + 450, 300)]
    readings = [row for now in polls for row in ask("miso.lmp_rt", [MarketDay.at(now, TZ)], iso(now))[0]]
    same(readings, day, 300, grid.price(ZONE, starts(day)), 2)


def test_a_first_fill_has_yesterday_and_today_whole(ask):
    now = instant("2026-11-20T12:07:30-05:00")
    today = MarketDay.at(now, TZ)
    rows, _ = ask("miso.lmp_rt", [today.next(-1), today], iso(now))
    assert [r.ts for r in rows.sorted()] == list(range(today.next(-1).start, instant("2026-11-20T17:05:00Z"), 300))


def test_a_running_day_says_what_is_out(ask):
    day, now = MarketDay(date(2026, 11, 20), TZ), "2026-11-20T12:07:30-05:00"
    newest = {name: max(r.ts for r in ask(f"miso.{name}", [day], now)[0]) for name in ("lmp_rt", "load", "nsi")}
    assert {name: iso(ts) for name, ts in newest.items()} == {
        "lmp_rt": "2026-11-20T17:00:00Z",
        "load": "2026-11-20T17:05:00Z",
        "nsi": "2026-11-20T17:05:00Z",
    }
    assert {r.ts for r in ask("miso.load", [day], iso(day.start + 149))[0]} == set(starts(day.next(-1)).tolist())
    assert {r.ts for r in ask("miso.load", [day], iso(day.start + 150))[0]} == {day.start}


def get(path, now, host=REPORTS):
    return miso.answer(Request("miso.lmp_da", f"{host}/{path}"), instant(now))


@pytest.mark.parametrize(
    ("path", "before", "out"),
    [
        ("20261121_da_expost_lmp.csv", "2026-11-20T13:44:59-05:00", "2026-11-20T13:45:00-05:00"),
        ("20261119_rt_lmp_prelim.csv", "2026-11-20T10:29:59-05:00", "2026-11-20T10:30:00-05:00"),
        ("20261115_rt_lmp_final.csv", "2026-11-19T11:59:59-05:00", "2026-11-19T12:00:00-05:00"),
        ("20261120_df_al.xls", "2026-11-20T00:19:59-05:00", "2026-11-20T00:20:00-05:00"),
    ],
)
def test_reports_are_there_from_their_hour_on(path, before, out):
    assert (get(path, before).status, get(path, out).status) == (404, 200)


def test_preliminary_prices_stay_four_days_and_everything_three_years():
    assert get("20261115_rt_lmp_prelim.csv", "2026-11-19T23:59:59-05:00").status == 200
    assert get("20261115_rt_lmp_prelim.csv", "2026-11-20T00:00:00-05:00").status == 404
    assert get("20230101_rt_lmp_final.csv", "2026-11-20T00:00:00-05:00").status == 200
    assert get("20221231_rt_lmp_final.csv", "2026-11-20T00:00:00-05:00").status == 404


@pytest.mark.parametrize("path", ["20261120_da_exante_lmp.csv", "20261399_da_expost_lmp.csv", "da_expost_lmp.csv", ""])
def test_another_file_is_not_there(path):
    answer = get(path, "2026-11-21T00:00:00Z")
    assert answer.status == 404
    assert b"BlobNotFound" in answer.body


def test_another_live_address_is_not_there():
    assert get("FuelMix", "2026-11-21T00:00:00Z", LIVE).status == 404


def test_the_blank_line_and_the_zeros_of_the_date_come_and_go():
    preambles = {
        get(f"202610{day:02d}_da_expost_lmp.csv", "2026-11-20T00:00:00Z").body.decode().partition("Node")[0]
        for day in range(1, 10)
    }
    assert any("/2026\n\n" in preamble for preamble in preambles)
    assert any("/2026\n," in preamble for preamble in preambles)
    assert any("\n10/0" in preamble for preamble in preambles)
    assert any("\n10/" in preamble and "\n10/0" not in preamble for preamble in preambles)


def test_workbooks_have_had_two_forms(ask, inside):
    first = MarketDay(reports.SPREAD_SINCE, TZ)
    old, new = (
        xlrd.open_workbook(file_contents=get(f"{day.day:%Y%m%d}_df_al.xls", iso(day.end)).body).sheet_by_index(0)
        for day in (
            first.next(-1),
            first,
        )
    )
    assert [sheet.col_values(0).index("Market Day") for sheet in (old, new)] == [4, 6]
    assert (old.ncols, new.ncols) == (16, 24)
    for day in (first.next(-2), first.next(-1)):
        rows, _ = ask("miso.load_daily", [day], iso(day.end + DAY))
        same(inside(rows, day, "demand", ZONE), day, HOUR, grid.demand(ZONE, starts(day, HOUR), HOUR), 2)


# Compared with recordings


def test_a_price_report_is_the_recorded_one(recordings):
    body = (recordings / "miso/da_expost_lmp_20260714_TRIMMED.csv").read_bytes()
    table = [
        (node, kind, value, [float(figure) for figure in figures])
        for node, kind, value, *figures in (line.split(",") for line in body.decode().splitlines()[5:])
    ]
    assert reports.render_prices("Day Ahead Market ExPost LMPs", "07/14/2026", True, table) == body
    ours = get("20260714_da_expost_lmp.csv", "2026-07-14T00:00:00Z").body.decode().splitlines()
    assert ours[0] == body.decode().splitlines()[0]
    assert {line.split(",")[1] for line in ours if ".HUB," in line} == {"Hub"}
    assert list(dict.fromkeys(line.split(",")[2] for line in ours if ".HUB," in line)) == ["LMP", "MCC", "MLC"]


def test_energy_is_the_same_at_every_node():
    readings = reports.priced(grid.price(ZONE, starts(ORDINARY, HOUR), HOUR))
    energy = {node: (parts["LMP"] - parts["MLC"] - parts["MCC"]).round(2).tolist() for node, parts in readings.items()}
    assert all(of_node == energy["MS.HUB"] for of_node in energy.values())


def test_five_minute_prices_look_like_the_recorded_ones(recordings):
    body = json.loads((recordings / "miso/GetRealTimeFiveMinExPost_Rolling_EXCERPT.json").read_bytes())
    stated = [(instant(f"{end}-05:00"), node, *map(float, parts)) for end, node, *parts in body["data"]]
    assert json.loads(miso.render_prices(stated)) == body
    ours = json.loads(get("MarketPricing/GetRealTimeFiveMinExPost/Current", "2026-10-02T16:48:00-05:00", LIVE).body)
    assert {row[1] for row in ours["data"]} == {row[1] for row in body["data"]}
    assert {row[0] for row in ours["data"]} == {max(row[0] for row in body["data"])}


def test_load_is_the_recorded_one(recordings):
    body = (recordings / "miso/RealTimeTotalLoad.json").read_bytes()
    published = json.loads(body)["LoadInfo"]
    stamps = [instant(f"2026-10-02T{entry['Load']['Time']}:00-05:00") for entry in published["FiveMinTotalLoad"]]
    made = miso.render_load(
        stamps,
        [int(entry["Load"]["Value"]) for entry in published["FiveMinTotalLoad"]],
        [int(entry["ClearedMWHourly"]["Value"]) for entry in published["ClearedMW"]],
        [int(entry["Forecast"]["LoadForecast"]) for entry in published["MediumTermLoadForecast"]],
    )
    assert made == body


def test_interchange_is_the_recorded_one(recordings):
    body = (recordings / "miso/Interchange_GetNsi_FiveMinute_EXCERPT.json").read_bytes()
    rows = json.loads(body)["instance"]
    stamps = [instant(row["timestamp"].replace(" ", "T") + "-05:00") for row in rows]
    columns = {name: [int(row[name]) for row in rows] for name in rows[0] if name != "timestamp"}
    assert columns.keys() == {*miso.BORDERS, "MISO", "SPA"}
    assert miso.render_interchange(stamps, columns, instant("2026-10-02T16:48:00-05:00")) == body


def test_a_workbook_has_the_recorded_cells(recordings):
    sheet = xlrd.open_workbook(recordings / "miso/df_al_20250310.xls").sheet_by_index(0)
    first = date(2025, 3, 9)
    figures = {
        first + timedelta(days=i): [
            [value if value != "" else None for value in sheet.row_values(row)[2:]] for row in range(top, top + 24)
        ]
        for i, top in enumerate(range(6, 187, 26))
    }
    body = reports.render_load(first + timedelta(days=1), figures, spread=False)
    book = xlrd.open_workbook(file_contents=body)
    made = book.sheet_by_index(0)
    assert (book.biff_version, book.datemode, made.name) == (80, 0, sheet.name)
    assert (made.nrows, made.ncols) == (sheet.nrows, sheet.ncols)
    for row in range(sheet.nrows - 1):
        assert [(c.ctype, c.value) for c in made.row(row)] == [(c.ctype, c.value) for c in sheet.row(row)]
    assert sheet.cell_value(sheet.nrows - 1, 0).startswith(made.cell_value(made.nrows - 1, 0)[:-1])


@pytest.mark.parametrize("count", [1, 300, 9000])
def test_workbooks_of_any_size_open(count):
    sheet = xlrd.open_workbook(
        file_contents=workbook([[i, f"line {i}", None, date(2026, 3, 9)] for i in range(count)])
    ).sheet_by_index(0)
    assert sheet.nrows == count
    assert [(c.ctype, c.value) for c in sheet.row(count - 1)] == [
        (xlrd.XL_CELL_NUMBER, count - 1),
        (xlrd.XL_CELL_TEXT, f"line {count - 1}"),
        (xlrd.XL_CELL_EMPTY, ""),
        (xlrd.XL_CELL_DATE, 46090.0),
    ]
