"""Runs that a command plans, what a killed one left, its workers, the dry run, the end report."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.ingest.reports import RunReport
from assets.sources import feeds
from orchestration.cli import main
from orchestration.work import backfill, gaps
from orchestration.work.backfill import Task
from orchestration.work.resources import open_context
from tests.orchestration.conftest import in_simulated
from warehouse.store import layout
from warehouse.store.storage import Folder

FEED = feeds()["neso.generation"]
CAPACITY = feeds()["entsoe.capacity"]


@pytest.fixture(autouse=True)
def _fixed_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMDS_NOW", "2026-11-20T12:00:00Z")


@given(st.dates(date(2020, 1, 1), date(2024, 1, 1)), st.integers(0, 900))
def test_runs_cover_every_day_once_a_calendar_month_each(first: date, length: int) -> None:
    last = date.fromordinal(first.toordinal() + length)
    tasks = backfill.plan([FEED], first, last)
    days = [day for task in tasks for day in task.days]
    assert days == [date.fromordinal(first.toordinal() + i) for i in range(length + 1)]
    assert all(len({(day.year, day.month) for day in task.days}) == 1 for task in tasks)
    assert len(tasks) == len({(day.year, day.month) for day in days})


def test_the_last_days_end_with_what_is_published_ahead() -> None:
    ahead = feeds()["nyiso.lbmp_da"]
    (task,) = backfill.plan([ahead], None, None, 3)
    assert (task.days[0], task.days[-1]) == (date(2026, 11, 17), date(2026, 11, 21))


def test_days_before_a_feed_began_are_named_and_not_left_out_in_silence(capsys: pytest.CaptureFixture[str]) -> None:
    dates = ["--start", "2021-01-29", "--end", "2021-02-02"]
    assert main(["backfill", "--feed", "ercot.spp_rt", *dates, "--dry-run"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == "ercot.spp_rt begins on 2021-02-01: 3 days from 2021-01-29 on are out of reach"
    assert second.split()[:3] == ["ercot.spp_rt", "2", "days"]
    assert backfill.too_early([feeds()["ercot.spp_rt"]], date(2021, 2, 1), None) == []
    (line,) = backfill.too_early([feeds()["ercot.spp_rt"]], date(2021, 1, 1), date(2021, 1, 31))
    assert "31 days from 2021-01-01" in line


def test_an_ingest_asks_for_the_days_that_may_still_be_revised() -> None:
    (task,) = backfill.plan([FEED], None, None)
    assert task.days[0] == date.fromordinal(date(2026, 11, 20).toordinal() - FEED.revised_days)
    assert task.days[-1] == date(2026, 11, 20)


def test_years_that_a_span_overlaps_are_asked_whole() -> None:
    (task,) = backfill.plan([CAPACITY], date(2024, 12, 31), date(2026, 1, 1))
    assert task.days == (date(2024, 1, 1), date(2025, 1, 1), date(2026, 1, 1))


def test_a_dry_run_leaves_out_what_is_out_of_reach() -> None:
    today_only = feeds()["ercot.load"]
    assert backfill.estimate(backfill.plan([today_only], date(2026, 11, 1), None))[today_only.id].days == 1


def test_days_that_are_not_yet_published_are_not_asked() -> None:
    ahead = feeds()["nyiso.lbmp_da"]
    (task,) = backfill.plan([ahead], date(2026, 11, 20), date(2030, 1, 1))
    assert task.days == (date(2026, 11, 20), date(2026, 11, 21))
    assert backfill.plan([ahead, CAPACITY], date(2030, 1, 1), date(2031, 1, 1)) == []


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
    assert "neso.generation                  2     2" in capsys.readouterr().out
    files = {key: Folder(tmp_path).stat(key) for key in Folder(tmp_path).keys("series/")}
    assert main(["backfill", *dates]) == 0
    assert {key: Folder(tmp_path).stat(key) for key in files} == files, "asked again, nothing changes"
    assert main(["backfill", *dates, "--missing"]) == 0
    assert "neso.generation" not in capsys.readouterr().out.rsplit("feed", 1)[1]


def test_days_of_a_month_that_cannot_be_read_are_no_whole_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_simulated(monkeypatch, tmp_path)
    tasks = backfill.plan([FEED], date(2026, 11, 19), date(2026, 11, 19))
    assert main(["backfill", "--feed", FEED.id, "--start", "2026-11-19", "--end", "2026-11-19"]) == 0
    pipeline = open_context()
    assert gaps.without_whole_days(pipeline, tasks) == []
    [month] = pipeline.storage.keys(layout.series_prefix("generation", "GB"))
    Folder(tmp_path).put(month, b"cut")
    assert gaps.without_whole_days(pipeline, tasks) == tasks


def test_years_that_are_held_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_simulated(monkeypatch, tmp_path)
    tasks = backfill.plan([CAPACITY], date(2024, 1, 1), date(2025, 12, 31))
    pipeline = open_context()
    assert gaps.without_whole_days(pipeline, tasks) == tasks
    assert main(["backfill", "--feed", CAPACITY.id, "--start", "2024-01-01", "--end", "2024-12-31"]) == 0
    assert gaps.without_whole_days(pipeline, tasks) == [Task(CAPACITY.id, (date(2025, 1, 1),))]


_HOLDER = """
import os, time
from orchestration.work.backfill import worker_pool
if __name__ == "__main__":
    with worker_pool(1) as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        time.sleep(600)
"""


@pytest.mark.slow
def test_a_worker_ends_with_the_process_that_was_killed(tmp_path: Path) -> None:
    script = tmp_path / "holder.py"
    script.write_text(_HOLDER)
    environ = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    holder = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True, env=environ)
    assert holder.stdout is not None
    worker = int(holder.stdout.readline())
    assert is_alive(worker)
    holder.send_signal(signal.SIGKILL)
    holder.wait(20)
    holder.stdout.close()
    assert has_ended(worker)


def is_alive(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def has_ended(pid: int, seconds: float = 20) -> bool:
    """Waits for it."""
    until = time.monotonic() + seconds
    while is_alive(pid) and time.monotonic() < until:
        time.sleep(0.05)
    return not is_alive(pid)
