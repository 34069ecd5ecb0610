"""What all tests share: examples without a deadline, writers killed at a chosen operation, folders and buckets."""

from __future__ import annotations

import os
import secrets
import signal
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.stand_ins.bad_line import BadLine, bad_line
from tests.stand_ins.buckets import CREDENTIALS, s3_server
from tests.stand_ins.places import BucketPlace, FolderPlace, Place

# A shared machine may stand still for a second in any example.
settings.register_profile("emds", deadline=None)
settings.load_profile("emds")

_LONGEST = ("test_schemathesis", "test_up", "test_ui", "test_x402_chain", "test_campaign", "test_hostile", "test_reach")
"""Files whose tests take longest: they begin first, so that no core is left with one of them at the end."""
_SLOW = frozenset(
    f"test_{name}"
    for name in (
        *(
            "bookkeeping",
            "campaign",
            "command_line",
            "conformance",
            "damage",
            "damaged_files",
            "history",
            "http",
            "layers",
        ),
        *("partition_status", "probe", "properties", "publish", "rebuild", "record", "repair", "retention", "upgrade"),
        *("x402_answers", "x402_facilitators", "x402_offers", "x402_service"),
    )
)
"""Files that fill a warehouse for each test, or talk to servers: as a whole too slow for `make check`."""
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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the files of `_SLOW`, before `-m` chooses, and puts `_LONGEST` first."""
    for item in items:
        if item.path.stem in _SLOW:
            item.add_marker("slow")
    items.sort(key=lambda item: _LONGEST.index(item.path.stem) if item.path.stem in _LONGEST else len(_LONGEST))


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
    """The address of an S3 server on loopback with the bucket `emds`."""
    with s3_server() as endpoint:
        yield endpoint


@pytest.fixture(scope="session")
def _line(s3_endpoint: str) -> Iterator[BadLine]:
    with bad_line(s3_endpoint) as line:
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
