"""Check what Dagster loads: an asset per feed, a schedule per rhythm, single-run backfills, pools by host."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import dagster as dg
import pytest

from assets import analyst
from assets.ingest.first_days import first_day
from assets.partitions import asset_key, last_day, partitions_of
from assets.sources import feeds, sources
from assets.sql.rules import RULES
from orchestration import definitions
from orchestration.jobs import live
from orchestration.jobs.schedules import PRIORITY, look_back_keys, schedule_groups, schedules_and_jobs
from tests.stand_ins.clock import Clock
from warehouse.documents import health
from warehouse.documents.health import Health
from warehouse.market import clock
from warehouse.market.clock import instant
from warehouse.market.zones import ZONES
from warehouse.store.storage import Folder

ROOT = Path(__file__).resolve().parents[2]
TODAY = date(2026, 11, 22)
NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> dg.Definitions:
    """Return definitions built over an empty simulated warehouse, at noon of `TODAY`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(definitions, "time", Clock(NOON.timestamp()))
        patch.setenv("EMDS_HOME", str(tmp_path_factory.mktemp("home")))
        patch.delenv("EMDS_FEEDS", raising=False)
        return definitions.build()


def test_every_feed_is_an_asset_with_its_checks_and_the_rules_across_feeds_are_checks_too(
    loaded: dg.Definitions,
) -> None:
    specs = {spec.key: spec for spec in loaded.resolve_all_asset_specs()}
    checks = {(key.asset_key, key.name) for key in loaded.resolve_asset_graph().asset_check_keys}
    for feed in feeds().values():
        spec = specs[asset_key(feed)]
        assert (spec.group_name, spec.code_version) == (feed.source, feed.version)
        assert spec.owners
        assert spec.description is not None
        assert ("by the job `live`" in spec.description) == (feed in live.live_feeds(sources()[feed.source]))
        assert {"source", "rank", "resolution"} <= set(spec.tags)
        assert {(spec.key, name) for name in ("plausible", "complete", "no_anomalies", "fresh")} <= checks
    assert {(analyst.KEY, rule.name) for rule in RULES} <= checks


FIRSTS = {feed.id: first_day(feed, {}, None, TODAY) for feed in feeds().values()}


def test_every_feed_is_asked_by_exactly_one_running_schedule(loaded: dg.Definitions) -> None:
    repository = loaded.get_repository_def()
    stopped = {s.name for s in repository.schedule_defs if s.default_status is not dg.DefaultScheduleStatus.RUNNING}
    assert stopped == {"reconcile_payments_schedule"}, "nothing is sold here"
    groups = [group for source in sources().values() for group in schedule_groups(source, FIRSTS).items()]
    scheduled = [feed.id for _, group in groups for feed in group]
    in_live = [feed.id for source in sources().values() for feed in live.live_feeds(source)]
    assert sorted(scheduled + in_live) == sorted(feeds())
    names = {name for name, _ in groups} | {live.LIVE}
    assert names <= {job.name for job in repository.get_all_jobs()}
    assert {f"{name}_schedule" for name in names} <= {s.name for s in repository.schedule_defs}
    assert len(repository.get_all_jobs()) < 45


def test_in_a_recorded_warehouse_no_feed_is_asked_by_itself() -> None:
    _, schedules = schedules_and_jobs(sources(), "recorded", FIRSTS, "2026-10")
    running = {s.name for s in schedules if s.default_status is dg.DefaultScheduleStatus.RUNNING}
    own = ("publish_geo_layers", "measure_publishers", "publish_documents", "compare_feeds", "marts", "retention")
    assert running == {f"{name}_schedule" for name in own}


def test_feeds_of_one_run_share_their_partitions(loaded: dg.Definitions) -> None:
    graph = loaded.resolve_asset_graph()
    runs = [group for source in sources().values() for group in schedule_groups(source, FIRSTS).values()]
    shared = [group for group in runs if len(group) > 1]
    assert shared
    for group in shared:
        assert len({graph.get(asset_key(feed)).partitions_def for feed in group}) == 1, group[0].id


def test_partitions_reach_from_the_first_day_to_the_newest_that_may_be_out() -> None:
    offsets = {"nyiso.lbmp_da": 2, "nyiso.load": 1, "ercot.spp_rt": 0, "spp.lmp_rt_daily": -4, "entsoe.capacity": 1}
    for name, offset in offsets.items():
        days = partitions_of(feeds()[name], date(2026, 1, 1))
        assert (days.timezone, days.end_offset) == (feeds()[name].tz, offset), name
        assert days.get_partition_keys()[0] == ("2026" if feeds()[name].yearly else "2026-01-01"), name
        if not feeds()[name].yearly:
            today = clock.local_date(int(NOON.timestamp()), feeds()[name].tz)
            assert days.get_partition_keys(NOON)[-1] == str(last_day(feeds()[name], today)), name


def test_partitions_begin_with_what_was_asked_for_and_within_reach() -> None:
    rolling, today_only = feeds()["neso.generation"], feeds()["ercot.load"]
    assert first_day(rolling, {}, None, TODAY) == date(2026, 10, 18)
    assert first_day(rolling, {}, date(2026, 3, 1), TODAY) == date(2026, 3, 1)
    assert first_day(rolling, {}, date(1990, 3, 1), TODAY) == rolling.since
    siblings = {feed.id: date(2020, 1, 1) for feed in sources()["neso"].feeds if feed != rolling}
    noted = siblings | {rolling.id: date(2026, 11, 20)}
    assert first_day(rolling, noted, None, TODAY) == date(2026, 11, 20), "whatever its siblings hold"
    assert first_day(today_only, {}, date(2026, 3, 1), TODAY) == TODAY


def test_a_look_back_asks_for_no_day_before_the_first_day() -> None:
    assert look_back_keys([feeds()["nyiso.lbmp_da"]], date(2026, 11, 1), date(2026, 11, 1))[0] == "2026-11-01"
    assert look_back_keys([feeds()["entsoe.capacity"]], date(2026, 11, 1), date(2026, 1, 1)) == ("2026", "2026")


def test_what_a_schedule_asks_for_goes_before_a_persons_runs_and_ends_in_time(loaded: dg.Definitions) -> None:
    schedule = loaded.resolve_schedule_def("eia_every_1h_schedule")
    at = datetime(2026, 11, 22, 12, tzinfo=ZoneInfo("UTC"))
    with dg.build_schedule_context(scheduled_execution_time=at) as context:
        (asked,) = schedule.evaluate_tick(context).run_requests or ()
    assert int(asked.tags[PRIORITY]) > 0
    assert asked.tags["dagster/max_runtime"] == "900"


def test_live_asks_what_is_due_and_skips_a_tick_while_a_run_is_under_way(
    loaded: dg.Definitions, tmp_path: Path
) -> None:
    schedule = loaded.resolve_schedule_def("live_schedule")
    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        for minute, publisher in ((5, False), (15, True)):
            at = datetime(2026, 11, 22, 12, minute, tzinfo=ZoneInfo("UTC"))
            with dg.build_schedule_context(instance=instance, scheduled_execution_time=at) as context:
                (asked,) = schedule.evaluate_tick(context).run_requests or ()
            asked_for = asked.tags["publishers"].split(", ")
            assert ("neso" in asked_for, "nyiso" in asked_for) == (publisher, True)
        instance.create_run_for_job(loaded.resolve_job_def("live"), status=dg.DagsterRunStatus.STARTED)
        with dg.build_schedule_context(instance=instance, scheduled_execution_time=at) as context:
            assert "in progress" in str(schedule.evaluate_tick(context).skip_message)


@pytest.mark.slow
def test_dg_checks_the_definitions_which_write_nothing_and_choose_no_mode(tmp_path: Path) -> None:
    """Run in a separate process, since this one has already imported everything."""
    place = {"EMDS_HOME": str(tmp_path / "home"), "DAGSTER_HOME": "", "VIRTUAL_ENV": sys.prefix}
    program = Path(sys.executable).with_name("dg")
    environ = {**os.environ, **place, "DAGSTER_DISABLE_TELEMETRY": "1"}
    done = subprocess.run(
        [program, "check", "defs"], env=environ, capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert not (tmp_path / "home").exists()


def test_the_lineage_runs_from_raw_answers_to_the_live_map(loaded: dg.Definitions) -> None:
    graph = loaded.resolve_asset_graph()
    path = ["raw/caiso", "caiso/demand", "published/latest", "published/snapshot", "geo/live"]
    for above, below in itertools.pairwise(path):
        assert dg.AssetKey(above.split("/")) in graph.get(dg.AssetKey(below.split("/"))).parent_keys, below
    latest = graph.get(dg.AssetKey(["published", "latest"]))
    assert latest.partitions_def.get_partition_keys() == list(ZONES)


def test_a_stand_in_is_asked_once_a_day_and_each_hour_while_its_feed_is_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMDS_HOME", str(tmp_path))
    _, schedules = schedules_and_jobs({"entsoe_files": sources()["entsoe_files"]}, "simulated", FIRSTS, "2026-10")
    schedule = next(each for each in schedules if each.name == "entsoe_files_every_1d_schedule")
    monkeypatch.setenv("EMDS_NOW", "2026-11-19T20:00:00Z")
    storage = Folder(tmp_path)

    def asked(reached: str) -> list[int]:
        """Return the hours at which a run is requested, if the Web API's prices reach to `reached`."""
        until = instant(reached)
        feed = feeds()["entsoe.price"]
        reached_by = [Health(feed.id, z, until, data_until=until, reached={"price": until}) for z in feed.zones]
        health.note(storage, "entsoe", reached_by)
        ticks = [datetime(2026, 11, 19, hour, 5, tzinfo=ZoneInfo("Europe/Brussels")) for hour in range(24)]
        with dg.DagsterInstance.ephemeral() as instance:
            contexts = [dg.build_schedule_context(instance, scheduled_execution_time=at) for at in ticks]
            return [c.scheduled_execution_time.hour for c in contexts if schedule.evaluate_tick(c).run_requests]

    assert len(asked("2026-11-18T23:00:00Z")) == 24, "tomorrow's prices are overdue since the afternoon"
    assert len(asked("2026-11-20T23:00:00Z")) == 1
