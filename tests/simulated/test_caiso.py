"""Simulated California ISO: OASIS and Outlook hold the model's values, publish on time, and match recordings."""

from __future__ import annotations

import csv
import io
import zipfile
from datetime import date
from itertools import pairwise

import numpy as np
import pytest

from assets.simulated import caiso, grid
from assets.simulated.caiso import oasis as _oasis
from assets.sources.caiso import FUELS, HUB, OASIS, OUTLOOK, TZ
from warehouse.clock import DAY, HOUR, MarketDay, instant, iso, market_days
from warehouse.market import Request

ZONE = "US-CAISO"
ORDINARY, SPRING, AUTUMN = (MarketDay(day, TZ) for day in (date(2026, 11, 19), date(2026, 3, 8), date(2026, 11, 1)))
days = pytest.mark.parametrize("day", [ORDINARY, SPRING, AUTUMN], ids=str)


def starts(day, step=300):
    return np.arange(day.start, day.end, step)


def stated_starts(day):
    """The five-minute intervals that Outlook states: only the first pass of the repeated autumn hour."""
    readings = starts(day)
    return (
        readings[(readings < day.start + 2 * HOUR) | (readings >= day.start + 3 * HOUR)] if day is AUTUMN else readings
    )


@days
def test_prices_are_the_grids(day, ask, inside):
    rows, refused = ask("caiso.lmp_rt", [day], iso(day.end + HOUR))
    readings = inside(rows, day, "price", ZONE)
    assert [r.ts for r in readings] == starts(day).tolist()
    assert [r.value for r in readings] == grid.price(ZONE, starts(day)).round(5).tolist()
    rows, more = ask("caiso.lmp_da", [day], iso(day.end + HOUR))
    readings = inside(rows, day, "price_day_ahead", ZONE)
    assert [r.ts for r in readings] == starts(day, HOUR).tolist()
    assert [r.value for r in readings] == grid.price(ZONE, starts(day, HOUR), HOUR, "day_ahead").round(5).tolist()
    assert not refused + more


@days
def test_demand_is_the_grids(day, ask, inside):
    rows, refused = ask("caiso.demand", [day], iso(day.end + HOUR))
    readings = inside(rows, day, "demand", ZONE)
    assert [r.ts for r in readings] == stated_starts(day).tolist()
    assert [r.value for r in readings] == grid.demand(ZONE, stated_starts(day)).round().tolist()
    assert not refused


@days
def test_generation_and_interchange_are_the_grids(day, ask, inside):
    rows, refused = ask("caiso.fuelsource", [day], iso(day.end + HOUR))
    readings = inside(rows, day, "interchange", ZONE)
    assert [r.ts for r in readings] == stated_starts(day).tolist()
    assert [r.value for r in readings] == grid.interchange(ZONE, stated_starts(day)).round().tolist()
    mix = {fuel: truth.round().tolist() for fuel, truth in grid.generation(ZONE, stated_starts(day)).items()}
    by_fuel = {
        fuel: [r.value for r in inside(rows, day, "generation", ZONE) if r.fuel == fuel] for fuel in set(FUELS.values())
    }
    assert by_fuel == mix
    assert not refused


def test_a_running_day_says_what_is_out(ask):
    day, now = MarketDay(date(2026, 11, 20), TZ), "2026-11-20T12:07:30-08:00"
    newest = {
        name: max(r.ts for r in ask(f"caiso.{name}", [day], now)[0]) for name in ("lmp_rt", "demand", "fuelsource")
    }
    assert {name: iso(ts) for name, ts in newest.items()} == {
        "lmp_rt": "2026-11-20T19:55:00Z",
        "demand": "2026-11-20T19:55:00Z",
        "fuelsource": "2026-11-20T19:55:00Z",
    }


def test_after_midnight_the_current_file_is_still_yesterdays(ask):
    day = MarketDay(date(2026, 11, 20), TZ)
    for feed in ("caiso.demand", "caiso.fuelsource"):
        rows, refused = ask(feed, [day], iso(day.start + 14 * 60))
        assert (len(rows), str(refused[0][1])) == (0, "the file still holds yesterday")
        assert {r.ts for r in ask(feed, [day], iso(day.start + 16 * 60))[0]} == {day.start, day.start + 300}
        assert len({r.ts for r in ask(feed, [day.next(-1)], iso(day.start + 14 * 60))[0]}) == 288


def test_the_auction_is_out_at_one_in_the_afternoon_of_the_day_before(ask):
    tomorrow = MarketDay(date(2026, 11, 21), TZ)
    rows, refused = ask("caiso.lmp_da", [tomorrow], "2026-11-20T12:59:00-08:00")
    assert (len(rows), "1000" in str(refused[0][1])) == (0, True)
    assert len(ask("caiso.lmp_da", [tomorrow], "2026-11-20T13:00:00-08:00")[0]) == 24


def test_a_month_is_one_answer(ask):
    days = market_days(date(2026, 10, 1), date(2026, 10, 31), TZ)
    rows, refused = ask("caiso.lmp_rt", days, iso(days[-1].end + HOUR))
    assert (len(rows), refused) == (31 * 288, [])


def oasis(now="2026-11-20T12:00:00Z", **params):
    query = {
        "resultformat": "6",
        "queryname": "PRC_LMP",
        "version": "12",
        "market_run_id": "DAM",
        "node": HUB,
        "startdatetime": "20261101T07:00-0000",
        "enddatetime": "20261102T08:00-0000",
        **params,
    }
    answer = caiso.answer(Request("caiso.lmp_da", OASIS, tuple(query.items())), instant(now))
    assert answer.status == 200
    with zipfile.ZipFile(io.BytesIO(answer.body)) as archive:
        (name,) = archive.namelist()
        return name, archive.read(name).decode()


@pytest.mark.parametrize(
    ("code", "params"),
    [
        ("1000", {"node": "NO_SUCH_NODE"}),
        ("1000", {"queryname": "PRC_RTPD_LMP"}),
        ("1000", {"startdatetime": "yesterday"}),
        ("1000", {"startdatetime": "20261125T08:00-0000", "enddatetime": "20261126T08:00-0000"}),
        ("1004", {"startdatetime": "20260901T07:00-0000"}),
        ("1000", {"startdatetime": "20230701T07:00-0000", "enddatetime": "20230702T07:00-0000"}),
    ],
)
def test_what_oasis_does_not_have_is_an_error_in_a_zip(code, params):
    name, text = oasis(**params)
    assert name.endswith(".xml")
    assert f"<m:ERR_CODE>{code}</m:ERR_CODE>" in text


def test_the_repeated_hour_is_operating_hour_25_and_the_skipped_one_is_none():
    name, text = oasis()
    assert name == "20261101_20261102_PRC_LMP_DAM_20261120_12_00_00_v1.csv"
    hours = {row["INTERVALSTARTTIME_GMT"][11:16]: row["OPR_HR"] for row in csv.DictReader(text.splitlines())}
    assert [hours[f"{h:02d}:00"] for h in (7, 8, 9, 10, 11)] == ["1", "2", "25", "3", "4"]
    text = oasis(startdatetime="20260308T08:00-0000", enddatetime="20260309T07:00-0000")[1]
    assert {row["OPR_HR"] for row in csv.DictReader(text.splitlines())} == {str(h) for h in range(1, 25) if h != 3}


def test_components_add_up_to_the_price():
    prices = grid.price(ZONE, starts(ORDINARY))
    parts = _oasis.parts_of(prices.round(5))
    assert sum(parts[kind] for kind in ("MCE", "MCC", "MCL", "MGHG")) == pytest.approx(parts["LMP"], abs=1e-9)


@pytest.mark.parametrize(
    "path",
    [
        "current/co2.csv",
        "history/20261399/demand.csv",
        "history/20261122/demand.csv",
        "history/20180409/demand.csv",
        "demand.csv",
    ],
)
def test_other_files_are_not_there(path):
    assert caiso.answer(Request("caiso.demand", f"{OUTLOOK}/{path}"), instant("2026-11-20T12:00:00Z")).status == 404


def outlook(file, day, now=None):
    answer = caiso.answer(
        Request("caiso.demand", f"{OUTLOOK}/history/{day.day:%Y%m%d}/{file}.csv"), now or day.end + DAY
    )
    return [line.split(",") for line in answer.body.decode().removesuffix("\r\n").split("\r\n")]


def test_names_change_their_case_by_the_day():
    headers = {tuple(outlook("fuelsource", day)[0]) for day in market_days(date(2026, 10, 1), date(2026, 10, 9), TZ)}
    assert len(headers) == 2
    assert len({tuple(name.lower() for name in header) for header in headers}) == 1


@days
def test_every_day_has_288_labels(day):
    lines = outlook("fuelsource", day)
    assert [line[0] for line in lines[1:]] == caiso.labels(day.day)[0]
    blank = [line[0] for line in lines[1:] if not any(line[1:])]
    assert blank == ([f"02:{m:02d}" for m in range(0, 60, 5)] if day is SPRING else [])


def test_the_future_is_blank_but_for_its_forecasts():
    lines = outlook("demand", ORDINARY, ORDINARY.start + 12 * HOUR)
    assert lines[0] == ["Time", "Day ahead forecast", "Hour ahead forecast", "Current demand", "Demand response"]
    assert [line[0] for line in lines[1:] if line[3]] == caiso.labels(ORDINARY.day)[0][:143]
    assert all(line[1] and line[2] for line in lines[1:])
    assert (len(lines), lines[-1][0], lines[-1][3]) == (290, "00:00", "")


def changes(lines, column):
    """The labels at which a column has another value than at the label before."""
    return [line[0] for before, line in pairwise(lines[1:]) if line[column] != before[column]]


def test_forecasts_are_labelled_by_interval_ends():
    lines = outlook("demand", ORDINARY)
    assert {label[-2:] for label in changes(lines, 1)} == {"05"}
    assert {label[-2:] for label in changes(lines, 2)} == {"05", "20", "35", "50"}
    assert outlook("demand", MarketDay(date(2026, 11, 20), TZ))[1][1:3] == lines[-1][1:3], "00:00 ends the day before"


def test_the_recorded_forecasts_change_where_the_simulated_ones_do(recordings):
    text = (recordings / "caiso/netdemand_20190310.csv").read_text()
    lines = [line for line in csv.reader(io.StringIO(text)) if any(line[1:])]
    before, after = ([*lines[:1], *lines[first:last]] for first, last in ((1, 25), (25, 289)))
    for part in (before, after):  # two o'clock, which spring skips, lies between
        assert {label[-2:] for label in changes(part, 1)} <= {"05", "20", "35", "50"}


# Compared with recordings


def columns_of(body):
    header, *lines = (line.split(",") for line in body.decode().removesuffix("\r\n").split("\r\n"))
    return {name: [int(line[i]) if line[i] else None for line in lines] for i, name in enumerate(header) if i}


@pytest.mark.parametrize(
    ("file", "day", "midnight"),
    [
        ("fuelsource_20230101.csv", date(2023, 1, 1), False),
        ("netdemand_20190310.csv", date(2019, 3, 10), True),
    ],
)
def test_outlook_writes_the_recorded_bodies(file, day, midnight, recordings):
    body = (recordings / "caiso" / file).read_bytes()
    assert caiso.render_outlook(day, columns_of(body), midnight) == body


def test_outlook_has_the_recorded_columns(recordings):
    recorded = [*columns_of((recordings / "caiso/fuelsource_20230101.csv").read_bytes())]
    assert [*caiso.fuels(starts(ORDINARY)[:1])] == recorded


def test_skipped_labels_are_blank_where_the_recorded_ones_are(recordings):
    recorded = columns_of((recordings / "caiso/netdemand_20190310.csv").read_bytes())["Hour ahead forecast"][:288]
    assert [ts is None for ts in caiso.labels(date(2019, 3, 10))[1]] == [value is None for value in recorded]


@pytest.mark.parametrize(
    "file",
    [
        "20191012_20191106_PRC_LMP_DAM_20200511_15_31_06_v1.csv",
        "20200510_20200511_PRC_LMP_DAM_20200510_10_49_47_v1.csv",
    ],
)
def test_day_ahead_prices_are_the_recorded_ones_in_their_groups(file, recordings):
    """The recording is of another node and lacks the greenhouse-gas part; order within a group is free."""
    body = (recordings / "caiso" / file).read_text()
    rows = [*csv.DictReader(body.splitlines())]
    values = {
        kind: {instant(row["INTERVALSTARTTIME_GMT"]): float(row["MW"]) for row in rows if row["LMP_TYPE"] == kind}
        for kind in ("LMP", "MCC", "MCE", "MCL")
    }
    at = np.array(sorted(values["LMP"]))
    parts = {kind: np.array([by_start[ts] for ts in at.tolist()]) for kind, by_start in values.items()}
    made = _oasis.render_lmp("0096WD_7_N001", "DAM", at, parts, ("ALL", 1)).decode()
    ours, theirs = made.split("\n"), body.split("\n")
    assert (ours[0], ours[-1]) == (theirs[0], theirs[-1])
    assert sorted(ours) == sorted(theirs)
    assert [line.rpartition(",")[2] for line in ours] == [line.rpartition(",")[2] for line in theirs]


def test_real_time_prices_are_the_recorded_ones(recordings):
    body = (recordings / "caiso/oasis_PRC_INTVL_LMP_EXCERPT_20250718.csv").read_text().strip().splitlines()
    at = np.array([instant("2025-07-18T07:00:00Z")])
    values = {"LMP": 50.48609, "MCC": -1.68082, "MCE": 48.94640, "MCL": 3.22051, "MGHG": 0.0}
    parts = {kind: np.array([value]) for kind, value in values.items()}
    made = _oasis.render_lmp("TH_NP15_GEN-APND", "RTM", at, parts).decode().splitlines()
    assert made[0] == body[0]
    assert set(body) <= set(made)
    assert [line for line in made if line in body] == body
    assert len(made) == 6


def test_an_error_is_the_recorded_one(recordings):
    body = (recordings / "caiso/error_oasis_1000_no_data.xml").read_bytes()
    assert _oasis.render_error(*_oasis.NO_DATA, instant("2026-09-14T17:08:41Z")) == body
