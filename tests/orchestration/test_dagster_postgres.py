"""Test Dagster's storage on PostgreSQL by EMDS_DAGSTER_POSTGRES_URL: events, checks, retention.

The URL is not written to files.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import dagster as dg
import pytest

from assets.partitions import asset_key
from assets.sources import feeds
from orchestration.cli import doctor
from orchestration.jobs import recording, retention
from orchestration.servers import dagster_home
from orchestration.work import backfill, commands
from orchestration.work.environment import open_context
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
    assert not (home / "dagster" / "history").exists(), "an SQLite file"
    assert "127.0.0.1" not in (home / "dagster" / "dagster.yaml").read_text()
    instance = recording.instance(home)
    assert instance is not None
    with instance:
        assert "Postgres" in type(instance.event_log_storage).__name__
        marked = instance.get_materialized_partitions(asset_key(FEED))
        assert marked == {f"2026-11-{day}" for day in (17, 18, 19, 20)}
        (run,) = instance.get_runs(dg.RunsFilter(job_name=recording.COMMAND_LINE))
        kinds = {dg.DagsterEventType.ASSET_CHECK_EVALUATION}
        judged = [e.dagster_event.asset_check_evaluation_data for e in instance.all_logs(run.run_id, of_type=kinds)]
        passed = {e.check_name for e in judged if e.passed and e.partition == "2026-11-19"}
        assert passed == {"plausible", "complete", "no_anomalies"}
        assert retention.purge_runs(instance, time.time() + 86_400) == 1
        assert instance.get_materialized_partitions(asset_key(FEED)) == marked
        assert list(doctor.unmarked(instance, open_context())) == []


def test_the_owners_own_file_is_left_alone_and_must_read_the_address(home: Path) -> None:
    folder = dagster_home.dagster_home(home)
    assert os.environ["EMDS_DAGSTER_POSTGRES_URL"].startswith("postgresql+psycopg2://")
    (folder / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    with pytest.raises(StorageError, match="does not use it"):
        dagster_home.dagster_home(home)
    assert (folder / "dagster.yaml").read_text() == "telemetry: {enabled: false}\n"
