"""Parse publishers' formats of a time: dates, times of day, stamps with and without a zone, epoch numbers.

A stamp with a zone becomes Unix seconds UTC. A stamp without a zone becomes wall seconds: the Unix seconds if its clock
were UTC. The source knows which clock it is and converts it (see `clocks`). Every failure is FeedChanged, also for a
year outside all markets.
"""

from __future__ import annotations

import re
from datetime import date, datetime
from functools import lru_cache
from typing import NoReturn

from assets.parsing.clocks import plausible
from warehouse.errors import FeedChanged
from warehouse.market.clock import DAY, zone_of

_DATE = re.compile(r"(\d{4})([-/])(\d\d)\2(\d\d)", re.ASCII)
_TIME = re.compile(r"[ T](\d\d?):(\d\d)(?::(\d\d)(?:\.0+)?)?(Z|\+00:00)?", re.ASCII)
_AMERICAN = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})(?: (\d{1,2}):(\d\d)(?::(\d\d))?)?", re.ASCII)
_EPOCH = date(1970, 1, 1).toordinal()
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def utc_stamp(text: object) -> int:
    """Return the Unix seconds of `2026-08-01T00:30Z`, with or without seconds. Raises FeedChanged.

    For a stamp with another offset, see `iso_instant`.
    """
    return _stamp(text, True)


def wall_stamp(text: object) -> int:
    """Return the wall seconds of `2026/08/01 00:05:00` or `2021-10-06T15:00:00`. Raises FeedChanged."""
    return _stamp(text, False)


def _stamp(text: object, zoned: bool) -> int:
    if not isinstance(text, str):
        _refuse(text)
    try:
        return _day(text[:10]) + _time(text[10:], zoned)
    except FeedChanged:
        _refuse(text)


@lru_cache(maxsize=65536)
def american_stamp(text: str) -> int:
    """Return the wall seconds of `4/1/2026 6:00`, `04/01/2026 06:00:00` or `06/04/2026`, month first. Raises
    FeedChanged.
    """
    match = _AMERICAN.fullmatch(text.strip())
    if match is None:
        _refuse(text)
    month, day, year, hour, minute, second = (int(part or 0) for part in match.groups())
    if hour > 23 or minute > 59 or second > 59:
        _refuse(text)
    return _midnight(text, year, month, day) + hour * 3600 + minute * 60 + second


# Date and time are cached separately: a year's file has 365 dates and 288 times.
@lru_cache(maxsize=16384)
def _day(text: str) -> int:
    match = _DATE.fullmatch(text)
    if match is None:
        _refuse(text)
    return _midnight(text, int(match[1]), int(match[3]), int(match[4]))


def _midnight(text: str, year: int, month: int, day: int) -> int:
    try:
        return plausible((date(year, month, day).toordinal() - _EPOCH) * DAY, text)
    except ValueError:
        _refuse(text)


@lru_cache(maxsize=4096)
def _time(text: str, zoned: bool) -> int:
    match = _TIME.fullmatch(text)
    if match is None or (match[4] is not None) != zoned:
        _refuse(text)
    hour, minute, second = int(match[1]), int(match[2]), int(match[3] or 0)
    if hour > 23 or minute > 59 or second > 59:
        _refuse(text)
    return hour * 3600 + minute * 60 + second


def _refuse(text: object) -> NoReturn:
    raise FeedChanged(f"not a time: {str(text)[:40]!r}")


def iso_instant(text: object, tz: str = "UTC") -> int:
    """Return the time of `2026-06-09T04:00:00`, with or without an offset, a blank for the T allowed, in whole seconds.

    A stamp without offset is on `tz`, which must be a clock that never changes, such as UTC or Etc/GMT+5. Raises
    FeedChanged.
    """
    try:
        moment = datetime.fromisoformat(text)  # type: ignore[arg-type]  # TypeError is caught: JSON gives anything
        seconds = (moment if moment.tzinfo else moment.replace(tzinfo=zone_of(tz))).timestamp()
    except (ValueError, TypeError, OverflowError):
        _refuse(text)
    return plausible(int(seconds), text)


def epoch_instant(number: object) -> int:
    """Return the time of an epoch number, in milliseconds or (below 10^11) seconds. Raises FeedChanged."""
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number < 1e17:
        raise FeedChanged(f"{str(number)[:40]!r} is not a Unix time")
    return plausible(int(number) if number < 1e11 else int(number) // 1000, number)


def american_date(text: str) -> date:
    """Return the date of `07/14/2026` or `7/4/2026`, month first. Raises FeedChanged."""
    if ":" in text:
        raise FeedChanged(f"{text[:40]!r} is not month/day/year")
    return date.fromordinal(_EPOCH + american_stamp(text) // DAY)


def iso_date(text: str) -> date:
    """Return the date of `2026-03-08`. Raises FeedChanged."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise FeedChanged(f"{text[:40]!r} is not a date") from None


def named_date(text: str) -> date:
    """Return the date of `02-Oct-2026`, in English whatever the host's language. Raises FeedChanged."""
    try:
        day, name, year = text.strip().split("-")
        return date(int(year), _MONTHS.index(name.lower()) + 1, int(day))
    except (ValueError, OverflowError):
        raise FeedChanged(f"{text[:40]!r} is not day-month-year") from None


def clock_minutes(text: str) -> int:
    """Return the minutes after midnight of `16:05`, `9:05` or `16:05:00` (0..1440). Raises FeedChanged."""
    parts = text.strip().split(":")
    if 2 <= len(parts) <= 3 and all(part.isascii() and part.isdigit() and len(part) <= 2 for part in parts):
        minutes = int(parts[0]) * 60 + int(parts[1])
        if int(parts[1]) < 60 and minutes <= 1440 and not any(int(part) for part in parts[2:]):
            return minutes
    raise FeedChanged(f"{text[:40]!r} is not a time of day")
