"""The publishers' time stamps in digits, turned into seconds: what zone a stamp is in is said by which function reads it.

Only stamps with the year first are read; local stamps that a clock change repeats are the sources' own business.
"""

from __future__ import annotations

import re
from datetime import date
from functools import lru_cache
from typing import NoReturn

from warehouse.clock import DAY
from warehouse.errors import FeedChanged

FIRST_YEAR, LAST_YEAR = 1990, 2099
"""No market of ours is older; a year beyond them is a broken digit, not a reading."""

_DATE = re.compile(r"(\d{4})([-/])(\d\d)\2(\d\d)", re.ASCII)
_TIME = re.compile(r"[ T](\d\d?):(\d\d)(?::(\d\d)(?:\.0+)?)?(Z|\+00:00)?", re.ASCII)
_EPOCH = date(1970, 1, 1).toordinal()


def utc_stamp(text: object) -> int:
    """Unix seconds of `2026-08-01T00:30Z`, with or without seconds. Raises FeedChanged."""
    if not isinstance(text, str):
        _refuse(text)
    return _day(text[:10]) + _time(text[10:], True)


def wall_seconds(text: object) -> int:
    """Seconds of `2026/08/01 00:05:00` or `2021-10-06T15:00:00` as if its clock were UTC. Raises FeedChanged."""
    if not isinstance(text, str):
        _refuse(text)
    return _day(text[:10]) + _time(text[10:], False)


# Date and time are remembered apart: a year's file has 365 of the one and 288 of the other.
@lru_cache(maxsize=16384)
def _day(text: str) -> int:
    found = _DATE.fullmatch(text)
    if found is None or not FIRST_YEAR <= int(found[1]) <= LAST_YEAR:
        _refuse(text)
    try:
        return (date(int(found[1]), int(found[3]), int(found[4])).toordinal() - _EPOCH) * DAY
    except ValueError:
        _refuse(text)


@lru_cache(maxsize=4096)
def _time(text: str, zoned: bool) -> int:
    found = _TIME.fullmatch(text)
    if found is None or (found[4] is not None) != zoned:
        _refuse(text)
    hour, minute, second = int(found[1]), int(found[2]), int(found[3] or 0)
    if hour > 23 or minute > 59 or second > 59:
        _refuse(text)
    return hour * 3600 + minute * 60 + second


def _refuse(text: object) -> NoReturn:
    raise FeedChanged(f"not a time: {str(text)[:40]!r}")
