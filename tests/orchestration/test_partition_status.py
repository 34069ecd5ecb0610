"""Check that Dagster marks what the command line stored, and `emds rebuild` marks the rest. No late annotations."""

import shutil
from datetime import date
from pathlib import Path

import dagster as dg
import pytest

from assets.partitions import asset_key
from assets.sources import feeds
from orchestration.cli import doctor, main
from orchestration.jobs import alerts, materialise, recording
from orchestration.work import backfill, commands
from orchestration.work.environment import open_context
from tests.orchestration.conftest import in_simulated
from warehouse.store import layout
from warehouse.store.storage import Folder

pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning")
CHOSEN = ("elexon.demand", "entsoe.capacity", "aemo.price_and_demand")


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a simulated warehouse in which the command line has stored days of several feeds."""
    home = tmp_path_factory.mktemp("filled") / "home"
    with pytest.MonkeyPatch.context() as patch:
        in_simulated(patch, home)
        for name in CHOSEN:  # one by one, since several sources would start worker processes, which keep the first home
            assert commands.run(backfill.plan([feeds()[name]], date(2026, 11, 18), None)) == 0
    return home


@pytest.fixture
def home(filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of `filled` for one test."""
    shutil.copytree(filled, tmp_path, dirs_exist_ok=True)
    in_simulated(monkeypatch, tmp_path)
    return tmp_path


def unmarked(home: Path) -> list[str]:
    with recording.instance(home) as instance:
        return list(doctor.unmarked(instance, open_context()))


def test_what_is_held_is_marked_and_a_second_run_records_its_verdicts_anew(home: Path) -> None:
    """Check a second run, since Dagster accepts a check's evaluation of a partition without a run only once."""
    assert unmarked(home) == []
    feed = feeds()["elexon.demand"]
    assert commands.run(backfill.plan([feed], date(2026, 11, 20), None)) == 0
    with recording.instance(home) as instance:
        marked = {name: instance.get_materialized_partitions(asset_key(feeds()[name])) for name in CHOSEN}
        assert min(marked["elexon.demand"]) == "2026-11-18"
        assert min(marked["entsoe.capacity"]) == "2026"
        assert min(marked["aemo.price_and_demand"]) == "2026-11-18", (
            "a monthly file brings no day that nobody asked for"
        )
        kinds = {dg.DagsterEventType.ASSET_CHECK_EVALUATION}
        for run in instance.get_runs(dg.RunsFilter(job_name=recording.COMMAND_LINE)):
            judged = [e.dagster_event.asset_check_evaluation_data for e in instance.all_logs(run.run_id, of_type=kinds)]
            names = {each.check_name for each in judged if each.asset_key == asset_key(feed)}
            assert names in ({"plausible", "complete", "no_anomalies", "fresh"}, set())


def test_the_newest_stored_day_of_each_feed_has_verdicts_however_old_it_is(home: Path) -> None:
    """Include a yearly feed: its newest day is 1 January, which is older than any look-back."""
    kinds = {dg.DagsterEventType.ASSET_CHECK_EVALUATION}
    with recording.instance(home) as instance:
        runs = instance.get_runs(dg.RunsFilter(job_name=recording.COMMAND_LINE))
        logs = [entry for run in runs for entry in instance.all_logs(run.run_id, of_type=kinds)]
    judged = {(e.asset_key, e.check_name) for e in (log.dagster_event.asset_check_evaluation_data for log in logs)}
    for name in CHOSEN:
        assert {(asset_key(feeds()[name]), check) for check in ("plausible", "complete", "no_anomalies")} <= judged, (
            name
        )


def test_after_a_fill_nothing_that_follows_the_feeds_is_never_materialised(home: Path) -> None:
    names = ["published/catalogue", "published/snapshot", "published/publishers", "geo/live", "geo/zones", "geo/plants"]
    names += [f"marts/{name}" for name in ("warehouse_duckdb", "daily", "revisions", "records")]
    names += ["accounts/payments", "accounts/webhooks"]
    with recording.instance(home) as instance:
        materialise.materialise_the_rest(instance)
        for name in names:
            assert instance.get_latest_materialization_event(dg.AssetKey(name.split("/"))) is not None, name
        latest = instance.get_materialized_partitions(dg.AssetKey(["published", "latest"]))
        [mart, *_] = Folder(home).keys("marts/daily/")
        Folder(home).delete(mart)
        materialise.materialise_the_rest(instance)
        assert Folder(home).stat(mart) is None, "it is left to the schedule: no start waits for it"
    assert {"GB", "AU-NSW"} <= latest
    assert (home / "warehouse.duckdb").exists()


def test_a_publication_makes_the_marts_that_are_out_of_date(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert Folder(home).stat(layout.RECORDS) is None
    with monkeypatch.context() as patch:
        patch.setattr("assets.mart_assets.refresh_records", lambda *_: 1 / 0)
        assert main(["publish"]) == 1
    assert "not published: marts" in capsys.readouterr().err
    assert main(["publish"]) == 0
    assert Folder(home).stat(layout.RECORDS) is not None
    with recording.instance(home) as instance:
        assert instance.get_materialized_partitions(dg.AssetKey(["marts", "daily"])) >= {"2026-11"}
        assert instance.get_latest_materialization_event(dg.AssetKey(["marts", "records"])) is not None
        runs = {alerts.subject(run) for run in instance.get_runs()}
        assert runs == {recording.COMMAND_LINE, "marts", "marts/records"}, "the schedule's next run ends an outage"


def test_rows_that_dagster_does_not_know_are_found_and_a_rebuild_marks_them(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    feed = feeds()["elexon.demand"]
    with recording.instance(home) as instance:
        instance.wipe_assets([asset_key(feed)])
    days = [f"2026-11-{day}" for day in range(18, 21)]
    assert [line.split(":")[0] for line in unmarked(home)] == [f"elexon.demand {day}" for day in days]
    assert main(["doctor"]) == 0, "what is stored is served: that Dagster does not show it is a note"
    told = capsys.readouterr().out
    assert "elexon.demand 2026-11-19: 48 rows stored, but not materialised in Dagster" in told
    assert "run `emds rebuild --start D`" in told
    assert main(["rebuild", "--feed", feed.id, "--start", days[0]]) == 0
    assert unmarked(home) == []
    with recording.instance(home) as instance:
        assert instance.get_materialized_partitions(asset_key(feed)) == set(days)
        record = dg.AssetRecordsFilter(asset_key=asset_key(feed), asset_partitions=["2026-11-19"])
        made = instance.fetch_materializations(record, limit=1).records[0].asset_materialization
    assert made is not None
    assert made.metadata["dagster/partition_row_count"].value == 48


def test_days_that_a_monthly_file_brought_besides_are_recorded_once_they_are_asked_for(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    feed = ["--feed", "aemo.price_and_demand"]
    assert main(["backfill", "--start", "2026-11-15", "--end", "2026-11-15", *feed]) == 0
    beside = [f"aemo.price_and_demand 2026-11-{day}" for day in (16, 17)]
    assert main(["rebuild", "--start", "2026-11-15", *feed]) == 0
    assert [line.split(":")[0] for line in unmarked(home)] == beside
    capsys.readouterr()
    assert main(["doctor"]) == 0
    assert "run `emds backfill`" in capsys.readouterr().out
    assert main(["backfill", "--start", "2026-11-16", "--end", "2026-11-17", *feed]) == 0
    assert unmarked(home) == []
