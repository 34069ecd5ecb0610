"""Runs that a command plans, the checkpoint of a killed one, its workers, the dry run, the end report."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future
from datetime import date
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.ingest.reports import DayReport, RunReport
from assets.sources import feeds, sources
from orchestration import backfill, commands
from orchestration.backfill import Task
from orchestration.checkpoint import Checkpoint, unfinished
from orchestration.cli import main
from orchestration.progress import end_report
from tests.orchestration.conftest import in_simulated
from warehouse import clock, layout
from warehouse.errors import StorageError
from warehouse.storage import Folder

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


def test_days_before_a_feed_began_are_not_asked() -> None:
    tasks = backfill.plan([FEED], date(1990, 1, 1), FEED.since)
    assert [task.days for task in tasks] == [(FEED.since,)]
    assert backfill.plan([FEED], date(1990, 1, 1), date(1990, 2, 1)) == []


def test_feeds_are_chosen_by_source_or_name() -> None:
    assert [f.id for f in backfill.chosen(None, "neso.generation")] == ["neso.generation"]
    assert {f.source for f in backfill.chosen("aemo", None)} == {"aemo"}
    assert {f.id for f in backfill.chosen(None, None)} == set(feeds())
    for source, feed in [("nobody", None), (None, "neso.nothing"), ("aemo", "neso.generation")]:
        with pytest.raises(KeyError):
            backfill.chosen(source, feed)


def test_a_dry_run_counts_requests_and_their_least_time() -> None:
    tasks = backfill.plan([FEED], date(2026, 1, 1), date(2026, 3, 1))
    source = sources()["neso"]
    pause = max(60 / source.requests_per_minute, source.min_interval_s)
    requests = sum(len(FEED.requests(backfill.days_of(task), clock.now())) for task in tasks)
    assert backfill.estimate(tasks) == {FEED.id: backfill.Estimate(60, requests, 0, pytest.approx(pause * requests))}


def test_a_dry_run_leaves_out_what_is_out_of_reach() -> None:
    today_only = feeds()["ercot.load"]
    assert backfill.estimate(backfill.plan([today_only], date(2026, 11, 1), None))[today_only.id].days == 1


def test_days_that_are_not_yet_published_are_not_asked() -> None:
    ahead = feeds()["nyiso.lbmp_da"]
    (task,) = backfill.plan([ahead], date(2026, 11, 20), date(2030, 1, 1))
    assert task.days == (date(2026, 11, 20), date(2026, 11, 21))
    assert backfill.plan([ahead, CAPACITY], date(2030, 1, 1), date(2031, 1, 1)) == []


def test_a_checkpoint_remembers_what_a_killed_backfill_finished(tmp_path: Path) -> None:
    tasks = [Task("a.b", (date(2026, 1, 1),)), Task("a.b", (date(2026, 2, 1),))]
    storage = Folder(tmp_path)
    Checkpoint(storage, tasks).ended(tasks[0])
    again = Checkpoint(storage, list(reversed(tasks)))
    assert again.left == tasks[1:]
    other = Checkpoint(storage, tasks[:1])
    assert other.left == tasks[:1]
    again.close()
    assert Checkpoint(storage, tasks).left == tasks


def test_a_checkpoint_of_a_name_keeps_the_tasks_that_it_began_with(tmp_path: Path) -> None:
    """The last 35 days are others tomorrow."""
    yesterday, today = ([Task("a.b", (date(2026, 1, day),)), Task("c.d", (date(2026, 1, day),))] for day in (1, 2))
    storage = Folder(tmp_path)
    assert not unfinished(storage, "up")
    Checkpoint(storage, yesterday, "up").ended(yesterday[1])
    assert unfinished(storage, "up")
    resumed = Checkpoint(storage, today, "up")
    assert (resumed.tasks, resumed.left) == (yesterday, yesterday[:1])
    resumed.close()
    assert not unfinished(storage, "up")


def test_where_our_own_files_refuse_the_other_runs_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMDS_HOME", str(tmp_path))
    monkeypatch.delenv("EMDS_FEEDS", raising=False)
    real = Folder.put

    def put(self: Folder, key: str, *args: object, **named: object) -> None:
        if key.startswith(layout.series_prefix("generation")):
            raise StorageError("another writer has held it for 120 s")
        real(self, key, *args, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(Folder, "put", put)
    tasks = backfill.plan([FEED, feeds()["neso.carbon_intensity"]], date(2026, 11, 19), date(2026, 11, 19))
    outcome = {
        task.feed: [(day.status, day.reason) for day in report.days] for task, report in backfill.run(tasks, workers=1)
    }
    assert outcome == {
        "neso.generation": [("failed", "StorageError: another writer has held it for 120 s")],
        "neso.carbon_intensity": [("done", "")],
    }


class _AtOnce:
    """Stands for a worker process: does what it is given before it returns."""

    begun: ClassVar[list[str]] = []

    def __enter__(self) -> _AtOnce:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def submit(self, _: object, task: Task, __: bool) -> Future[RunReport]:
        self.begun.append(task.feed.partition(".")[0])
        done: Future[RunReport] = Future()
        done.set_result(RunReport(task.feed, ()))
        return done


def test_the_source_with_the_most_rows_begins_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backfill, "_worker", _AtOnce)
    monkeypatch.setenv("EMDS_NOW", "2026-11-20T12:00:00Z")
    tasks = backfill.plan(backfill.chosen(None, None), None, None, 35)
    assert len(list(backfill.run(tasks, workers=2))) == len(tasks)
    assert _AtOnce.begun[0] == "aemo", "five regions every five minutes, in four feeds"
    assert {*_AtOnce.begun} == {*sources()}


def test_the_end_report_counts_days_per_feed_and_names_failures() -> None:
    days = (DayReport("2026-01-01", "done", 48), DayReport("2026-01-02", "failed", reason="FeedChanged: no column x"))
    text = end_report([(Task("neso.generation", (date(2026, 1, 1),)), RunReport("neso.generation", days))])
    assert text.splitlines()[1].split() == ["neso.generation", "2", "1", "0", "0", "1", "48", "0", "0"]
    assert "failed: neso.generation 2026-01-02: FeedChanged: no column x" in text


def test_the_end_report_tells_once_what_a_feed_lacks() -> None:
    days = tuple(DayReport(f"2026-01-0{n}", "not configured", reason="not configured: set X") for n in (1, 2))
    text = end_report([(Task("a.b", (date(2026, 1, 1),)), RunReport("a.b", days))])
    assert text.splitlines()[2:] == ["left out: a.b: not configured: set X"]


def test_the_end_report_counts_the_failures_that_it_does_not_name() -> None:
    days = tuple(DayReport(f"2026-01-0{n}", "failed", reason="silent") for n in range(1, 8))
    lines = end_report([(Task("a.b", (date(2026, 1, 1),)), RunReport("a.b", days))]).splitlines()
    assert lines[-2:] == ["failed: a.b 2026-01-03: silent", "failed: a.b: 4 days more"]


TASKS = [Task(feed, (date(2026, 11, 18),)) for feed in ("elexon.demand", "elexon.price", "neso.generation")]


def report(task: Task, state: str) -> RunReport:
    return RunReport(task.feed, tuple(DayReport(str(day), state, reason="503") for day in task.days))  # type: ignore[arg-type]


def test_what_failed_before_a_kill_is_asked_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_simulated(monkeypatch, tmp_path)
    asked: list[list[str]] = []

    def run(tasks: list[Task], again: bool) -> Iterator[tuple[Task, RunReport]]:
        asked.append([task.feed for task in tasks])
        for task in tasks:
            if len(asked) == 1 and task.feed.startswith("neso"):
                raise KeyboardInterrupt
            yield task, report(task, "failed" if task.feed == "elexon.price" and len(asked) == 1 else "ok")

    monkeypatch.setattr(backfill, "run", run)
    with pytest.raises(KeyboardInterrupt):
        commands.resumable(TASKS, "test")
    assert commands.resumable(TASKS, "test") == 0
    assert asked == [["elexon.demand", "elexon.price", "neso.generation"], ["elexon.price", "neso.generation"]]
    assert Folder(tmp_path).keys(layout.JOURNALS) == []


_HOLDER = """
import os, time
from orchestration.backfill import _worker
if __name__ == "__main__":
    with _worker() as pool:
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
