"""Dagster's daemon killed with all that it runs: followers by changes, webhooks and polling hold the rows served."""

from __future__ import annotations

import time
from datetime import date, timedelta
from pathlib import Path

import pytest

from orchestration.servers import serve
from tests.orchestration.dagster_servers import SELECTOR, Ui, serving
from tests.stand_ins.followers import Follower, Reader, Told, served
from tests.stand_ins.line import Api, ReceiverProcess
from warehouse.market.clock import MarketDay

pytestmark = [pytest.mark.campaign, pytest.mark.filterwarnings("ignore::dagster.BetaWarning")]

ASSET = ["elexon", "demand"]
DAY = date.today() - timedelta(days=4)  # noqa: DTZ011  partition keys follow the wall clock
QUICK = {
    "run_monitoring": "run_monitoring: {enabled: true, start_timeout_seconds: 30, poll_interval_seconds: 5, "
    "free_slots_after_run_end_seconds: 1}\n"
}
"""A killed run's place is free again within seconds, and one killed before it began is given up soon."""


def launch(ui: Ui, day: date) -> str:
    """Asks for a market day as the UI does; the run's id."""
    mutation = """mutation($p: ExecutionParams!) { launchRun(executionParams: $p) { __typename
        ... on LaunchRunSuccess { run { id } } ... on PythonError { message } } }"""
    wanted = {
        "selector": {**SELECTOR, "jobName": "__ASSET_JOB", "assetSelection": [{"path": ASSET}]},
        "mode": "default",
        "runConfigData": {},
        "executionMetadata": {"tags": [{"key": "dagster/partition", "value": str(day)}]},
    }
    launched = ui.ask(mutation, p=wanted)["launchRun"]
    assert launched["__typename"] == "LaunchRunSuccess", launched
    return str(launched["run"]["id"])


@pytest.mark.timeout(600)
def test_followers_hold_the_rows_served_after_the_daemon_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, span = tmp_path / "home", MarketDay(DAY, "Europe/London").window
    home.mkdir()
    limits = {f"EMDS_{name}": "0" for name in ("FREE_CALLS_PER_MINUTE", "SIGNUPS_PER_HOUR", "KEY_CALLS_PER_SECOND")}
    own = {"EMDS_HOME": str(home), "EMDS_WEBHOOK_PRIVATE": "1", **limits}
    for name, value in own.items():
        monkeypatch.setenv(name, value)
    for name in ("EMDS_NOW", "EMDS_FEEDS", "EMDS_RIGHTS", "EMDS_FAULTS", "EMDS_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    serve.prepare()
    receiver = ReceiverProcess(tmp_path / "receiver")
    receiver.start(die_at=1, stored=True)
    with serving(home, own, QUICK) as ui:
        api = Api(own, tmp_path / "api.log")
        try:
            follower, polling = Follower(api, "changes", ["GB"]), Reader(api, "polling")
            told = Told(api, "webhooks", ["GB"], receiver)
            run = launch(ui, DAY)
            status = "query($r: ID!) { runOrError(runId: $r) { ... on Run { status } } }"
            ui.until(
                lambda: ui.ask(status, r=run)["runOrError"]["status"],
                lambda s: s in ("STARTED", "SUCCESS"),
                most_pause_s=0.02,  # on a quiet machine a run takes a second
            )
            ui.kill_daemon()
            ui.start_daemon()
            ends = time.monotonic() + 400
            rows = served(home, ["GB"], span)
            while len(rows) < 46 or follower.held != rows or told.held != rows:
                assert time.monotonic() < ends, (len(rows), len(follower.held), len(told.held))
                time.sleep(0.5)
                receiver.start()
                follower.follow()
                told.follow()
                rows = served(home, ["GB"], span)
            assert polling.polled({(metric, zone) for zone, metric, *_ in rows}, span) == rows
            ui.until(receiver.runs, lambda _: receiver.died == 1)  # it may be dying of the message just now
        finally:
            api.close()
            receiver.close()
