"""Dagster's partitions equal the warehouse, in both directions, whatever brought the rows. No late annotations."""

import shutil
from datetime import date
from pathlib import Path

import dagster as dg
import pytest

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
        return [str(d) for d in partition_status.differences(instance, open_context())]


def test_what_is_held_is_marked_and_what_is_marked_is_held(home: Path) -> None:
    assert differences(home) == []
    with event_log.instance(home) as instance:
        marked = {name: instance.get_materialized_partitions(asset_key(feeds()[name])) for name in CHOSEN}
        keys = {name: min(marked[name]) for name in CHOSEN}
    assert keys["neso.generation"] == "2026-11-14"
    assert keys["entsoe.capacity"] == "2026"
    assert keys["aemo.price_and_demand"] == "2026-11-01", "a monthly file brings its whole month"


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
    assert f"{feed.id} 2026-11-15: materialised in Dagster, but no row is held" in differences(home)
    with event_log.instance(home) as instance:
        instance.report_runless_asset_event(dg.AssetMaterialization(asset_key(feed), partition="2026-11-13"))
    commands.run(backfill.plan([feed], date(2026, 11, 13), date(2026, 11, 20)))
    assert not [line for line in differences(home) if line.startswith(feed.id)]
