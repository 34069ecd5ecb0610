"""The publishers' time stamps in digits, turned into seconds: what zone a stamp is in is said by which function reads it.

Only full stamps with the year first are read; local stamps that a clock change repeats are the sources' own business.
"""

from __future__ import annotations

import re
from datetime import datetime
from functools import lru_cache
from typing import NoReturn

from warehouse.errors import FeedChanged

_DAY_AND_TIME = re.compile(r"(\d{4})[-/](\d\d)[-/](\d\d)[ T](\d{1,2}):(\d\d)(?::(\d\d)(?:\.0+)?)?(Z|\+00:00)?", re.ASCII)
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  both ends of the difference are naive
FIRST_YEAR, LAST_YEAR = 1990, 2099
"""No market of ours is older; a year beyond them is a broken digit, not a reading."""


def utc_stamp(text: object) -> int:
    """Unix seconds of `2026-08-01T00:30Z`, with or without seconds. Raises FeedChanged."""
    return _seconds(text, True) if isinstance(text, str) else _refuse(text)


def wall_seconds(text: object) -> int:
    """Seconds of `2026/08/01 00:05:00` or `2021-10-06T15:00:00` as if its clock were UTC. Raises FeedChanged."""
    return _seconds(text, False) if isinstance(text, str) else _refuse(text)


@lru_cache(maxsize=65536)
def _seconds(text: str, zoned: bool) -> int:
    found = _DAY_AND_TIME.fullmatch(text)
    if found is None or (found[7] is not None) != zoned:
        _refuse(text)
    year, month, day, hour, minute, second = (int(found[i] or 0) for i in range(1, 7))
    if not FIRST_YEAR <= year <= LAST_YEAR:
        _refuse(text)
    try:
        return int((datetime(year, month, day, hour, minute, second) - _EPOCH).total_seconds())  # noqa: DTZ001
    except ValueError:
        _refuse(text)


def _refuse(text: object) -> NoReturn:
    raise FeedChanged(f"not a time: {str(text)[:40]!r}")
