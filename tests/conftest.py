"""What all tests share: examples without a deadline, and a child process that is killed at a chosen file operation."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Generator

import pytest
from hypothesis import settings

# A shared machine may stand still for a second in any example.
settings.register_profile("emds", deadline=None)
settings.load_profile("emds")

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
