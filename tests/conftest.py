"""What all tests share: examples without a deadline, writers killed at a chosen operation, folders and buckets."""

from __future__ import annotations

import atexit
import gc
import os
import secrets
import signal
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.stand_ins.bad_line import BadLine, bad_line
from tests.stand_ins.buckets import CREDENTIALS, moto, object_store
from tests.stand_ins.places import BucketPlace, FolderPlace, Place

# A shared machine may stand still for a second in any example. Where CI is set, examples are the same in every run, as
# Hypothesis' own profile has it: a change is judged there by what it changed. Everywhere else new ones are looked for.
settings.register_profile("emds", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("emds")

_LONGEST = (
    *("test_fleet", "test_schemathesis", "test_ui", "test_up", "test_campaign", "test_run_containers"),
    *("test_x402_chain", "test_copy", "test_clients", "test_fuzz", "test_reach", "test_x402_service"),
    *("test_browser", "test_series_kills", "test_webhooks_delivery", "test_contract", "test_several_zones"),
    *("test_context", "test_hostile", "test_keys", "test_series_at_once", "test_x402_facilitators"),
    *("test_accounts", "test_bucket", "test_changes_bucket", "test_generators", "test_openapi", "test_changes"),
    *("test_probe", "test_x402_attacks", "test_qgis", "test_recompute", "test_static_side", "test_bulk_readers"),
    *("test_record",),
)
"""Files whose tests take longest: they begin first, so that no core is left with one of them at the end."""
_SLOW_ONES = """
    api/test_agents api/test_artefacts api/test_bulk api/test_damage api/test_described_errors api/test_geo
    api/test_geo_formats api/test_geo_publications api/test_http api/test_ogc api/test_publishers
    api/test_python_client api/test_several_zones api/test_x402_answers api/test_x402_attacks
    api/test_x402_facilitators api/test_x402_offers api/test_x402_payload api/test_x402_repeats api/test_x402_service
    assets/test_as_of assets/test_level_shifts assets/test_marts assets/test_publish_at_once
    assets/test_publish_damage assets/test_publish_fields assets/test_publish_times assets/test_publish_withdrawn
    assets/test_publish_words assets/test_series_asset assets/test_sql_page assets/test_sql_rules
    fetch/test_live fetch/test_live_bodies fetch/test_live_redirects fetch/test_recorded
    geo/test_assets geo/test_facts geo/test_layers geo/test_rebuild geo/test_records geo/test_tiles
    mcp/test_access mcp/test_conformance mcp/test_derived mcp/test_http mcp/test_payments mcp/test_properties
    mcp/test_questions mcp/test_registry mcp/test_several_zones
    orchestration/test_access_verbs orchestration/test_bookkeeping orchestration/test_command_line
    orchestration/test_backfill::test_what_a_killed_backfill_left_is_all_that_the_next_asks_for
    orchestration/test_definitions::test_a_stand_in_is_asked_once_a_day_and_each_hour_while_its_feed_is_behind
    orchestration/test_partition_status orchestration/test_probe orchestration/test_rebuild
    orchestration/test_record orchestration/test_repair
    orchestration/test_retention orchestration/test_run_containers orchestration/test_static_side
    simulated/test_grid simulated/test_twins simulated/test_unknown_members
    sources/test_contract::test_rows_in_any_order_are_the_same_rows sources/test_fuzz sources/test_stray_stamps
    warehouse/test_bucket warehouse/test_change_log warehouse/test_changes
    warehouse/test_damaged_files
    warehouse/test_forecasts::test_vintages_agree_with_the_model_in_whatever_order_they_come
    warehouse/test_forecasts::test_a_lost_month_is_restored_from_its_bodies_as_it_was
    warehouse/test_resample::test_means_are_the_exact_ones_rounded_once
    warehouse/test_restore::test_a_month_that_lost_a_file_answers_as_before
    warehouse/test_restore::test_bodies_state_what_folding_each_as_it_came_made_known
    warehouse/test_series_at_once::test_concurrent_folds_of_one_month_lose_nothing
    warehouse/test_series_monthfile::test_a_month_file_keeps_every_version
    warehouse/test_series_reading::test_what_a_reader_got_before_is_what_as_of_gives warehouse/test_storage
"""
"""Files, and tests of others, that fill a warehouse for each test, draw many examples or talk to servers: too slow for
`make check`. Single tests elsewhere carry the mark themselves."""
_SLOW = frozenset(_SLOW_ONES.split())
_SLOW_FIXTURES = frozenset({"everywhere", "s3_endpoint", "object_store_endpoint"})
"""What takes seconds to make for the first test that asks."""
_OPERATIONS = ("open", "os.rename", "os.utime", "os.remove", "os.mkdir", "fcntl.flock")


def _run(work: Callable[[], object], step: int) -> bool:
    """Runs `work` in a forked child, which gets SIGKILL before file operation `step`; whether it got that far."""
    pid = os.fork()
    if pid == 0:
        count = 0

        def hook(event: str, _: object) -> None:
            nonlocal count
            if event in _OPERATIONS:
                count += 1
                if count == step:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(hook)
        try:
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    status = os.waitpid(pid, 0)[1]
    assert status in (0, signal.SIGKILL), "the child failed by itself"
    return status == signal.SIGKILL


def pytest_addoption(parser: pytest.Parser) -> None:
    """`make thorough`: the same tests with many times the examples, for which a change does not wait."""
    parser.addoption("--thorough", action="store_true", help="many times the examples")


@pytest.fixture(scope="session")
def thorough(pytestconfig: pytest.Config) -> bool:
    """Whether tests that draw examples are to draw many."""
    return bool(pytestconfig.getoption("--thorough"))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """For the fast tests, files of slow ones alone are not imported."""
    file = f"{collection_path.parent.name}/{collection_path.stem}"
    return True if config.option.markexpr == "not slow" and file in _SLOW else None


def pytest_configure() -> None:
    """Importing all tests takes half as long while nothing looks for cycles."""
    gc.disable()


def pytest_collection_finish() -> None:
    """What was imported is never looked through again."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(100_000, 20, 50)


def pytest_unconfigure() -> None:
    """DuckDB's binding lists on standard error what of its own is left at the end of a process.

    So nothing may be left; only then: pytest looks for cycles five times before, for exceptions that nobody saw. A
    worker of many has nothing more to say: it leaves all as it is, which spares five workers a second each.
    """
    if "PYTEST_XDIST_WORKER" in os.environ:
        atexit.register(os.dup2, os.open(os.devnull, os.O_WRONLY), 2)
    else:
        atexit.register(gc.unfreeze)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the slow ones, before `-m` chooses, and puts `_LONGEST` first."""
    for item in items:
        if item.get_closest_marker("campaign") or _SLOW_FIXTURES.intersection(getattr(item, "fixturenames", ())):
            item.add_marker("slow")
        file = f"{item.path.parent.name}/{item.path.stem}"
        if file in _SLOW or f"{file}::{item.name.partition('[')[0]}" in _SLOW:
            item.add_marker("slow")
    items.sort(key=lambda item: _LONGEST.index(item.path.stem) if item.path.stem in _LONGEST else len(_LONGEST))


@pytest.hookimpl(optionalhook=True)  # `-p no:xdist`
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Five on two cores: with four, these stood idle a sixth of the first minutes. One a core for others."""
    cores = len(os.sched_getaffinity(0))
    return cores * 5 // 2 if config.option.markexpr == "not campaign" else cores


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Under CI everything that tests need is installed: a test that is skipped there has not been run, and fails."""
    report = yield
    if report.skipped and os.environ.get("CI") and not hasattr(report, "wasxfail"):
        report.outcome, report.longrepr = "failed", f"skipped under CI: {report.longrepr}"
    return report


@pytest.fixture
def killed_at() -> Callable[[Callable[[], object], int], bool]:
    """`killed_at(work, step)`: false once `work` has no operation of that number and came to its end."""
    return _run


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    """The address of moto's S3 server with the bucket `emds`."""
    with moto() as endpoint:
        yield endpoint


@pytest.fixture(scope="session")
def object_store_endpoint() -> Iterator[str]:
    """The address of the stand-in of an S3 server."""
    with object_store() as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def bucket_endpoint(object_store_endpoint: str) -> str:
    """Which server holds the buckets of a file's tests; `s3_endpoint` in its place where the requests are judged."""
    return object_store_endpoint


@pytest.fixture(scope="module")
def _line(bucket_endpoint: str) -> Iterator[BadLine]:
    with bad_line(bucket_endpoint) as line:
        yield line


@pytest.fixture
def bucket_place(_line: BadLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BucketPlace:
    """An empty prefix of a bucket, behind a line that is good until a test says otherwise."""
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    _line.reset()
    return BucketPlace(_line, f"t/{secrets.token_hex(6)}", tmp_path / "local")


@pytest.fixture(params=["folder", "bucket"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """An empty place for a warehouse: a folder, then a bucket. What holds for one holds for the other."""
    if request.param == "bucket":
        bucket: BucketPlace = request.getfixturevalue("bucket_place")
        return bucket
    return FolderPlace(tmp_path / "home", _run)
