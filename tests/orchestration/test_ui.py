"""Dagster's web server and daemon over a simulated warehouse, driven as the UI drives them and by the UI itself.

By GraphQL: a partition, a backfill, history. In Chromium: pages of an asset, and a backfill of three feeds cancelled,
killed, and gone on with. One file, so that its servers start once.
"""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.orchestration.dagster_servers import ENDED, SELECTOR, Ui, serving
from tests.pages.browser import browser, in_chromium
from warehouse import series
from warehouse.clock import MarketDay
from warehouse.storage import Folder

__all__ = ["browser"]
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::dagster.BetaWarning")]

ASSET = ["caiso", "demand"]
TODAY = date.today()  # noqa: DTZ011  partition keys follow the wall clock
DAYS = [TODAY - timedelta(days=i) for i in range(45, 15, -1)]
BROKEN = DAYS[9]
HELD_ASSET = ["elexon", "price"]

JOB = "nyiso_every_5m"
"""What Chromium drives; no other test touches its feeds."""
FEEDS = ("flows", "lbmp_rt", "load")
METRICS = ("interchange", "price", "demand")
MARKET = "America/New_York"
THERE = datetime.now(ZoneInfo(MARKET)).date()
FIRST = (THERE.replace(day=1) - timedelta(days=20)).replace(day=5)
OF_A_MONTH = [str(FIRST + timedelta(days=i)) for i in range(24)]
"""A run takes no more. So many that a run is seen in their midst, though a day takes it some 12 ms."""
MONITORING = "run_monitoring: {enabled: true, poll_interval_seconds: 3, free_slots_after_run_end_seconds: 1}\n"


def chromium(test: Callable[..., None]) -> Callable[..., None]:
    """Marks a test that needs it."""
    for mark in in_chromium:
        test = mark(test)
    return test


@pytest.fixture(scope="module")
def ui(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ui]:
    settings = {
        "EMDS_SINCE": str(THERE - timedelta(days=70)),
        "EMDS_FAULTS": f"caiso.demand#{BROKEN}:changed",
    }
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


def test_the_ui_lists_every_feed(ui: Ui) -> None:
    nodes = ui.ask("{ assetNodes { assetKey { path } groupName owners { ... on TeamAssetOwner { team } } kinds } }")[
        "assetNodes"
    ]
    node_of = {"/".join(n["assetKey"]["path"]): n for n in nodes}
    assert node_of["caiso/demand"]["groupName"] == "caiso"
    assert node_of["caiso/demand"]["owners"] == [{"team": "market-feeds"}]
    assert {n["groupName"] for n in nodes} >= {"aemo", "entsoe", "eia", "pjm", "published", "geo", "analyst"}


def test_a_partition_is_materialised_from_the_ui(ui: Ui) -> None:
    day = str(TODAY - timedelta(days=3))
    mutation = """mutation($p: ExecutionParams!) { launchRun(executionParams: $p) { __typename
        ... on LaunchRunSuccess { run { id } } ... on PythonError { message } } }"""
    launched = ui.ask(
        mutation,
        p={
            "selector": {**SELECTOR, "jobName": "__ASSET_JOB", "assetSelection": [{"path": ASSET}]},
            "mode": "default",
            "runConfigData": {},
            "executionMetadata": {"tags": [{"key": "dagster/partition", "value": day}]},
        },
    )["launchRun"]
    assert launched["__typename"] == "LaunchRunSuccess", launched
    run = launched["run"]["id"]
    query = "query($r: ID!) { runOrError(runId: $r) { ... on Run { status } } }"
    status = ui.until(lambda: ui.ask(query, r=run)["runOrError"]["status"], lambda s: s in ("SUCCESS", "FAILURE"))
    assert status == "SUCCESS"
    assert day in ui.partitions(ASSET)["MATERIALIZED"]
    rows = series.read(
        Folder(ui.home), "US-CAISO", "demand", MarketDay(date.fromisoformat(day), "America/Los_Angeles").window
    )
    assert rows.num_rows in (276, 288, 300)


def test_of_a_backfill_one_bad_day_fails_and_the_others_are_done(ui: Ui) -> None:
    backfill = ui.backfill([ASSET], [str(day) for day in DAYS])
    status = ui.until(lambda: ui.backfill_status(backfill), lambda s: s in ENDED)
    assert status == "COMPLETED_FAILED"
    by_status = ui.partitions(ASSET)
    assert {str(d) for d in DAYS} - by_status["MATERIALIZED"] == {str(BROKEN)}
    assert str(BROKEN) in by_status["FAILED"]
    assert len(ui.runs(dagster__backfill=backfill)) == 1


def test_a_backfill_of_days_that_are_held_is_complete_though_no_row_changes(ui: Ui) -> None:
    days = [str(TODAY - timedelta(days=back)) for back in (7, 8)]
    for _ in range(2):
        backfill = ui.backfill([HELD_ASSET], days)
        assert ui.until(lambda of=backfill: ui.backfill_status(of), lambda s: s in ENDED) == "COMPLETED_SUCCESS"
    assert set(days) <= set(ui.partitions(HELD_ASSET)["MATERIALIZED"])


def test_history_of_feeds_with_other_market_days_is_started_by_its_sensor(ui: Ui) -> None:
    day = str(TODAY - timedelta(days=5))
    mutation = """mutation($p: ExecutionParams!) { launchRun(executionParams: $p) { __typename
        ... on LaunchRunSuccess { run { id } } ... on PythonError { message } } }"""
    config = {"feeds": ["elexon.demand", "spp.load_hourly"], "first": day, "last": day}
    launched = ui.ask(
        mutation,
        p={
            "selector": {**SELECTOR, "jobName": "history"},
            "mode": "default",
            "runConfigData": {"ops": {"plan_history": {"config": config}}},
        },
    )["launchRun"]
    assert launched["__typename"] == "LaunchRunSuccess", launched
    asked = launched["run"]["id"]
    runs = ui.until(lambda: ui.runs(emds__history=asked), lambda r: sorted(r.values()) == ["SUCCESS"] * 2, 300)
    assert len(runs) == 2
    for asset in (["elexon", "demand"], ["spp", "load_hourly"]):
        assert day in ui.partitions(asset)["MATERIALIZED"]


@chromium
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


@chromium
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
    ui.until(lambda: ui.is_told_to_end(run), bool)  # Dagster tells the run's process only after it has said so
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
        assert done == {"MATERIALIZED": set(OF_A_MONTH)}
    page.goto(f"{ui.url}/assets/nyiso/flows?view=partitions")
    page.get_by_text(f"Materialized ({len(OF_A_MONTH)})").wait_for()
    for metric in METRICS:
        for day in OF_A_MONTH:
            window = MarketDay(date.fromisoformat(day), MARKET).window
            stamps = series.read(Folder(ui.home), "US-NYISO", metric, window)["ts"].unique()
            assert len(stamps) == (window.end - window.start) // 300, (metric, day)


def launched(ui: Ui, page: Any, only_missing: bool) -> str:
    """Asks for the days of the job's three feeds, as a person does; the backfill's id."""
    before = backfills(ui)
    page.goto(f"{ui.url}/locations/emds/jobs/{JOB}")
    page.get_by_text("Materialize all…").click()
    days = page.get_by_placeholder("No matching partitions")
    days.fill(f"[{OF_A_MONTH[0]}...{OF_A_MONTH[-1]}]")
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
    (run,) = ui.until(lambda: ui.runs(dagster__backfill=backfill), bool, most_pause_s=0.2)
    pid = ui.until(lambda: process_of(ui, run), bool, most_pause_s=0.2)
    deadline = time.monotonic() + 120
    while len(kept_days(ui, feed)) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.002)
    os.kill(pid, signal.SIGSTOP)
    assert "orchestration.fork_server" in Path(f"/proc/{pid}/cmdline").read_text(), "forked, and not begun anew"
    assert len(kept_days(ui, feed)) < len(OF_A_MONTH), "it was over too soon"
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
