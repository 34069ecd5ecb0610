"""Set up all tests: examples without a deadline, writers killed at a chosen operation, folders and buckets."""

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
from tests.stand_ins.days import NOW
from tests.stand_ins.places import BucketPlace, FolderPlace, Place

# A shared machine may pause for a second in any example. If CI is set, examples are the same in every run, as in
# Hypothesis' own profile, so that a change is tested by what it changed. Otherwise each run draws new examples.
settings.register_profile("emds", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("emds")

_LONGEST = (
    *("test_fleet", "test_first_start", "test_ui", "test_schemathesis", "test_lights", "test_up", "test_x402_chain"),
    *("test_clients", "test_fuzz", "test_reach", "test_x402_service", "test_browser", "test_copy", "test_record"),
    "test_newcomer",
)
"""Files whose tests take longest. They start first, so that no core is left with one of them at the end."""
_SLOW_FIXTURES = frozenset({"everywhere", "s3_endpoint", "object_store_endpoint"})
"""Fixtures that take seconds to create for the first test that uses them; `make check` runs no such test."""
_OPERATIONS = ("open", "os.rename", "os.utime", "os.remove", "os.mkdir", "fcntl.flock")


def _run(work: Callable[[], object], step: int) -> bool:
    """Run `work` in a forked child, and kill it before file operation `step`. Return whether it got that far."""
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
    """Add the option of `make thorough`: the same tests with many times the examples."""
    parser.addoption("--thorough", action="store_true", help="many times the examples")


@pytest.fixture(scope="session")
def thorough(pytestconfig: pytest.Config) -> bool:
    """Return whether tests that draw examples draw many."""
    return bool(pytestconfig.getoption("--thorough"))


def pytest_configure() -> None:
    """Fix the current time before any test is imported, and import twice as fast without the garbage collector."""
    os.environ.setdefault("EMDS_NOW", NOW)
    gc.disable()


def pytest_collection_finish() -> None:
    """Exempt all imported objects from garbage collection."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(100_000, 20, 50)


def pytest_unconfigure() -> None:
    """Collect remaining objects at exit, because DuckDB's binding lists its own on standard error.

    The collection waits until exit, since pytest searches for cycles five times before to find unraisable exceptions. A
    worker has nothing left to print: it discards its standard error instead, which saves a second in each of five
    workers.
    """
    if "PYTEST_XDIST_WORKER" in os.environ:
        atexit.register(os.dup2, os.open(os.devnull, os.O_WRONLY), 2)
    else:
        atexit.register(gc.unfreeze)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that wait for a slow fixture, before `-m` selects tests, and put `_LONGEST` first."""
    for item in items:
        if item.get_closest_marker("campaign") or _SLOW_FIXTURES.intersection(getattr(item, "fixturenames", ())):
            item.add_marker("slow")
    items.sort(key=lambda item: _LONGEST.index(item.path.stem) if item.path.stem in _LONGEST else len(_LONGEST))


@pytest.hookimpl(optionalhook=True)  # `-p no:xdist`
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Return five on two cores, which four left idle a sixth of the first minutes. Campaigns wait, and get three."""
    cores = len(os.sched_getaffinity(0))
    return cores * {"not campaign": 5, "campaign": 3}.get(config.option.markexpr, 2) // 2


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a test that is skipped under CI, where everything that tests need is installed."""
    report = yield
    if report.skipped and os.environ.get("CI") and not hasattr(report, "wasxfail"):
        report.outcome, report.longrepr = "failed", f"skipped under CI: {report.longrepr}"
    return report


@pytest.fixture
def killed_at() -> Callable[[Callable[[], object], int], bool]:
    """Return `killed_at(work, step)`, which returns False if `work` ended before operation number `step`."""
    return _run


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    """Yield the URL of moto's S3 server with the bucket `emds`."""
    with moto() as endpoint:
        yield endpoint


@pytest.fixture(scope="session")
def object_store_endpoint() -> Iterator[str]:
    """Yield the URL of the stand-in of an S3 server."""
    with object_store() as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def bucket_endpoint(object_store_endpoint: str) -> str:
    """Return the URL of the server for a file's buckets. Files that validate requests use `s3_endpoint` instead."""
    return object_store_endpoint


@pytest.fixture(scope="module")
def _line(bucket_endpoint: str) -> Iterator[BadLine]:
    with bad_line(bucket_endpoint) as line:
        yield line


@pytest.fixture
def bucket_place(_line: BadLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BucketPlace:
    """Return an empty prefix of a bucket, behind a line that works until a test makes it fail."""
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    _line.reset()
    return BucketPlace(_line, f"t/{secrets.token_hex(6)}", tmp_path / "local")


@pytest.fixture(params=["folder", "bucket"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Return an empty place for a warehouse: a folder, then a bucket. Each test must hold for both."""
    if request.param == "bucket":
        bucket: BucketPlace = request.getfixturevalue("bucket_place")
        return bucket
    return FolderPlace(tmp_path / "home", _run)
