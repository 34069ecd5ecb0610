"""Readings of a run that are not believed: contradictions, impossible values, times far from what was asked."""

from __future__ import annotations

from dataclasses import replace
from datetime import time
from pathlib import Path

import pytest

from tests.assets.demand_feed import DAY, FEED, START, pipeline, run, stored, whole
from warehouse.documents import health
from warehouse.market.market import Publication
from warehouse.series import series


@pytest.mark.usefixtures("at_noon")
def test_contradictions_and_impossible_values_are_set_aside(tmp_path: Path) -> None:
    of = pipeline(tmp_path, {DAY: whole(0, 30) + b" 3=1 5=9e9"})
    report = run(of)
    assert report.quarantined
    assert sorted(set(range(30)) - set(stored(of))) == [3, 5]
    (key,) = of.storage.keys("quarantine/")
    run(of)
    assert of.storage.keys("quarantine/") == [key]


@pytest.mark.usefixtures("at_noon")
@pytest.mark.parametrize("stray", [100 * 48, 48 * 365 * 36, -48 * 36, -48 * 3650])
def test_rows_far_from_what_was_asked_are_set_aside_and_counted(tmp_path: Path, stray: int) -> None:
    of = pipeline(tmp_path, {DAY: whole(0, 30) + f" {stray}=30000".encode()})
    report = run(of)
    assert (report.days[0].status, report.days[0].rows, report.quarantined) == ("done", 30, 1)
    assert [(f.check, f.severity, f.count) for f in report.findings] == [("time", "error", 1)]
    (noted,) = health.load(of.storage, "test")
    assert noted.data_until == START + 30 * 1800
    assert [(zone, month) for _, zone, month in series.places(of.storage)] == [("GB", "2026-06")]


@pytest.mark.usefixtures("at_noon")
def test_tomorrows_rows_of_an_auction_are_believed_and_the_day_afters_are_not(tmp_path: Path) -> None:
    auction = replace(FEED, publication=Publication(daily_at=time(13), day_offset=-1))
    of = pipeline(tmp_path, {DAY: whole(0, 48) + b" 125=30000 126=30000"}, auction)
    report = run(of)
    assert report.quarantined == 1, "now is 15:00: 48 hours later is the first instant that cannot be"
    assert max(stored(of)) == 125
