"""Dagster's partitions equal the warehouse, in both directions, whatever brought the rows. No late annotations."""

import shutil
from datetime import date
from pathlib import Path

import dagster as dg
import pytest

from assets import first_days
from assets.event_tables import EVENTS, delete_events, tables
from assets.partitions import asset_key
from assets.sources import feeds
from orchestration import backfill, commands, event_log, partition_status
from orchestration.cli import main
from orchestration.resources import open_context
from tests.orchestration.conftest import in_simulated
from warehouse import layout
from warehouse.storage import Folder

pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning")
CHOSEN = ("neso.generation", "elexon.demand", "nyiso.load", "entsoe.capacity", "aemo.price_and_demand")


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulated warehouse into which the command line has brought days of several feeds."""
    home = tmp_path_factory.mktemp("filled") / "home"
    with pytest.MonkeyPatch.context() as patch:
        in_simulated(patch, home)
        for name in CHOSEN:  # one by one: several sources would go to worker processes, which keep the first home
            assert commands.run(backfill.plan([feeds()[name]], date(2026, 11, 14), None)) == 0
    return home


@pytest.fixture
def home(filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it for one test."""
    shutil.copytree(filled, tmp_path, dirs_exist_ok=True)
    in_simulated(monkeypatch, tmp_path)
    return tmp_path


def differences(home: Path) -> list[str]:
    with event_log.instance(home) as instance:
        return list(partition_status.told(partition_status.differences(instance, open_context())))


def test_what_is_held_is_marked_and_what_is_marked_is_held(home: Path) -> None:
    assert differences(home) == []
    with event_log.instance(home) as instance:
        marked = {name: instance.get_materialized_partitions(asset_key(feeds()[name])) for name in CHOSEN}
        keys = {name: min(marked[name]) for name in CHOSEN}
    assert keys["neso.generation"] == "2026-11-14"
    assert keys["entsoe.capacity"] == "2026"
    assert keys["aemo.price_and_demand"] == "2026-11-01", "a monthly file brings its whole month"


def test_after_a_fill_nothing_that_follows_the_feeds_is_never_materialised(home: Path) -> None:
    names = ["published/latest", "published/brief", "published/catalogue", "published/snapshot", "geo/live"]
    names += ["geo/zones", "geo/plants", "analyst/warehouse_duckdb", "measured_publishers", "accounts/payments"]
    with event_log.instance(home) as instance:
        for name in names:
            assert instance.get_latest_materialization_event(dg.AssetKey(name.split("/"))) is not None, name
    assert (home / "warehouse.duckdb").exists()


def test_rows_that_dagster_does_not_know_are_found(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    feed = feeds()["elexon.demand"]
    gone = (EVENTS.c.asset_key == asset_key(feed).to_string()) & (EVENTS.c.partition == "2026-11-16")
    with event_log.instance(home) as instance, tables(instance) as connection:
        delete_events(connection, gone)
    assert differences(home) == ["elexon.demand 2026-11-16: 48 rows held, but not materialised in Dagster"]
    assert main(["doctor"]) == 1
    assert "elexon.demand 2026-11-16: 48 rows held" in capsys.readouterr().out


def test_partitions_without_rows_are_found_and_forgotten_by_the_next_run(home: Path) -> None:
    feed, storage = feeds()["nyiso.load"], Folder(home)
    for key in storage.keys(layout.series_prefix("demand", "US-NYISO")):
        storage.delete(key)
    found = f"{feed.id} 2026-11-14 to 2026-11-20: materialised in Dagster in 7 partitions, but no row is held"
    assert found in differences(home)
    with event_log.instance(home) as instance:
        instance.report_runless_asset_event(dg.AssetMaterialization(asset_key(feed), partition="2026-11-13"))
    commands.run(backfill.plan([feed], date(2026, 11, 13), date(2026, 11, 20)))
    assert not [line for line in differences(home) if line.startswith(feed.id)]


def test_repair_marks_what_an_older_release_held_and_forgets_what_is_gone(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Dagster's record of an older release: other days, and no first day noted."""
    storage = Folder(home)
    with event_log.instance(home) as instance:
        marked = {name: instance.get_materialized_partitions(asset_key(feeds()[name])) for name in CHOSEN}
        with tables(instance) as connection:
            delete_events(connection, EVENTS.c.partition.is_not(None))
        gone = dg.AssetMaterialization(asset_key(feeds()["elexon.demand"]), partition="2026-12-24")
        instance.report_runless_asset_event(gone)
    noted = first_days.load(storage)
    storage.delete(layout.FIRST_DAYS)
    assert main(["doctor"]) == 1
    told = capsys.readouterr().out
    assert "elexon.demand 2026-12-24: materialised in Dagster, but no row is held" in told
    assert "elexon.demand 2026-11-14 to 2026-11-20:" in told
    assert "`emds repair` brings" in told
    assert main(["repair"]) == 0
    assert differences(home) == []
    assert first_days.load(storage) == noted
    with event_log.instance(home) as instance:
        assert {n: instance.get_materialized_partitions(asset_key(feeds()[n])) for n in CHOSEN} == marked
        record = dg.AssetRecordsFilter(asset_key=asset_key(feeds()["elexon.demand"]), asset_partitions=["2026-11-16"])
        made = instance.fetch_materializations(record, limit=1).records[0].asset_materialization
    assert made is not None
    assert made.metadata["dagster/partition_row_count"].value == 48
    assert made.metadata["state"].value == partition_status.HELD
