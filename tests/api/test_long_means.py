"""Test the gaps, dates and marts of means over civil days, weeks, months and years (values: `test_resample`)."""

from __future__ import annotations

import io
import random
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assets.sql.mart_queries import MARTS, refresh, refresh_records
from tests.api.conftest import NOW, Rig, _rig_at, asking
from tests.independent.records import differences
from warehouse.market.clock import instant

START = instant("2024-11-20T05:00:00Z")
SECONDS = {"15m": 900, "30m": 1800}
SERIES = {"price/DE-LU": "Europe/Berlin", "demand/AU-SA": "Australia/Adelaide"}


def fill(rig: Rig) -> None:
    """Store sixteen months of two series with gaps, one of more than a month, and a change of resolution."""
    rng = random.Random(44)
    for feed, zone, metric, unit in (
        ("north.price", "DE-LU", "price", "EUR/MWh"),
        ("north.grid", "AU-SA", "demand", "MW"),
    ):
        for first, last, resolution in (
            (START, instant("2025-09-30T22:00:00Z"), "30m"),
            (instant("2025-09-30T22:00:00Z"), NOW, "15m"),
        ):
            step, rows, at = SECONDS[resolution], [], first
            while at + step <= last:
                rows.append((at, round(rng.gauss(40, 90), rng.choice([0, 2, 6]))))
                at += step
                if rng.random() < 0.002:
                    at += step * rng.randrange(1, 200)
            missing = range(instant("2025-04-20T00:00:00Z"), instant("2025-06-10T00:00:00Z"))
            rig.put(feed, zone, metric, [row for row in rows if row[0] not in missing], unit, resolution)
    rig.publish()


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with _rig_at(tmp_path_factory.mktemp("long") / "home") as rig:
        fill(rig)
        yield asking(rig)


def first_day(day: date, interval: str) -> date:
    """Return the first day of the interval that contains a civil day."""
    if interval == "1w":
        return date.fromisocalendar(*day.isocalendar()[:2], 1)
    return day if interval == "1d" else day.replace(day=1) if interval == "1mo" else day.replace(month=1, day=1)


def midnight(day: date, tz: str) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(tz)).timestamp())


@pytest.mark.parametrize("interval", ["1d", "1w", "1mo", "1y"])
@pytest.mark.parametrize("series", SERIES)
def test_a_hole_is_every_whole_interval_that_is_over_and_has_no_mean(ask: Any, series: str, interval: str) -> None:
    tz = SERIES[series]
    start, end = instant("2025-01-10T12:00:00Z"), NOW
    answer = ask(f"/v1/{series}?start={start}&end={end}&interval={interval}")
    held = {row["date"] for row in answer["data"]}
    day = first_day(datetime.fromtimestamp(start, UTC).date(), interval)
    missing: list[dict[str, int]] = []  # intervals that have ended, and current ones with some row
    while True:
        following = first_day(day + timedelta(days={"1d": 1, "1w": 7, "1mo": 31, "1y": 366}[interval]), interval)
        begin, until = midnight(day, tz), midnight(following, tz)
        if begin > NOW:
            break
        if begin >= start and day.isoformat() not in held:
            if missing and missing[-1]["end"] == begin:
                missing[-1]["end"] = until
            else:
                missing.append({"start": begin, "end": until})
        day = following
    gaps = answer["gaps"]
    told = [gaps[0]["start"], gaps[-1]["end"]]
    merged: list[dict[str, int]] = []
    for gap in gaps:
        if merged and merged[-1]["end"] == gap["start"]:
            merged[-1]["end"] = gap["end"]
        else:
            merged.append({"start": gap["start"], "end": gap["end"]})
    if "gaps_truncated" in answer:
        missing = [{**hole, "end": min(hole["end"], told[1])} for hole in missing if hole["start"] < told[1]]
    assert merged == missing
    for gap in gaps:
        rows = ask(f"/v1/{series}?start={gap['start']}&end={gap['end']}&limit=5000")["data"]
        covered = sum(SECONDS[row["resolution"]] for row in rows) / (gap["end"] - gap["start"])
        assert "coverage" in gap or not rows
        assert gap.get("coverage", 0) == pytest.approx(covered, abs=0.01) or len(rows) == 5000
        assert gap.get("coverage", 0) < 0.5


@pytest.mark.parametrize("interval", ["1d", "1w", "1mo"])
def test_pages_of_means_are_those_of_the_whole_window(ask: Any, interval: str) -> None:
    path = f"/v1/price/DE-LU?start={START}&end={NOW}&interval={interval}"
    whole = ask(path)["data"]
    assert len(whole) >= 10
    for order, limit in (("asc", 7), ("desc", 3)):
        page, walked = f"{path}&order={order}&limit={limit}", []
        while page:
            walked += ask(page)["data"]
            page = ask.last.headers.get("Link", "").partition(">")[0].removeprefix("<http://emds.example")
        assert walked == (whole if order == "asc" else whole[::-1])


def test_every_format_tells_the_civil_day(ask: Any) -> None:
    path = f"/v1/price/DE-LU?start={START}&end={NOW}&interval=1mo"
    rows = ask(path)["data"]
    ask_text = ask(f"{path}&format=csv", 200)
    assert ask_text is None
    lines = ask.last.get_data(as_text=True).splitlines()
    assert lines[0].split(",")[:2] == ['"ts"', '"date"']
    days = [row["date"] for row in rows]
    assert [line.split(",")[1].strip('"') for line in lines[1:]] == days
    for format_, read in (("parquet", pq.read_table), ("arrow", lambda stream: pa.ipc.open_stream(stream).read_all())):
        ask(f"{path}&format={format_}")
        table = read(io.BytesIO(ask.last.data))
        assert (table.column("date").type, table.column("date").cast(pa.string()).to_pylist()) == (pa.date32(), days)


@pytest.mark.slow
def test_means_and_records_of_a_mart_are_those_of_the_rows(rig: Rig) -> None:
    """Compare means before a mart exists, from the mart, and after it is out of date. Records need the mart."""
    fill(rig)
    start, paths = instant("2024-11-20T00:00:00Z"), []
    for series in SERIES:
        paths += [f"/v1/{series}?start={start}&end={NOW}&interval={each}" for each in ("1d", "1w", "1mo", "1y")]
    asked = asking(rig)
    from_rows = {path: asked(path) for path in paths}
    asked("/v1/records/DE-LU", 503)
    with duckdb.connect() as connection:
        refresh(rig.storage, connection, MARTS[0], None, (), rig.mode)
        refresh_records(rig.storage, connection, rig.mode)
    assert {path: asking(rig)(path) for path in paths} == from_rows
    assert differences(asking(rig), "DE-LU", "2024-11-01") == []
    ts = instant("2025-02-11T12:00:00Z")
    rig.put("north.price", "DE-LU", "price", [(ts, -99999.0)], "EUR/MWh", "30m", known_at=NOW)
    rig.publish()
    mean = {row["date"]: row["value"] for row in asking(rig)(paths[2])["data"]}
    before = {row["date"]: row["value"] for row in from_rows[paths[2]]["data"]}
    assert [day for day in mean if mean[day] != before[day]] == ["2025-02-01"]
    lowest = asking(rig)("/v1/records/DE-LU")["all_time"]["lowest"]
    assert lowest["value"] > -99999.0, "records follow with the next run"
    with duckdb.connect() as connection:
        refresh(rig.storage, connection, MARTS[0], None, (), rig.mode)
        refresh_records(rig.storage, connection, rig.mode)
    after = asking(rig)("/v1/records/DE-LU")
    assert (after["all_time"]["lowest"]["value"], after["years"]["2025"]["lowest"]["ts"]) == (-99999.0, ts)
    assert differences(asking(rig), "DE-LU", "2024-11-01") == []
    assert asking(rig)("/v1/records/AU-SA?metric=demand")["all_time"]["longest_negative"] is None
    sample = rig.client().get("/v1/records/DE-LU?sample=true").get_json()
    assert (sample["years"], sample["sample"]) == ({}, True)
    assert asking(rig)("/v1/records/AU-SA?metric=price")["all_time"] is None
    asking(rig)("/v1/records/DE-LU?metric=carbon_intensity", 404)
