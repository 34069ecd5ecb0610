"""The job `history` brings days of feeds whose market days differ. No late annotations: Dagster reads them."""

from datetime import date
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from assets.feeds import ReadFrom
from assets.giving_way import HISTORY, OLD_PRIORITY, priority_of
from assets.sources import feeds, sources
from orchestration import definitions
from orchestration.history import MOST_RUNS, OP, HistoryConfig, requests, tasks
from orchestration.schedules import RANGE
from warehouse import series
from warehouse.storage import Folder

pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning")
FIRSTS = dict.fromkeys(feeds(), date(2026, 1, 1))
CONFIG = {"feeds": ["elexon.demand", "nyiso.load", "neso"], "first": "2026-10-30", "last": "2026-11-02"}
ZONES_OF = {"elexon.demand": "Europe/London", "nyiso.load": "America/New_York"}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EMDS_HOME", str(tmp_path))
    monkeypatch.setenv("EMDS_NOW", "2026-11-20T12:00:00Z")
    monkeypatch.setenv("EMDS_SINCE", "2026-10-01")
    monkeypatch.delenv("EMDS_FEEDS", raising=False)
    return tmp_path


def asked(**config: Any) -> dg.DagsterRun:
    """A run of the job, as the launchpad starts it."""
    return dg.DagsterRun(job_name="history", run_config={"ops": {OP: {"config": CONFIG | config}}})


def test_a_run_for_each_feed_and_month() -> None:
    assert len({feeds()[name].tz for name in ZONES_OF}) == 2
    run = asked()
    started = {
        (r.job_name, r.asset_selection[0].to_user_string(), r.tags[RANGE[0]], r.tags[RANGE[1]])
        for r in requests(run, FIRSTS)
    }
    expected = set()
    for job, key in (
        ("elexon_every_15m", "elexon/demand"),
        ("nyiso_every_5m", "nyiso/load"),
        ("neso_every_15m", "neso/generation"),
        ("neso_every_15m", "neso/carbon_intensity"),
    ):
        expected |= {(job, key, "2026-10-30", "2026-10-31"), (job, key, "2026-11-01", "2026-11-02")}
    assert started == expected
    for request in requests(run, FIRSTS):
        assert request.tags[HISTORY] == run.run_id
        assert priority_of(dg.DagsterRun(job_name="a", tags=dict(request.tags))) == OLD_PRIORITY


def test_days_out_of_reach_are_left_out_and_a_year_is_one_run() -> None:
    of = HistoryConfig(feeds=["ercot.load", "entsoe.capacity"], first="2026-10-30", last="2026-11-19")
    assert [task.name for task in tasks(of, FIRSTS)] == ["entsoe.capacity 2026-01-01..2026-01-01"]


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"feeds": ["elexon.prise"]}, "no feed and no publisher is called 'elexon.prise'"),
        ({"feeds": ["nobody"]}, "no feed and no publisher is called 'nobody'"),
        ({"feeds": []}, "nothing is asked for"),
        ({"first": "1 October"}, "'1 October' is no day"),
        ({"first": "2026-11-03"}, "nothing is asked for"),
        ({"first": "2027-01-01", "last": "2027-01-02"}, "nothing to ask for"),
        ({"feeds": ["ercot.load"]}, "nothing to ask for"),
        ({"first": "2025-12-31"}, "the partitions of .* begin with 2026-01-01: start emds with EMDS_SINCE=2025-12-31"),
    ],
)
def test_what_cannot_be_asked_for_is_said_and_nothing_starts(config: dict[str, Any], reason: str) -> None:
    with pytest.raises(dg.Failure, match=reason):
        tasks(HistoryConfig(**(CONFIG | config)), FIRSTS)


def test_more_runs_than_are_good_for_the_storage_are_refused() -> None:
    old = dict.fromkeys(feeds(), date(2000, 1, 1))
    of = HistoryConfig(feeds=list(sources()), first="2024-01-01", last="2026-10-31")
    with pytest.raises(dg.Failure, match=f"at most {MOST_RUNS} are started at once"):
        tasks(of, old)


@pytest.mark.slow
def test_feeds_of_different_market_days_are_brought_by_one_launch(home: Path) -> None:
    repository = definitions.build().get_repository_def()
    config = CONFIG | {"feeds": list(ZONES_OF), "first": "2026-10-31", "last": "2026-10-31"}
    with dg.DagsterInstance.ephemeral() as instance:
        done = repository.get_job("history").execute_in_process(
            run_config={"ops": {OP: {"config": config}}}, instance=instance
        )
        assert done.success
        context = dg.build_run_status_sensor_context(
            "start_history", done.get_run_success_event(), instance, done.dagster_run
        )
        started = list(repository.get_sensor_def("start_history")(context))
        assert len(started) == 2
        for request in started:
            job = repository.get_job(request.job_name).get_subset(asset_selection=set(request.asset_selection))
            result = job.execute_in_process(run_config=request.run_config, tags=dict(request.tags), instance=instance)
            assert result.success
    held = {(zone, metric) for metric, zone, _ in series.held(Folder(home))}
    assert held >= {("GB", "demand"), ("US-NYISO", "demand")}


def test_kept_bytes_are_chosen_for_all_its_runs() -> None:
    for request in requests(asked(feeds=["elexon.demand"], read_from="kept_bytes"), FIRSTS):
        (op,) = request.run_config["ops"].values()
        assert ReadFrom(op["config"]["read_from"]) is ReadFrom.kept_bytes
