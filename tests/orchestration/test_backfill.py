"""Test backfills: planned runs, the rest of a killed one, workers, the dry run, the end report."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import to_builtins

from assets.ingest.reports import DayReport, RunReport, Status
from assets.sources import feeds
from orchestration.cli import main
from orchestration.jobs import recording
from orchestration.work import backfill, commands, gaps
from orchestration.work.backfill import Task
from orchestration.work.environment import open_context
from tests.orchestration.conftest import in_simulated
from warehouse.documents import catalogue
from warehouse.store import layout
from warehouse.store.storage import Folder

FEED = feeds()["neso.generation"]
CAPACITY = feeds()["entsoe.capacity"]


@pytest.fixture(autouse=True)
def _fixed_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMDS_NOW", "2026-11-20T12:00:00Z")


def test_the_report_has_one_line_for_each_publisher_and_cause() -> None:
    def failed(feed: str, *reasons: str, status: Status = "failed") -> RunReport:
        days = (DayReport(f"2026-11-{number:02}", status, reason=reason) for number, reason in enumerate(reasons, 1))
        return RunReport(feed, tuple(days))

    away = "FeedUnavailable: nemweb.com.au: its name does not resolve"
    report = commands.end_report(
        [
            failed("aemo.mix", away, away, away),
            failed("aemo.trading", away, "FeedChanged: no column x"),
            failed("entsoe.price", *["not configured: set ENTSOE_API_TOKEN"] * 2, status="not_configured"),
            failed("eia.load", *map(str, range(5))),
        ]
    )
    assert [line for line in report.splitlines() if line.startswith(("failed", "left out"))] == [
        "left out: entsoe: 2 days of price: not configured: set ENTSOE_API_TOKEN",
        f"failed: aemo: 4 days of mix, trading: {away}",
        "failed: aemo.trading 2026-11-02: FeedChanged: no column x",
        *(f"failed: eia.load 2026-11-0{number + 1}: {number}" for number in range(3)),
        "failed: eia: 2 more days",
    ]


@given(st.dates(date(2020, 1, 1), date(2024, 1, 1)), st.integers(0, 900))
def test_runs_cover_every_day_once_a_calendar_month_each(first: date, length: int) -> None:
    last = date.fromordinal(first.toordinal() + length)
    tasks = backfill.plan([FEED], first, last)
    days = [day for task in tasks for day in task.days]
    assert days == [date.fromordinal(first.toordinal() + i) for i in range(length + 1)]
    assert all(len({(day.year, day.month) for day in task.days}) == 1 for task in tasks)
    assert len(tasks) == len({(day.year, day.month) for day in days})


def test_days_before_a_feed_began_are_named_and_not_left_out_in_silence(capsys: pytest.CaptureFixture[str]) -> None:
    dates = ["--start", "2021-01-29", "--end", "2021-02-02"]
    assert main(["backfill", "--feed", "ercot.spp_rt", *dates, "--dry-run"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == "ercot.spp_rt starts on 2021-02-01: 3 days from 2021-01-29 are out of range"
    assert second.split()[:3] == ["ercot.spp_rt", "2", "days"]
    assert backfill.too_early([feeds()["ercot.spp_rt"]], date(2021, 2, 1), None) == []
    (line,) = backfill.too_early([feeds()["ercot.spp_rt"]], date(2021, 1, 1), date(2021, 1, 31))
    assert "31 days from 2021-01-01" in line


def test_sources_of_the_zone_of_the_examples_start_first_and_then_the_largest() -> None:
    tasks = backfill.plan(backfill.chosen(), date(2026, 11, 1), date(2026, 11, 7))
    queues = backfill.queues_in_order(tasks)
    is_example = [any("GB" in feeds()[task.feed].zones for task in queue) for queue in queues]
    assert is_example == sorted(is_example, reverse=True)
    assert 0 < sum(is_example) < len(queues)
    assert sorted((task for queue in queues for task in queue), key=str) == sorted(tasks, key=str)
    assert [queue[0].feed.split(".")[0] for queue in queues][:2] == ["elexon", "neso"]


def test_a_first_fill_states_its_progress_until_it_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMDS_HOME", str(tmp_path))
    pipeline, told = open_context(), list[Any]()
    day = (date(2026, 11, 19),)
    tasks = [Task(name, day) for name in ("neso.generation", "elexon.price", "elexon.demand", "rte.eco2mix")]

    def runs() -> Iterator[tuple[Task, RunReport]]:
        for task in tasks:
            yield task, RunReport(task.feed, ())
            published = catalogue.load(pipeline.storage)
            told.append(published and to_builtins(published.filling))

    commands.conclude(pipeline, tasks, runs(), history=True)
    of = {"GB": 3, "FR": 1}
    for number, (done, filling) in enumerate(
        zip(({"GB": 1}, {"GB": 2}, {"GB": 3}, {"GB": 3, "FR": 1}), told, strict=True)
    ):
        left = {zone: {"done": done.get(zone, 0), "of": n} for zone, n in of.items() if done.get(zone, 0) < n}
        assert filling == {"done": number + 1, "of": 4, "zones": left}
    ended = catalogue.load(pipeline.storage)
    assert ended is not None
    assert not ended.filling


def test_years_that_a_span_overlaps_are_asked_whole() -> None:
    (task,) = backfill.plan([CAPACITY], date(2024, 12, 31), date(2026, 1, 1))
    assert task.days == (date(2024, 1, 1), date(2025, 1, 1), date(2026, 1, 1))


def test_days_are_those_that_may_be_revised_to_those_published_ahead() -> None:
    ahead = feeds()["nyiso.lbmp_da"]
    (task,) = backfill.plan([ahead], date(2026, 11, 20), date(2030, 1, 1))
    assert task.days == (date(2026, 11, 20), date(2026, 11, 21))
    assert backfill.plan([ahead, CAPACITY], date(2030, 1, 1), date(2031, 1, 1)) == []
    (task,) = backfill.plan([ahead], None, None, 3)
    assert (task.days[0], task.days[-1]) == (date(2026, 11, 17), date(2026, 11, 21))
    (task,) = backfill.plan([FEED], None, None)
    assert task.days[0] == date.fromordinal(date(2026, 11, 20).toordinal() - FEED.revised_days), "may be revised"
    assert task.days[-1] == date(2026, 11, 20)


def test_the_report_comes_before_dagster_records_the_days(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Recording takes minutes if all days have failed, as without a network, and the causes are in the report."""
    in_simulated(monkeypatch, tmp_path)
    monkeypatch.setenv("EMDS_SIMULATED_FAULTS", "neso:503")
    monkeypatch.setattr(recording.Recorder, "close", lambda recorder: print("recorded"))
    assert main(["backfill", "--days", "1", "--feed", FEED.id]) == 1
    *_, cause, recorded = capsys.readouterr().out.splitlines()
    assert (cause.partition(":")[0], recorded) == ("failed", "recorded")


def test_a_fill_fetches_every_day_that_its_feeds_may_have_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A day that is not due yet may come with a file of its month; if it was not planned, Dagster does not list it."""
    in_simulated(monkeypatch, tmp_path)
    tasks = backfill.plan(backfill.chosen(), None, None, 35)
    left = gaps.without_whole_days(open_context(), tasks)
    assert {(task.feed, task.days[-1]) for task in tasks} == {(task.feed, task.days[-1]) for task in left}


@pytest.mark.slow
def test_a_worker_that_is_killed_fails_what_is_left_and_nothing_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_simulated(monkeypatch, tmp_path)
    wanted = [FEED, feeds()["elexon.price"]]
    tasks = backfill.plan(wanted, date(2026, 10, 30), date(2026, 11, 2))
    pools, make = [], backfill.worker_pool

    def keep(workers: int) -> ProcessPoolExecutor:
        pools.append(make(workers))
        return pools[0]

    monkeypatch.setattr(backfill, "worker_pool", keep)
    outcome: dict[Task, RunReport] = {}
    for task, report in backfill.run(tasks):
        outcome[task] = report
        if len(outcome) == 1:
            for pid in pools[0]._processes:
                os.kill(pid, signal.SIGKILL)
    assert set(outcome) == set(tasks)
    assert any(day.reason == "a worker process ended" for report in outcome.values() for day in report.failed)


def test_a_stopped_command_warns_of_no_semaphores() -> None:
    program = (
        "import os, signal\nfrom orchestration.work.backfill import worker_pool\n"
        "with worker_pool(1) as pool:\n    pool.submit(int).result()\n    os.kill(os.getpid(), signal.SIGTERM)\n"
    )
    stopped = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert (stopped.returncode, stopped.stderr) == (-signal.SIGTERM, "")


def test_what_a_killed_backfill_left_is_all_that_the_next_asks_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    in_simulated(monkeypatch, tmp_path)
    dates = ["--feed", "neso.generation", "--start", "2026-11-16", "--end", "2026-11-19"]
    assert main(["backfill", *dates[:4], "--end", "2026-11-17"]) == 0
    capsys.readouterr()
    assert main(["backfill", *dates, "--missing", "--dry-run"]) == 0
    assert capsys.readouterr().out.split()[:3] == ["neso.generation", "2", "days"]
    assert main(["backfill", *dates, "--missing"]) == 0
    assert "neso.generation                  2        2" in capsys.readouterr().out
    files = {key: Folder(tmp_path).stat(key) for key in Folder(tmp_path).keys("series/")}
    assert main(["backfill", *dates]) == 0
    assert {key: Folder(tmp_path).stat(key) for key in files} == files, "asked again, nothing changes"
    tasks = backfill.plan([FEED], date(2026, 11, 16), date(2026, 11, 19))
    assert gaps.without_whole_days(open_context(), tasks) == []
    [month] = Folder(tmp_path).keys(layout.series_prefix("generation", "GB"))
    Folder(tmp_path).put(month, b"cut")
    assert gaps.without_whole_days(open_context(), tasks) == tasks, "what cannot be read is not whole"


def test_years_that_are_held_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_simulated(monkeypatch, tmp_path)
    tasks = backfill.plan([CAPACITY], date(2024, 1, 1), date(2025, 12, 31))
    pipeline = open_context()
    assert gaps.without_whole_days(pipeline, tasks) == tasks
    assert main(["backfill", "--feed", CAPACITY.id, "--start", "2024-01-01", "--end", "2024-12-31"]) == 0
    assert gaps.without_whole_days(pipeline, tasks) == [Task(CAPACITY.id, (date(2025, 1, 1),))]
