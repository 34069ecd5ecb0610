"""Check measured publishers: delays, revisions, gaps and failures, each against values computed by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assets.documents import publishers
from assets.ingest.runs import ingest_days
from assets.sources import feed, source
from orchestration.work.environment import open_context
from warehouse.documents import attempts
from warehouse.figures import feed_stats
from warehouse.market.clock import HOUR, MarketDay, Window, instant, iso
from warehouse.rows.schema import Rows, SeriesKey
from warehouse.series import folding
from warehouse.store import modes
from warehouse.store.storage import Folder

FEED = feed("elexon.price")
KEY = SeriesKey("GB", "price", "GBP/MWh", "30m", None, None, None)
RANKS = {"elexon.price": 1}
DAY = instant("2026-11-18T00:00:00Z")
HALF = 1800
LAG = FEED.publication.lag_minutes * 60
ONE = {"elexon": source("elexon")}


def known(storage: Folder, at: int, readings: dict[int, float], key: SeriesKey = KEY) -> None:
    rows = Rows()
    rows.extend(key, list(readings), list(readings.values()))
    folding.fold(storage, "elexon.price", rows, {}, RANKS, at, "live")


def watch(storage: Folder, first: int, last: int) -> None:
    for at in (first, last):
        attempts.note(storage, FEED.id, at, 1, {}, 100_000_000)


def entry(storage: Folder, now: int, month: str = "2026-11", mode: str = "live") -> dict[str, Any]:
    document = publishers.measure(storage, ONE, (), mode, now)
    [one] = [e for e in document["publishers"] if e["feed"] == FEED.id and e["month"] == month]
    return dict(one)


@pytest.fixture
def storage(tmp_path: Path) -> Folder:
    made = Folder(tmp_path)
    modes.ensure(made, "live")
    return made


def test_lateness_counts_from_the_usual_time_of_publication(storage: Folder) -> None:
    watch(storage, DAY - HOUR, DAY + 12 * HOUR)
    for number, late in enumerate([60, 120, 180, 4000]):
        start = DAY + number * HALF
        known(storage, start + HALF + LAG + late, {start: 50.0 + number})
    one = entry(storage, DAY + 12 * HOUR)
    assert one["delay_s"] == {"rows": 4, "unmeasured": 0, "median": 120, "p95": 4000, "max": 4000}
    assert one["requests"] == {"poll_interval_s": FEED.every_minutes * 60, "runs": 2, "count": 2}


def test_rows_that_were_not_waited_for_tell_nothing_of_lateness(storage: Folder) -> None:
    """A backfill fetches late, and a pause of this service delays rows too: neither is the publisher's delay."""
    due = DAY + HALF + LAG
    known(storage, due + 40 * HOUR, {DAY: 1.0})
    watch(storage, due + 41 * HOUR, due + 60 * HOUR)
    known(storage, due + 42 * HOUR, {DAY + HALF: 2.0})
    known(storage, DAY + 45 * HOUR + HALF + LAG + 90, {DAY + 45 * HOUR: 3.0})
    one = entry(storage, DAY + 70 * HOUR)
    assert one["delay_s"]["rows"] == 1
    assert one["delay_s"]["unmeasured"] == 2
    assert one["delay_s"]["max"] == 90


def test_a_daily_feed_is_due_at_its_hour_on_the_days_of_its_own_clock() -> None:
    daily = feed("caiso.lmp_da")
    assert daily.publication.daily_at is not None
    starts = np.array([instant(f"2026-11-0{day}T18:00:00Z") for day in (1, 2)], np.int64)
    due = feed_stats.due_at(daily, starts, starts + HOUR)
    at = daily.publication.daily_at.strftime("%H:%M")
    days = [1 + daily.publication.day_offset, 2 + daily.publication.day_offset]
    offsets = ["-07:00" if day < 1 else "-08:00" for day in days]
    expected = [
        instant(f"2026-{'10-31' if day < 1 else f'11-{day:02d}'}T{at}:00{offset}")
        for day, offset in zip(days, offsets, strict=True)
    ]
    assert due.tolist() == expected


def test_a_revision_is_told_once_with_its_delay_and_amount(storage: Folder) -> None:
    at = DAY + HALF
    known(storage, at, {DAY: 50.0, DAY + HALF: 60.0, DAY + 2 * HALF: 70.0})
    known(storage, at + HOUR, {DAY: 52.0, DAY + HALF: 60.0})
    known(storage, at + 2 * HOUR, {DAY: 47.5})
    one = entry(storage, at + 5 * HOUR)
    assert one["rows"] == 3
    assert one["revised"]["rows"] == 1
    assert one["revised"]["share"] is None, "nobody watched"
    watch(storage, DAY - HOUR, at + 5 * HOUR)
    assert entry(storage, at + 5 * HOUR)["revised"]["share"] == 0.3333
    assert one["revised"]["revision_delay_s"] == {"median": 7200, "p95": 7200, "max": 7200}
    assert one["revised"]["by"] == [{"metric": "price", "unit": "GBP/MWh", "median": 2.5, "p95": 2.5, "max": 2.5}]


def test_a_withdrawn_row_is_counted_and_is_a_hole(storage: Folder) -> None:
    readings = {DAY + n * HALF: float(n) for n in range(6)}
    known(storage, DAY + 4 * HOUR, readings)
    rows = Rows()
    rows.extend(KEY, [ts for ts in readings if ts != DAY + 2 * HALF], [v for ts, v in readings.items() if v != 2.0])
    spans = {("GB", "price"): [Window(DAY, DAY + 6 * HALF)]}
    folding.fold(storage, FEED.id, rows, spans, RANKS, DAY + 5 * HOUR, "live")
    one = entry(storage, DAY + 3 * HOUR + LAG + FEED.publication.grace_minutes * 60)
    assert one["revised"]["withdrawn"] == 1
    assert one["intervals"] == {"due": 6, "missing": 1, "gap_count": 1, "longest_gap_s": HALF}


def test_holes_are_told_from_the_first_row_to_what_is_due(storage: Folder) -> None:
    here = [0, 1, 4, 5, 9]
    known(storage, DAY + 6 * HOUR, {DAY + n * HALF: 1.0 + n for n in here})
    due = DAY + 12 * HALF
    one = entry(storage, due + LAG + FEED.publication.grace_minutes * 60)
    assert one["intervals"] == {"due": 12, "missing": 7, "gap_count": 3, "longest_gap_s": 3 * HALF}
    assert not one["complete"]


def test_of_a_withheld_source_no_amount_is_told(storage: Folder) -> None:
    shut = {"elexon": replace(source("elexon"), withheld=True)}
    known(storage, DAY + HALF, {DAY: 50.0})
    known(storage, DAY + HOUR, {DAY: 52.0})
    for rights, by in (((), None), (("elexon",), 1)):
        document = publishers.measure(storage, shut, rights, "live", DAY + 2 * HOUR)
        [one] = [e for e in document["publishers"] if e["feed"] == FEED.id]
        assert one["revised"]["rows"] == 1
        assert (one["revised"]["by"] and len(one["revised"]["by"])) == by


def test_a_document_is_left_alone_until_a_file_that_it_was_measured_from_changes(storage: Folder) -> None:
    def as_of(now: int) -> int:
        return int(publishers.publish(storage, ONE, (), "live", now)["as_of"])

    known(storage, DAY, {DAY: 50.0})
    assert [as_of(DAY + HOUR), as_of(DAY + 2 * HOUR)] == [DAY + HOUR] * 2
    known(storage, DAY + 2 * HOUR, {DAY: 51.0})
    assert as_of(DAY + 3 * HOUR) == DAY + 3 * HOUR
    watch(storage, DAY, DAY + 3 * HOUR)
    assert as_of(DAY + 4 * HOUR) == DAY + 4 * HOUR
    assert as_of(DAY + 25 * HOUR) == DAY + 25 * HOUR, "another day"


def test_a_damaged_month_file_costs_itself_alone(storage: Folder, tmp_path: Path) -> None:
    known(storage, DAY + HALF, {DAY: 50.0})
    attempts.note(storage, FEED.id, DAY, 1, {}, None)
    known(storage, DAY + HALF, {DAY: 50.0}, KEY._replace(metric="demand", unit="MW"))
    next(path for path in tmp_path.glob("series/**/*.parquet") if "demand" in str(path)).write_bytes(b"PAR1")
    assert entry(storage, DAY + HOUR)["rows"] == 1


def test_a_day_of_scheduled_runs_is_measured_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs fetch simulated NESO every quarter hour: its rows arrive on publication, or up to one interval later."""
    monkeypatch.setenv("EMDS_HOME", str(tmp_path))
    monkeypatch.setenv("EMDS_FEEDS", "simulated")
    carbon = feed("neso.carbon_intensity")
    today = MarketDay.at(DAY, carbon.tz)
    for step in range(9):
        monkeypatch.setenv("EMDS_NOW", iso(DAY + 6 * HOUR + step * carbon.every_minutes * 60))
        if step == 5:
            monkeypatch.setenv("EMDS_SIMULATED_FAULTS", "neso:503")
        pipeline = open_context()
        ingest_days(pipeline, carbon, [today])
        monkeypatch.delenv("EMDS_SIMULATED_FAULTS", raising=False)
    document = publishers.publish(pipeline.storage, pipeline.sources, pipeline.rights, pipeline.mode, DAY + 9 * HOUR)
    [one] = [e for e in document["publishers"] if e["feed"] == carbon.id]
    assert one["requests"] == {"poll_interval_s": carbon.every_minutes * 60, "runs": 9, "count": 9}
    assert one["failures"] == {"total": 1, "by_kind": {"server": 1}}
    assert one["delay_s"]["rows"] == 4
    assert one["delay_s"]["unmeasured"] == one["rows"] - 4, "the rows of the first run had been out for hours"
    assert -carbon.publication.lag_minutes * 60 <= one["delay_s"]["max"] <= 2 * carbon.every_minutes * 60
