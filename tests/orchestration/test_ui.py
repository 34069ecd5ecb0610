"""Drive Dagster's web server and daemon over a simulated warehouse by GraphQL, as the UI does.

The tests cover a partition, backfills and kills. They share a file, so that their servers start once.
"""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Iterator
from datetime import date

import pytest

from tests.orchestration.dagster_servers import ENDED, SELECTOR, Ui, serving
from tests.stand_ins import stored_rows
from tests.stand_ins.days import ordinary_days
from warehouse.market.clock import MarketDay
from warehouse.store.storage import Folder

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::dagster.BetaWarning")]

ASSET = ["caiso", "demand"]
DAYS = ordinary_days(12)
BROKEN = DAYS[3]
FEEDS = ("demand", "interchange")
"""EIA's feeds for the kills; no other test uses them."""
TEN_DAYS = [str(day) for day in ordinary_days(10, 12)]
(SINGLE_DAY,) = ordinary_days(1, 24)
MONITORING = "run_monitoring: {enabled: true, poll_interval_seconds: 3, free_slots_after_run_end_seconds: 1}\n"


@pytest.fixture(scope="module")
def ui(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ui]:
    settings = {
        "EMDS_START_DATE": str(DAYS[0]),
        "EMDS_SIMULATED_FAULTS": f"caiso.demand#{BROKEN}:changed",
    }
    with serving(tmp_path_factory.mktemp("home"), settings, {"run_monitoring": MONITORING}) as servers:
        yield servers


def test_a_partition_is_materialised_from_the_ui(ui: Ui) -> None:
    mutation = """mutation($p: ExecutionParams!) { launchRun(executionParams: $p) { __typename
        ... on LaunchRunSuccess { run { id } } ... on PythonError { message } } }"""
    launched = ui.ask(
        mutation,
        p={
            "selector": {**SELECTOR, "jobName": "__ASSET_JOB", "assetSelection": [{"path": ASSET}]},
            "mode": "default",
            "runConfigData": {},
            "executionMetadata": {"tags": [{"key": "dagster/partition", "value": str(SINGLE_DAY)}]},
        },
    )["launchRun"]
    assert launched["__typename"] == "LaunchRunSuccess", launched
    run = launched["run"]["id"]
    query = "query($r: ID!) { runOrError(runId: $r) { ... on Run { status } } }"
    status = ui.until(lambda: ui.ask(query, r=run)["runOrError"]["status"], lambda s: s in ("SUCCESS", "FAILURE"))
    assert status == "SUCCESS"
    assert str(SINGLE_DAY) in ui.partitions(ASSET)["MATERIALIZED"]
    window = MarketDay(SINGLE_DAY, "America/Los_Angeles").window
    assert stored_rows.read(Folder(ui.home), "US-CAISO", "demand", window).num_rows == 288
    assert lights(ui, ASSET, str(SINGLE_DAY)) == dict.fromkeys(("plausible", "complete", "no_anomalies"), "SUCCEEDED")


def lights(ui: Ui, asset: list[str], day: str) -> dict[str, str]:
    """Return the state of each check in its last evaluation of a partition."""
    query = """query($k: AssetKeyInput!, $p: String!) { assetNodeOrError(assetKey: $k) { ... on AssetNode {
        assetChecksOrError { ... on AssetChecks { checks { name } } } } } }"""
    nodes = ui.ask(query.replace(", $p: String!", ""), k={"path": asset})["assetNodeOrError"]
    names = [check["name"] for check in nodes["assetChecksOrError"]["checks"] if check["name"] != "fresh"]
    history = """query($k: AssetKeyInput!, $n: String!) {
        assetCheckExecutions(assetKey: $k, checkName: $n, limit: 200) { status evaluation { partition } } }"""
    found: dict[str, str] = {}
    for name in names:
        for execution in ui.ask(history, k={"path": asset}, n=name)["assetCheckExecutions"]:
            evaluation = execution["evaluation"]
            if evaluation and evaluation["partition"] == day:
                found.setdefault(name, execution["status"])
    return found


def test_of_a_backfill_one_bad_day_fails_and_the_others_are_done(ui: Ui) -> None:
    backfill = ui.backfill([ASSET], [str(day) for day in DAYS])
    status = ui.until(lambda: ui.backfill_status(backfill), lambda s: s in ENDED)
    assert status == "COMPLETED_FAILED"
    by_status = ui.partitions(ASSET)
    assert {str(d) for d in DAYS} - by_status["MATERIALIZED"] == {str(BROKEN)}
    assert str(BROKEN) in by_status["FAILED"]
    assert len(ui.runs(dagster__backfill=backfill)) == 1
    whole, bad = lights(ui, ASSET, str(DAYS[0])), lights(ui, ASSET, str(BROKEN))
    assert set(whole.values()) == {"SUCCEEDED"}
    assert (bad["plausible"], bad["complete"]) == ("FAILED", "FAILED")


@pytest.mark.campaign
def test_a_backfill_is_cancelled(ui: Ui) -> None:
    backfill = ui.backfill([["eia", feed] for feed in FEEDS], TEN_DAYS)
    run, pid = stopped_amid(ui, backfill)
    cancelled = ui.ask("mutation($b: String!) { cancelPartitionBackfill(backfillId: $b) { __typename } }", b=backfill)
    assert cancelled["cancelPartitionBackfill"]["__typename"] == "CancelBackfillSuccess"
    ui.until(lambda: ui.runs(dagster__backfill=backfill)[run], lambda status: status == "CANCELING")
    time.sleep(2)  # Dagster reports the cancellation before it signals the run's process
    os.kill(pid, signal.SIGCONT)
    ui.until(lambda: ui.backfill_status(backfill), lambda status: status == "CANCELED")
    assert ui.runs(dagster__backfill=backfill) == {run: "CANCELED"}


@pytest.mark.campaign
@pytest.mark.timeout(900)
def test_a_backfill_of_two_feeds_over_ten_days_that_is_killed_is_done_again(ui: Ui) -> None:
    """Kill run, code server and daemon together, as in a power failure; the fleet tests kill a single run."""
    shutil.rmtree(ui.home / "raw" / "eia", ignore_errors=True)
    backfill = ui.backfill([["eia", feed] for feed in FEEDS], TEN_DAYS)
    _, pid = stopped_amid(ui, backfill)
    assert os.getpgid(pid) == os.getpgid(ui.started[-1].pid), "the run dies with the daemon"
    ui.kill_daemon()
    ui.start_daemon()
    ends = ui.until(
        lambda: sorted(ui.runs(dagster__backfill=backfill).values()), lambda status: "SUCCESS" in status, 400
    )
    assert ends == ["FAILURE", "SUCCESS"], "one run, and its retry"
    ui.until(lambda: ui.backfill_status(backfill), lambda status: status in ENDED, 400)
    for feed, metric in zip(FEEDS, ("demand", "interchange"), strict=True):
        assert set(TEN_DAYS) <= ui.partitions(["eia", feed])["MATERIALIZED"]
        assert "FAILED" not in ui.partitions(["eia", feed])
        for day in TEN_DAYS:
            window = MarketDay(date.fromisoformat(day), "UTC").window
            assert len(stored_rows.read(Folder(ui.home), "US-PJM", metric, window)["ts"].unique()) >= 24, (metric, day)


def stopped_amid(ui: Ui, backfill: str) -> tuple[str, int]:
    """Suspend the backfill's run while it stores days; return the run and its process."""
    before = kept(ui)
    (run,) = ui.until(lambda: ui.runs(dagster__backfill=backfill), bool, most_pause_s=0.2)
    pid = ui.until(lambda: process_of(ui, run), bool, most_pause_s=0.2)
    deadline = time.monotonic() + 120
    while kept(ui) == before:
        assert time.monotonic() < deadline
        time.sleep(0.002)
    os.kill(pid, signal.SIGSTOP)
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


def kept(ui: Ui) -> int:
    """Return the number of EIA responses in the raw archive."""
    return sum(1 for _ in (ui.home / "raw" / "eia").rglob("*.zst"))
