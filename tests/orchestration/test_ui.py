"""Dagster's web server and daemon over a simulated warehouse, driven as the UI drives them: by GraphQL."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from orchestration import dagster_home, event_log
from warehouse import series
from warehouse.clock import MarketDay
from warehouse.storage import Folder

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::dagster.BetaWarning")]

ASSET = ["caiso", "demand"]
TODAY = date.today()  # noqa: DTZ011  partition keys follow the wall clock
DAYS = [TODAY - timedelta(days=i) for i in range(45, 15, -1)]
BROKEN = DAYS[9]
SELECTOR = {"repositoryName": "__repository__", "repositoryLocationName": "emds"}


@dataclass(frozen=True)
class Ui:
    """A running web server with its daemon, over one warehouse."""

    url: str
    home: Path

    def ask(self, query: str, **variables: Any) -> Any:
        body = json.dumps({"query": query, "variables": variables}).encode()
        question = urllib.request.Request(f"{self.url}/graphql", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(question, timeout=60) as answer:
            answered = json.load(answer)
        assert "errors" not in answered, answered["errors"]
        return answered["data"]

    def until(self, query: Callable[[], Any], wanted: Callable[[Any], bool], seconds: float = 180) -> Any:
        deadline = time.monotonic() + seconds
        while not wanted(value := query()):
            assert time.monotonic() < deadline, value
            time.sleep(1)
        return value


@pytest.fixture(scope="module")
def ui(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ui]:
    """Schedules are stopped first, so that only what a test asks for is run."""
    home = tmp_path_factory.mktemp("home")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environ = {
        **os.environ,
        "EMDS_HOME": str(home),
        "EMDS_SINCE": str(TODAY - timedelta(days=60)),
        "EMDS_FAULTS": f"caiso.demand#{BROKEN}:changed",
        "DAGSTER_DISABLE_TELEMETRY": "1",
    }
    for name in ("EMDS_NOW", "EMDS_FEEDS"):
        environ.pop(name, None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DAGSTER_HOME", "")
        instance = event_log.instance(home)
        assert instance is not None
        instance.dispose()
    environ["DAGSTER_HOME"] = str(home / "dagster")
    bin_ = Path(sys.executable).parent
    workspace = str(dagster_home.ROOT / "workspace.yaml")
    log = (home / "servers.log").open("wb")

    def start(*argv: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            argv, cwd=dagster_home.ROOT, env=environ, stdout=log, stderr=log, start_new_session=True
        )

    children = [start(f"{bin_}/dagster-webserver", "-w", workspace, "-p", str(port))]
    server = Ui(f"http://127.0.0.1:{port}", home)
    try:
        server.until(lambda: _reachable(f"{server.url}/server_info"), bool)
        _stop_schedules(server)
        children.append(start(f"{bin_}/dagster-daemon", "run", "-w", workspace))
        yield server
    finally:
        for child in children:
            os.killpg(child.pid, signal.SIGTERM)
        for child in children:
            child.wait(30)
        log.close()


def _reachable(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except OSError:
        return False


def _stop_schedules(ui: Ui) -> None:
    query = """query($s: RepositorySelector!) { schedulesOrError(repositorySelector: $s) {
        ... on Schedules { results { id name } } } }"""
    schedules = ui.ask(query, s=SELECTOR)["schedulesOrError"]["results"]
    assert len(schedules) > 20
    for schedule in schedules:
        stopped = ui.ask("mutation($i: String!) { stopRunningSchedule(id: $i) { __typename } }", i=schedule["id"])
        assert stopped["stopRunningSchedule"]["__typename"] == "ScheduleStateResult"


def _partitions(ui: Ui) -> dict[str, set[str]]:
    """Days by status of the asset."""
    query = """query($k: AssetKeyInput!) { assetNodeOrError(assetKey: $k) { ... on AssetNode { assetPartitionStatuses {
        ... on TimePartitionStatuses { ranges { status startKey endKey } } } } } }"""
    by_status: dict[str, set[str]] = {}
    for span in ui.ask(query, k={"path": ASSET})["assetNodeOrError"]["assetPartitionStatuses"]["ranges"]:
        first, last = date.fromisoformat(span["startKey"]), date.fromisoformat(span["endKey"])
        days = {str(first + timedelta(days=i)) for i in range((last - first).days + 1)}
        by_status.setdefault(span["status"], set()).update(days)
    return by_status


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
    assert day in _partitions(ui)["MATERIALIZED"]
    rows = series.read(
        Folder(ui.home), "US-CAISO", "demand", MarketDay(date.fromisoformat(day), "America/Los_Angeles").window
    )
    assert rows.num_rows in (276, 288, 300)


def test_of_a_backfill_one_bad_day_fails_and_the_others_are_done(ui: Ui) -> None:
    mutation = """mutation($p: LaunchBackfillParams!) { launchPartitionBackfill(backfillParams: $p) { __typename
        ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message } } }"""
    launched = ui.ask(
        mutation, p={"assetSelection": [{"path": ASSET}], "partitionNames": [str(d) for d in DAYS], "tags": []}
    )
    backfill = launched["launchPartitionBackfill"]
    assert backfill["__typename"] == "LaunchBackfillSuccess", backfill
    query = "query($b: String!) { partitionBackfillOrError(backfillId: $b) { ... on PartitionBackfill { status } } }"
    ended = ("COMPLETED_SUCCESS", "COMPLETED_FAILED", "COMPLETED", "FAILED", "CANCELED")
    status = ui.until(
        lambda: ui.ask(query, b=backfill["backfillId"])["partitionBackfillOrError"]["status"], lambda s: s in ended
    )
    assert status == "COMPLETED_FAILED"
    by_status = _partitions(ui)
    assert {str(d) for d in DAYS} - by_status["MATERIALIZED"] == {str(BROKEN)}
    assert str(BROKEN) in by_status["FAILED"]
    query = "query($f: RunsFilter!) { runsOrError(filter: $f) { ... on Runs { results { status } } } }"
    runs = ui.ask(query, f={"tags": [{"key": "dagster/backfill", "value": backfill["backfillId"]}]})["runsOrError"][
        "results"
    ]
    assert len(runs) == 1
