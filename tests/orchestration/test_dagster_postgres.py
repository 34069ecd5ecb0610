"""Dagster's storage on PostgreSQL by EMDS_DAGSTER_POSTGRES_URL: events, checks, retention.

The address stays out of files.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import dagster as dg
import pytest

from assets import checks, runless_events
from assets.partitions import asset_key, days_of
from assets.sources import feeds
from orchestration import backfill, commands, dagster_home, event_log, partition_status, retention
from orchestration.resources import open_context
from tests.stand_ins.postgres import Postgres, programs
from warehouse.errors import StorageError

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(programs() is None, reason="PostgreSQL: run `make setup`"),
    pytest.mark.filterwarnings("ignore::dagster.BetaWarning"),
]
FEED = feeds()["neso.generation"]


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    server = Postgres()
    yield server
    server.close()


@pytest.fixture
def home(postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    postgres.empty()
    monkeypatch.setenv("EMDS_HOME", str(tmp_path))
    monkeypatch.setenv("EMDS_NOW", "2026-11-20T12:00:00Z")
    monkeypatch.setenv("DAGSTER_HOME", "")
    monkeypatch.setenv("EMDS_DAGSTER_POSTGRES_URL", postgres.url.replace("+psycopg", ""))
    monkeypatch.delenv("EMDS_FEEDS", raising=False)
    return tmp_path


def test_a_backfill_is_recorded_and_tidied_there(home: Path) -> None:
    assert commands.run(backfill.plan([FEED], date(2026, 11, 17), None)) == 0
    assert not (home / "dagster" / "history").exists(), "no SQLite"
    assert "127.0.0.1" not in (home / "dagster" / "dagster.yaml").read_text()
    instance = event_log.instance(home)
    assert instance is not None
    with instance:
        assert "Postgres" in type(instance.event_log_storage).__name__
        marked = instance.get_materialized_partitions(asset_key(FEED))
        assert marked == {f"2026-11-{day}" for day in (17, 18, 19, 20)}
        outcomes = checks.last_outcomes(instance, FEED, days_of(FEED, ["2026-11-19"]), paired=False)
        assert outcomes == {(name, "2026-11-19"): True for name in ("believed", "complete", "steady")}
        for passed in (False, True):
            evaluation = dg.AssetCheckEvaluation(asset_key(FEED), "complete", passed, partition="2026-11-19")
            runless_events.report(instance, [evaluation])
        assert retention.purge_runless(instance) >= 2
        assert retention.purge_checks(instance, time.time()) == 0
        assert instance.get_materialized_partitions(asset_key(FEED)) == marked
        assert list(partition_status.differences(instance, open_context())) == []


def test_the_owners_own_file_is_left_alone_and_must_read_the_address(home: Path) -> None:
    folder = dagster_home.dagster_home(home)
    assert os.environ["EMDS_DAGSTER_POSTGRES_URL"].startswith("postgresql+psycopg2://")
    (folder / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    with pytest.raises(StorageError, match="is your own and does not read it"):
        dagster_home.dagster_home(home)
    assert (folder / "dagster.yaml").read_text() == "telemetry: {enabled: false}\n"
