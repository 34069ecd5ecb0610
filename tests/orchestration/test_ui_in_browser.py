"""Dagster's UI in Chromium: pages of an asset, and a backfill of three feeds cancelled, killed, and gone on with."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.orchestration.dagster_servers import Ui, serving
from tests.pages.browser import browser, in_chromium
from warehouse import series
from warehouse.clock import MarketDay
from warehouse.storage import Folder

__all__ = ["browser"]
pytestmark = in_chromium

JOB = "nyiso_every_5m"
FEEDS = ("flows", "lbmp_rt", "load")
METRICS = ("interchange", "price", "demand")
MARKET = "America/New_York"
TODAY = datetime.now(ZoneInfo(MARKET)).date()  # partition keys follow the wall clock
FIRST = (TODAY.replace(day=1) - timedelta(days=20)).replace(day=5)
DAYS = [str(FIRST + timedelta(days=i)) for i in range(24)]
"""Of one month: a run takes no more. So many that a run is seen in their midst, though a day takes it some 12 ms."""
MONITORING = "run_monitoring: {enabled: true, poll_interval_seconds: 1, free_slots_after_run_end_seconds: 1}\n"


@pytest.fixture(scope="module")
def ui(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ui]:
    settings = {"EMDS_SINCE": str(TODAY - timedelta(days=70))}
    with serving(tmp_path_factory.mktemp("home"), settings, {"run_monitoring": MONITORING}) as servers:
        yield servers


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A page; the test fails where the UI's own code raised."""
    faults: list[str] = []
    opened = browser.new_page(viewport={"width": 1400, "height": 900})
    opened.on("pageerror", lambda error: faults.append(str(error)))
    yield opened
    opened.close()
    assert faults == []


def test_the_pages_of_an_asset_say_what_it_is_holds_and_is_checked_for(ui: Ui, page: Any) -> None:
    page.goto(f"{ui.url}/assets/nyiso/load")
    for text in ("Licence:", "Bidding zone, balancing authority or region.", "Never materialized"):
        page.get_by_text(text).first.wait_for()
    page.goto(f"{ui.url}/assets/nyiso/load?view=partitions")
    page.get_by_text(re.compile(r"Missing \(7[12]\)")).wait_for()  # a day more after a midnight there
    page.goto(f"{ui.url}/assets/nyiso/load?view=checks")
    for check in ("agrees", "believed", "complete", "fresh", "steady"):
        page.get_by_text(check, exact=True).first.wait_for()
    page.get_by_text("Hourly means agree with the second feed of the same series.").wait_for()


@pytest.mark.timeout(900)
def test_a_backfill_of_three_feeds_is_cancelled_killed_and_gone_on_with(ui: Ui, page: Any) -> None:
    cancelled = launched(ui, page, only_missing=False)
    run, pid = stopped_amid(ui, cancelled, "lbmp_rt")
    page.goto(f"{ui.url}/runs/b/{cancelled}")
    page.get_by_text("In progress", exact=True).first.wait_for()
    page.get_by_role("button").last.click()
    page.get_by_role("menuitem", name="Cancel backfill").click()
    page.get_by_role("button", name="Cancel backfill").click()
    leave(page)
    ui.until(lambda: ui.runs(dagster__backfill=cancelled)[run], lambda status: status == "CANCELING")
    time.sleep(2)  # Dagster tells the run's process only after it has said so
    os.kill(pid, signal.SIGCONT)
    ui.until(lambda: ui.backfill_status(cancelled), lambda status: status == "CANCELED")
    assert ui.runs(dagster__backfill=cancelled) == {run: "CANCELED"}
    assert not kept_days(ui, "load"), "the third feed was not asked"

    killed = launched(ui, page, only_missing=True)
    pid = stopped_amid(ui, killed, "load")[1]
    assert os.getpgid(pid) == os.getpgid(ui.started[-1].pid), "the run dies with the daemon"
    ui.kill_daemon()
    ui.start_daemon()
    ui.until(lambda: ui.backfill_status(killed), lambda status: status.startswith("COMPLETED"), 400)
    # Dagster may end the backfill before it starts the retry, and then starts none: `missed_retries` does.
    ends = ui.until(lambda: sorted(ui.runs(dagster__backfill=killed).values()), lambda status: "SUCCESS" in status, 400)
    assert ends == ["FAILURE", "SUCCESS"], "one run, and its retry"

    page.goto(f"{ui.url}/runs/b/{killed}")
    page.get_by_text("100% completed").wait_for()
    for feed in FEEDS:
        # Days that the killed run found unchanged are red until a sensor has looked.
        done = ui.until(
            lambda feed=feed: ui.partitions(["nyiso", feed]), lambda status: set(status) == {"MATERIALIZED"}
        )
        assert done == {"MATERIALIZED": set(DAYS)}
    page.goto(f"{ui.url}/assets/nyiso/flows?view=partitions")
    page.get_by_text(f"Materialized ({len(DAYS)})").wait_for()
    for metric in METRICS:
        for day in DAYS:
            window = MarketDay(date.fromisoformat(day), MARKET).window
            stamps = series.read(Folder(ui.home), "US-NYISO", metric, window)["ts"].unique()
            assert len(stamps) == (window.end - window.start) // 300, (metric, day)


def launched(ui: Ui, page: Any, only_missing: bool) -> str:
    """Asks for the days of the job's three feeds, as a person does; the backfill's id."""
    before = backfills(ui)
    page.goto(f"{ui.url}/locations/emds/jobs/{JOB}")
    page.get_by_text("Materialize all…").click()
    days = page.get_by_placeholder("No matching partitions")
    days.fill(f"[{DAYS[0]}...{DAYS[-1]}]")
    days.press("Enter")
    if only_missing:
        page.get_by_text("Backfill only failed and missing partitions within selection").click()
    page.get_by_role("button", name="Launch backfill").click()
    (new,) = ui.until(lambda: backfills(ui) - before, bool)
    leave(page)
    return str(new)


def leave(page: Any) -> None:
    """A page of the UI asks its server every other second, and draws what it hears."""
    page.goto("about:blank")


def backfills(ui: Ui) -> set[str]:
    query = "{ partitionBackfillsOrError { ... on PartitionBackfills { results { id } } } }"
    return {each["id"] for each in ui.ask(query)["partitionBackfillsOrError"]["results"]}


def stopped_amid(ui: Ui, backfill: str, feed: str) -> tuple[str, int]:
    """Holds the backfill's run while it brings days of a feed; the run and its process."""
    (run,) = ui.until(lambda: ui.runs(dagster__backfill=backfill), bool)
    pid = ui.until(lambda: process_of(ui, run), bool)
    deadline = time.monotonic() + 120
    while len(kept_days(ui, feed)) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.002)
    os.kill(pid, signal.SIGSTOP)
    assert len(kept_days(ui, feed)) < len(DAYS), "it was over too soon"
    return run, pid


def process_of(ui: Ui, run: str) -> int:
    query = """query($r: ID!) { logsForRun(runId: $r) { ... on EventConnection { events { __typename
        ... on EngineEvent { metadataEntries { label ... on TextMetadataEntry { text } } } } } } }"""
    entries = [
        entry
        for event in ui.ask(query, r=run)["logsForRun"]["events"]
        for entry in event.get("metadataEntries", ())
        if entry["label"] == "pid"
    ]
    return int(entries[0]["text"]) if entries else 0


def kept_days(ui: Ui, feed: str) -> set[str]:
    """The days of which a feed's answers are kept."""
    folder = ui.home / "raw" / "nyiso" / feed
    return set(os.listdir(folder)) if folder.is_dir() else set()
