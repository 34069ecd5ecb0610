"""Count by GraphQL what the UI shows after three ticks of each schedule, which are evaluated in this process.

Every check of a feed in order is evaluated and neither skipped nor red, no day is red, and every asset is materialised.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import dagster as dg
import pytest

from orchestration import definitions
from orchestration.jobs import recording
from orchestration.work import backfill, commands
from orchestration.work.environment import open_context
from tests.orchestration.dagster_servers import Ui, serving
from tests.stand_ins.days import machine_hour
from warehouse.market import clock

pytestmark = [
    pytest.mark.campaign,
    pytest.mark.timeout(1200),
    pytest.mark.filterwarnings("ignore::dagster.BetaWarning", "ignore::dagster.PreviewWarning"),
]
CHECKS = """{ assetNodes { assetKey { path } assetChecksOrError { ... on AssetChecks { checks { name
    executionForLatestMaterialization { status evaluation { severity success } } } } } } }"""
PARTITIONS = """{ assetNodes { assetKey { path } partitionStats { numFailed } } }"""
RUNS = """{ runsOrError(limit: 5000) { ... on Runs { results { jobName status } } } }"""
SOURCES = ("neso", "nyiso", "eia", "ercot", "spp")
"""Live and slower feeds: day-ahead, published a day or five days late, with or without a second feed."""
TICKS = 3


@pytest.fixture(scope="module")
def ui(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ui]:
    """Yield a filled warehouse over which every schedule of these publishers ticked three times."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, value in {"EMDS_HOME": str(home), "DAGSTER_HOME": ""}.items():
            patch.setenv(name, value)
        for name in ("EMDS_NOW", "EMDS_FEEDS", "EMDS_START_DATE"):
            patch.delenv(name, raising=False)
        patch.setattr(backfill, "WORKERS", 1)
        feeds = backfill.chosen(SOURCES)
        commands.run(backfill.plan(feeds, None, None, 8))
        instance = recording.instance(home)
        assert instance is not None
        with instance:
            _tick(instance)
    with serving(home, {}) as servers:
        yield servers


def _tick(instance: dg.DagsterInstance) -> None:
    loaded = definitions.build()
    known = {code: source for code, source in open_context().sources.items() if code in SOURCES}
    assert known
    now = clock.utc(machine_hour())
    for schedule in loaded.get_repository_def().schedule_defs:
        if not schedule.job_name.startswith(("live", *(f"{code}_every" for code in SOURCES))):
            continue
        for tick in range(TICKS):
            at = now + timedelta(minutes=5 * tick)
            with dg.build_schedule_context(instance=instance, scheduled_execution_time=at) as context:
                asked = schedule.evaluate_tick(context).run_requests or ()
            for request in asked:
                job = loaded.resolve_job_def(schedule.job_name)
                done = job.execute_in_process(
                    instance=instance, tags=dict(request.tags), run_config=recording.QUIET, raise_on_error=False
                )
                assert done.success, schedule.name


def colour(execution: dict[str, Any] | None) -> str:
    """Return the UI's colour for the newest evaluation of a check: green, amber for a warning, or its status."""
    if execution is None:
        return "not evaluated"
    if execution["status"] == "FAILED" and execution["evaluation"]["severity"] == "WARN":
        return "amber"
    return "green" if execution["status"] == "SUCCEEDED" else str(execution["status"])


def test_every_check_of_a_feed_in_order_is_green_and_evaluated_no_day_is_red_and_every_run_ended_well(ui: Ui) -> None:
    found = {
        f"{'/'.join(node['assetKey']['path'])} {check['name']}": colour(check["executionForLatestMaterialization"])
        for node in ui.ask(CHECKS)["assetNodes"]
        if node["assetKey"]["path"][0] in SOURCES
        for check in node["assetChecksOrError"].get("checks", ())
    }
    assert len(found) > 80
    # The twin of SPP's five-minute prices states only its newest hour, so its first day fills with each fetch.
    may_wait = {"spp/lmp_rt complete"}
    odd = {name: shown for name, shown in found.items() if shown != "green"}
    assert set(odd.values()) <= {"amber"}, odd
    assert set(odd) <= may_wait
    stats = [node["partitionStats"] for node in ui.ask(PARTITIONS)["assetNodes"]]
    assert sum(each["numFailed"] for each in stats if each) == 0
    assert {run["status"] for run in ui.ask(RUNS)["runsOrError"]["results"]} == {"SUCCESS"}
