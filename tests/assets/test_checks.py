"""Test each check of a market day with a day that passes, a day that fails, and a day without rows."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import NamedTuple

import dagster as dg
import pytest

from assets import checks
from assets.checks import COMPLETE, NO_ANOMALIES, PLAUSIBLE
from assets.ingest import stored_days
from assets.sources import feeds
from warehouse.judge import quality
from warehouse.market import clock
from warehouse.market.clock import MarketDay
from warehouse.rows.schema import Rows, SeriesKey
from warehouse.series import folding
from warehouse.store import layout
from warehouse.store.storage import Folder

LOAD = feeds()["nyiso.load"]
DAY = MarketDay(date(2026, 11, 10), LOAD.tz)
NOW = clock.instant("2026-11-20T12:00:00Z")
KEY = SeriesKey("US-NYISO", "demand", "MW", "5m")


@pytest.fixture
def storage(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def fold(storage: Folder, feed: str, key: SeriesKey, day: MarketDay, step: int, mean: float, skip: int = -1) -> None:
    """Fold a day of values around `mean`, without the value numbered `skip`."""
    stamps = [ts for n, ts in enumerate(range(day.start, day.end, step)) if n != skip]
    rows = Rows()
    rows.extend(key, stamps, [mean + (ts // step % 2) for ts in stamps])
    folding.fold(storage, feed, rows, {}, {feed: 1}, 1000, "simulated")


class Verdict(NamedTuple):
    """The result of an evaluation."""

    check: str
    passed: bool
    grave: bool
    count: object
    findings: list[str]


def judge(storage: Folder, day: MarketDay = DAY, now: int = NOW) -> list[Verdict]:
    rows = stored_days.read(storage, LOAD, [f"{day.day:%Y-%m}"])
    return [
        Verdict(
            each.check_name,
            each.passed,
            each.severity is dg.AssetCheckSeverity.ERROR,
            each.metadata["count"].value,
            each.metadata["findings"].value,
        )
        for each in checks.evaluate(storage, LOAD, [day], now, rows)
    ]


def verdict(storage: Folder, check: str, day: MarketDay = DAY, now: int = NOW) -> Verdict:
    (judged,) = (each for each in judge(storage, day, now) if each.check == check)
    return judged


def test_a_whole_day_passes_every_check(storage: Folder) -> None:
    fold(storage, LOAD.id, KEY, DAY, 300, 18000.0)
    assert [(v.check, v.passed, v.findings) for v in judge(storage)] == [
        (name, True, []) for name in (PLAUSIBLE, COMPLETE, NO_ANOMALIES)
    ]


def test_a_day_of_which_nothing_was_read_fails_every_check(storage: Folder) -> None:
    for check in (PLAUSIBLE, COMPLETE, NO_ANOMALIES):
        judged = verdict(storage, check)
        assert (judged.passed, judged.grave, judged.findings) == (False, True, [checks.NOTHING_READ]), check


@pytest.mark.parametrize("check", [PLAUSIBLE, COMPLETE, NO_ANOMALIES])
def test_a_day_of_which_nothing_is_due_passes_and_says_so(storage: Folder, check: str) -> None:
    judged = verdict(storage, check, now=DAY.start)
    assert (judged.passed, judged.findings) == (True, [checks.NOTHING_DUE])
    assert not verdict(storage, check, now=DAY.end).passed


def test_a_missing_interval_warns_while_it_may_come_and_is_an_error_afterwards(storage: Folder) -> None:
    fold(storage, LOAD.id, KEY, DAY, 300, 18000.0, skip=100)
    for now, grave in ((DAY.end + clock.HOUR, False), (NOW, True)):
        judged = verdict(storage, COMPLETE, now=now)
        assert (judged.passed, judged.grave, judged.count) == (False, grave, 1)
        assert "US-NYISO demand: 1 intervals missing from 2026-11-10T13:20:00Z" in judged.findings[0]


def test_a_day_that_is_not_due_as_a_whole_is_not_incomplete(storage: Folder) -> None:
    """The check lists the intervals that are missing so far. They are a warning once the day is due."""
    fold(storage, LOAD.id, KEY, DAY, 300, 18000.0, skip=10)
    running = verdict(storage, COMPLETE, now=DAY.end - clock.HOUR)
    assert (running.passed, running.count) == (True, 1)
    assert "1 intervals missing" in running.findings[0]
    over = verdict(storage, COMPLETE, now=DAY.end + clock.HOUR)
    assert (over.passed, over.grave, over.findings) == (False, False, running.findings)


def test_a_value_that_was_set_aside_fails_until_a_row_covers_its_instant(storage: Folder) -> None:
    fold(storage, LOAD.id, KEY, DAY, 300, 18000.0, skip=100)
    stamp = DAY.start + 100 * 300
    rows = Rows()
    rows.extend(KEY, [stamp], [9e9])
    judged = quality.judge(rows, LOAD, (), NOW)
    storage.put(layout.quarantine(LOAD.id, "2026-11-08", "0a0a0a0a"), quality.to_json(judged))
    result = verdict(storage, PLAUSIBLE)
    assert (result.passed, result.grave, result.count) == (False, True, 1)
    assert "9e+09 MW at 2026-11-10T13:20:00Z was quarantined" in result.findings[0]
    assert verdict(storage, PLAUSIBLE, DAY.next()).findings == [checks.NOTHING_READ]
    fold(storage, LOAD.id, KEY, DAY, 300, 18000.0)
    assert verdict(storage, PLAUSIBLE).passed


def test_a_series_that_stands_still_warns(storage: Folder) -> None:
    rows = Rows()
    stamps = list(range(DAY.start, DAY.end, 300))
    rows.extend(KEY, stamps, [18000.0] * len(stamps))
    folding.fold(storage, LOAD.id, rows, {}, {LOAD.id: 1}, 1000, "simulated")
    judged = verdict(storage, NO_ANOMALIES)
    assert (judged.passed, judged.grave) == (False, False)
    assert judged.findings[0].startswith("frozen: US-NYISO demand")
