"""What Dagster loads: an asset a feed, one running schedule a rhythm, single-run backfills, one pool a host."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import warnings
from datetime import date, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import dagster as dg
import pytest
import yaml
from dagster._utils.tags import TagConcurrencyLimitsCounter  # what decides; Dagster exports it nowhere

from assets.giving_way import BACKFILL, LIVE_PRIORITY, PRIORITY, priority_of
from assets.partitions import asset_key, first_partition, partitions_of
from assets.sources import feeds, sources
from orchestration import dagster_home, definitions, event_log
from orchestration.schedules import cron, look_back_keys, schedule_groups, schedules_and_jobs
from orchestration.settings import PipelineSettings
from warehouse.zones import ZONES

TODAY = date(2026, 11, 22)
SETTINGS = PipelineSettings.from_environ({"EMDS_HOME": "/nowhere/emds"})


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> dg.Definitions:
    """Built over an empty simulated warehouse."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EMDS_HOME", str(tmp_path_factory.mktemp("home")))
        patch.delenv("EMDS_FEEDS", raising=False)
        return definitions.build()


def test_every_feed_is_an_asset_in_its_sources_group(loaded: dg.Definitions) -> None:
    specs = {spec.key: spec for spec in loaded.resolve_all_asset_specs()}
    for feed in feeds().values():
        spec = specs[asset_key(feed)]
        assert spec.group_name == feed.source
        assert spec.code_version == feed.version
        assert spec.owners
        assert spec.description
        assert {"source", "rank", "resolution"} <= set(spec.tags)
    extra = {key.to_user_string() for key in specs} - {asset_key(f).to_user_string() for f in feeds().values()}
    assert extra == {f"raw/{code}" for code in sources()} | {
        "measured_publishers",
        "published/static_side",
        "published/catalogue",
        "published/latest",
        "published/brief",
        "published/snapshot",
        "accounts/payments",
        "accounts/webhooks",
        "analyst/warehouse_duckdb",
        "geo/live",
        "geo/zones",
        "geo/interconnectors",
        "geo/plants",
        "geo/plants_review",
    }


def test_every_feed_is_asked_by_exactly_one_running_schedule(loaded: dg.Definitions) -> None:
    repository = loaded.get_repository_def()
    stopped = {s.name for s in repository.schedule_defs if s.default_status is not dg.DefaultScheduleStatus.RUNNING}
    assert stopped == {"payments_schedule"}, "nothing is sold here"
    scheduled = [
        feed.id for source in sources().values() for group in schedule_groups(source).values() for feed in group
    ]
    assert sorted(scheduled) == sorted(feeds())
    names = {name for source in sources().values() for name in schedule_groups(source)}
    assert names <= {job.name for job in repository.get_all_jobs()}
    assert {f"{name}_schedule" for name in names} <= {s.name for s in repository.schedule_defs}


def test_in_a_recorded_warehouse_no_feed_is_asked_by_itself() -> None:
    _, schedules = schedules_and_jobs(sources(), "recorded", definitions.first_partitions(SETTINGS))
    running = {s.name for s in schedules if s.default_status is dg.DefaultScheduleStatus.RUNNING}
    own = ("geo", "retention", "publishers")
    assert running == {f"{name}_schedule" for name in own}


def test_feeds_of_one_run_share_their_partitions(loaded: dg.Definitions) -> None:
    graph = loaded.resolve_asset_graph()
    runs = [(source, group) for source in sources().values() for group in schedule_groups(source).values()]
    shared = [(source, group) for source, group in runs if len(group) > 1]
    assert shared
    for source, group in shared:
        assert len({graph.get(asset_key(feed)).partitions_def for feed in group}) == 1, group[0].id
        assert len({feed.reach_days for feed in group}) == 1, group[0].id
        known = {feed.id: date(2026, 3, 1 + i) for i, feed in enumerate(group)}
        for noted in (known, *({name: day} for name, day in known.items())):
            firsts = {first_partition(source, feed, noted, None, TODAY) for feed in group}
            assert firsts == {min(noted.values())}, group[0].id


def test_partitions_reach_from_the_first_day_to_what_is_published_ahead() -> None:
    for feed in feeds().values():
        days = partitions_of(feed, date(2026, 1, 1))
        assert days.timezone == feed.tz
        assert days.end_offset == 1 + (0 if feed.yearly else feed.ahead_days)
        assert days.get_partition_keys()[0] == ("2026" if feed.yearly else "2026-01-01"), feed.id


def test_partitions_begin_with_what_was_asked_for_and_within_reach() -> None:
    rolling, today_only = feeds()["neso.generation"], feeds()["ercot.load"]
    neso, ercot = sources()["neso"], sources()["ercot"]
    assert first_partition(neso, rolling, {}, None, TODAY) == date(2026, 10, 18)
    assert first_partition(neso, rolling, {}, date(2026, 3, 1), TODAY) == date(2026, 3, 1)
    assert first_partition(neso, rolling, {}, date(1990, 3, 1), TODAY) == date(2017, 9, 12)
    noted = {feed.id: date(2026, 11, 20) for feed in neso.feeds}
    assert first_partition(neso, rolling, noted, None, TODAY) == date(2026, 11, 20)
    assert first_partition(neso, rolling, noted | {rolling.id: date(2020, 2, 1)}, None, TODAY) == date(2020, 2, 1)
    assert first_partition(ercot, today_only, {}, date(2026, 3, 1), TODAY) == TODAY


def test_a_look_back_asks_for_no_day_before_the_first_partition() -> None:
    assert look_back_keys([feeds()["nyiso.lbmp_da"]], date(2026, 11, 1), date(2026, 11, 1))[0] == "2026-11-01"
    assert look_back_keys([feeds()["entsoe.capacity"]], date(2026, 11, 1), date(2026, 1, 1)) == ("2026", "2026")


def test_every_feed_has_its_checks_and_agrees_only_beside_a_second_feed(loaded: dg.Definitions) -> None:
    keys = {(k.asset_key, k.name) for k in loaded.resolve_asset_graph().asset_check_keys}
    for feed in feeds().values():
        assert {(asset_key(feed), name) for name in ("believed", "complete", "steady", "fresh")} <= keys
    assert (asset_key(feeds()["nyiso.load"]), "agrees") in keys
    assert (asset_key(feeds()["neso.generation"]), "agrees") not in keys


def test_feeds_are_found_by_zone_and_metric(loaded: dg.Definitions) -> None:
    tags = {spec.key: set(spec.tags) for spec in loaded.resolve_all_asset_specs()}
    assert {"metric/price", "zone/GB", "source"} <= tags[asset_key(feeds()["elexon.price"])]
    keys = {key for key, names in tags.items() if {"metric/demand", "zone/US-PJM"} <= names}
    assert keys == {asset_key(feeds()["eia.demand"])}


def test_columns_and_address_are_told(loaded: dg.Definitions) -> None:
    (spec,) = (s for s in loaded.resolve_all_asset_specs() if s.key == asset_key(feeds()["elexon.price"]))
    columns = spec.metadata["dagster/column_schema"].columns
    assert [c.name for c in columns][:3] == ["zone", "metric", "fuel"]
    assert all(c.description for c in columns)
    assert str(spec.metadata["dagster/uri"]).endswith("/series")


def test_a_look_back_asks_for_revised_days_and_for_tomorrow() -> None:
    ahead = feeds()["nyiso.lbmp_da"]
    assert look_back_keys([ahead], date(2026, 11, 1), date(2026, 1, 1)) == ("2026-10-30", "2026-11-02")


def test_what_a_schedule_asks_for_goes_before_a_backfill(loaded: dg.Definitions) -> None:
    schedule = loaded.resolve_schedule_def("elexon_every_15m_schedule")
    at = datetime(2026, 11, 22, 12, tzinfo=ZoneInfo("Europe/London"))
    with dg.build_schedule_context(scheduled_execution_time=at) as context:
        (asked,) = schedule.evaluate_tick(context).run_requests or ()
    live = dg.DagsterRun(job_name=schedule.job_name, tags=dict(asked.tags))
    assert priority_of(live) > priority_of(dg.DagsterRun(job_name="backfill", tags={BACKFILL: "old"}))


@pytest.mark.parametrize(
    ("minutes", "line"), [(5, "2-59/5 * * * *"), (60, "7 */1 * * *"), (720, "7 */12 * * *"), (1440, "7 13 * * *")]
)
def test_cron_lines_keep_the_rhythm(minutes: int, line: str) -> None:
    assert cron(minutes, 7) == line


def test_the_workspace_names_the_module_that_exists() -> None:
    root = Path(__file__).resolve().parents[2]
    assert "module_name: orchestration.definitions" in (root / "workspace.yaml").read_text()
    assert "telemetry: {enabled: false}" in (root / "dagster.yaml").read_text()


@pytest.mark.slow
def test_importing_and_loading_the_definitions_writes_nothing_and_chooses_no_mode(tmp_path: Path) -> None:
    """In a process of its own, since this one has imported everything already."""
    code = (
        "from orchestration import definitions; import os;"
        "imported = os.path.exists(os.environ['EMDS_HOME']);"
        "definitions.build().get_repository_def();"
        "print(imported, os.path.exists(os.environ['EMDS_HOME']))"
    )
    environ = {**os.environ, "EMDS_HOME": str(tmp_path / "home"), "DAGSTER_HOME": ""}
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_loading_leaves_the_filters_of_warnings_alone() -> None:
    before = list(warnings.filters)
    definitions.build()
    assert warnings.filters == before


def test_the_lineage_runs_from_raw_answers_to_the_live_map(loaded: dg.Definitions) -> None:
    graph = loaded.resolve_asset_graph()
    path = ["raw/caiso", "caiso/demand", "published/latest", "published/snapshot", "geo/live"]
    for above, below in itertools.pairwise(path):
        assert dg.AssetKey(above.split("/")) in graph.get(dg.AssetKey(below.split("/"))).parent_keys, below
    latest = graph.get(dg.AssetKey(["published", "latest"]))
    assert latest.partitions_def.get_partition_keys() == list(ZONES)
    assert latest.automation_condition is not None


def test_a_parser_is_where_its_code_reference_leads(loaded: dg.Definitions) -> None:
    specs = {spec.key: spec for spec in loaded.resolve_all_asset_specs()}
    for feed in feeds().values():
        (code,) = specs[asset_key(feed)].metadata["dagster/code_references"].code_references
        assert Path(code.file_path).parent.parent.name in ("assets", "sources"), feed.id
        assert Path(code.file_path).read_text().splitlines()[code.line_number - 1].lstrip().startswith(("def ", "@"))


def test_a_killed_run_does_not_keep_its_publishers_pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dagster frees the slots of a run whose process is gone only where it is told after how long."""
    monkeypatch.setenv("DAGSTER_HOME", "")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dg.BetaWarning)
        instance = event_log.instance(tmp_path)
    assert instance is not None
    with instance:
        assert 0 < instance.run_monitoring_settings["free_slots_after_run_end_seconds"] <= 60
        assert instance.run_monitoring_poll_interval_seconds <= 30, "a killed worker is noticed within half a minute"


def test_a_backfill_leaves_room_for_live_data_and_for_the_documents_that_follow(loaded: dg.Definitions) -> None:
    """What follows by condition over several zones is a backfill to Dagster, under the same limit as a person's."""
    runs = yaml.safe_load((dagster_home.ROOT / "dagster.yaml").read_text())["concurrency"]["runs"]
    limits = {each["key"]: each["limit"] for each in runs["tag_concurrency_limits"] if "value" not in each}

    def run(backfill: str) -> dg.DagsterRun:
        return dg.DagsterRun("work", tags={BACKFILL: backfill})

    under_way = TagConcurrencyLimitsCounter(runs["tag_concurrency_limits"], [run("of a person")])
    assert under_way.is_blocked(run("of a person")), "of another publisher, in the documents' place"
    assert not under_way.is_blocked(run("of documents"))
    assert sum(limits.values()) < runs["max_concurrent_runs"]
    assert definitions.automation().run_tags[PRIORITY] == str(LIVE_PRIORITY)
