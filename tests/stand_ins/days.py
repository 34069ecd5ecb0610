"""Provide the days of tests, so that the result of a test does not depend on the date on which it runs.

A test names its days as constants or takes them from here. `EMDS_NOW` is `NOW` in every test that does not set it
(tests/conftest.py). tests/test_architecture.py refuses days derived from the machine's clock anywhere else.
"""

from __future__ import annotations

import time
from datetime import date, timedelta

from warehouse.market.clock import HOUR

NOW = "2026-11-20T12:00:00Z"
"""The current time of every test that does not choose one."""
_FIRST, _COUNT = date(2026, 6, 2), 28


def ordinary_days(count: int, skip: int = 0) -> list[date]:
    """Return `count` consecutive past days after the first `skip`. No market changes its clock on or near these days.

    They are always in the past, because Dagster's last partition follows the machine's clock.
    """
    assert skip + count <= _COUNT, "the days would leave June"
    return [_FIRST + timedelta(days=skip + number) for number in range(count)]


def machine_hour() -> int:
    """Return the last full hour of the machine's clock, in Unix seconds.

    Use it only in a test whose partitions begin at the machine's date, as they do for a publisher that shows only the
    current day. Such a test must also succeed on the day of a clock change.
    """
    return int(time.time()) // HOUR * HOUR
