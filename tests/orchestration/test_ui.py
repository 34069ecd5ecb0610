"""Dagster's web server and daemon over a simulated warehouse, driven as the UI drives them: by GraphQL."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta

import pytest

from tests.orchestration.dagster_servers import ENDED, SELECTOR, Ui, serving
from warehouse import series
from warehouse.clock import MarketDay
from warehouse.storage import Folder

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::dagster.BetaWarning")]

ASSET = ["caiso", "demand"]
TODAY = date.today()  # noqa: DTZ011  partition keys follow the wall clock
DAYS = [TODAY - timedelta(days=i) for i in range(45, 15, -1)]
BROKEN = DAYS[9]


@pytest.fixture(scope="module")
def ui(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ui]:
    settings = {
        "EMDS_SINCE": str(TODAY - timedelta(days=60)),
        "EMDS_FAULTS": f"caiso.demand#{BROKEN}:changed",
    }
    with serving(tmp_path_factory.mktemp("home"), settings) as servers:
        yield servers


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


def test_history_of_feeds_with_other_market_days_is_started_by_its_sensor(ui: Ui) -> None:
    day = str(TODAY - timedelta(days=5))
    mutation = """mutation($p: ExecutionParams!) { launchRun(executionParams: $p) { __typename
        ... on LaunchRunSuccess { run { id } } ... on PythonError { message } } }"""
    config = {"feeds": ["elexon.demand", "nyiso.load"], "first": day, "last": day}
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
    for asset in (["elexon", "demand"], ["nyiso", "load"]):
        assert day in ui.partitions(asset)["MATERIALIZED"]
